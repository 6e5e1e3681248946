// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Control and status registers behind an AXI4-Lite subordinate (offsets and bits: tpt_pkg).
///
/// AW and W may come in any order; one write and one read are in work at a time.
///
/// Latency: a write is answered 2 clocks after the later of AW and W, a read 2 clocks after AR.
///
/// Errors, all SLVERR and without effect:
/// * offsets without a register (reads give 0), writes to read-only registers;
/// * writes to MPT_BASE, MPT_SIZE and the secrets while locked, that is, while the unit is enabled,
///   and after disabling until it has been idle once with no command and no fence in work;
/// * enabling with a size of 0 or above 2^23, with a base that is not 4 KiB aligned, with a table
///   that passes 2^64, or with another `plain` or `merge` bit while locked.
///
/// Byte strobes are respected everywhere. Address bits 1:0 are ignored. Disabling never fails;
/// while locked it leaves `plain` and `merge` as they are. The secrets read as 0.
module tpt_csr import tpt_pkg::*; #(
  /// Number of clients, 1 to 15.
  parameter int unsigned NumClients  = 2,
  /// The sizes below are only shown in CAP.
  parameter int unsigned NumContexts = 16,
  parameter int unsigned NumStreams  = 16,
  parameter int unsigned MptSets     = 32,
  parameter int unsigned MptWays     = 2,
  parameter int unsigned MttSets     = 32,
  parameter int unsigned MttWays     = 4,
  parameter int unsigned AxiDataW    = 128,
  parameter int unsigned MaxLevels   = 3,
  parameter int unsigned Lanes       = 1,
  /// Merging is there; without it the bit in CTRL stays 0.
  parameter int unsigned MergeSegs   = 1
) (
  /// Clock, and synchronous active-low reset.
  input  logic                        clk_i,
  input  logic                        rst_ni,

  /// AXI4-Lite.
  input  logic [CsrAddrW-1:0]         s_axil_awaddr_i,
  input  logic                        s_axil_awvalid_i,
  output logic                        s_axil_awready_o,
  input  logic [31:0]                 s_axil_wdata_i,
  input  logic [3:0]                  s_axil_wstrb_i,
  input  logic                        s_axil_wvalid_i,
  output logic                        s_axil_wready_o,
  output logic [1:0]                  s_axil_bresp_o,
  output logic                        s_axil_bvalid_o,
  input  logic                        s_axil_bready_i,
  input  logic [CsrAddrW-1:0]         s_axil_araddr_i,
  input  logic                        s_axil_arvalid_i,
  output logic                        s_axil_arready_o,
  output logic [31:0]                 s_axil_rdata_o,
  output logic [1:0]                  s_axil_rresp_o,
  output logic                        s_axil_rvalid_o,
  input  logic                        s_axil_rready_i,

  /// Settings. All but the fence time and the client resets are constant while the unit is
  /// enabled or busy.
  output logic                        enable_o,
  output logic                        plain_o,
  output logic                        merge_o,
  output logic                        phys_o,
  output logic [63:0]                 mpt_base_o,    // multiple of 4 KiB while enabled
  output logic [IndexW:0]             mpt_size_o,    // entries, 1 to 2^23 while enabled
  output logic [127:0]                perm_secret_o,
  output logic [127:0]                tag_secret_o,
  output logic [31:0]                 fence_time_o,  // clocks, 0: no limit
  /// Client reset: a level from the write until the client's done pulse.
  output logic [NumClients-1:0]       client_reset_o,
  input  logic [NumClients-1:0]       client_reset_done_i,

  /// Status.
  input  logic                        ready_i,
  input  logic                        clearing_i,
  input  logic                        clear_error_i,
  input  logic                        fence_busy_i,
  input  logic                        idle_i,
  /// Counters: how much each one grows in this clock.
  input  logic [NumCounters-1:0][3:0] cnt_inc_i,
  /// Sticky errors: set in this clock (wins over clearing).
  input  logic [NumErrors-1:0]        err_set_i
);

  if (NumClients < 1 || NumClients > 15) begin : g_bad_clients
    $fatal(1, "tpt_csr: NumClients must be 1 to 15");
  end

  localparam logic [1:0] RespOkay   = 2'b00;
  localparam logic [1:0] RespSlvErr = 2'b10;

  localparam logic [31:0] CapValue =
      (32'(NumClients) << CapClients) |
      (32'(MaxLevels) << CapMaxLevels) |
      (32'($clog2(NumStreams)) << CapLogStreams) |
      (32'($clog2(NumContexts)) << CapLogCtx) |
      (32'($clog2(AxiDataW / 128)) << CapLogAxiData) |
      (32'($clog2(MptSets)) << CapLogMptSets) |
      (32'($clog2(MptWays)) << CapLogMptWays) |
      (32'($clog2(MttSets)) << CapLogMttSets) |
      (32'($clog2(MttWays)) << CapLogMttWays) |
      (32'($clog2(Lanes)) << CapLogLanes) |
      (32'(MergeSegs != 0) << CapMerge);

  typedef logic [CsrAddrW-3:0] word_t;  // word address
  function automatic word_t word(logic [CsrAddrW-1:0] a);
    logic unused_low;
    unused_low = ^a[1:0];
    return a[CsrAddrW-1:2];
  endfunction

  // Bytes of a register after a write.
  function automatic logic [31:0] strobed(logic [31:0] old, logic [31:0] data, logic [3:0] strb);
    logic [31:0] r;
    for (int unsigned b = 0; b < 4; b++) r[8*b+:8] = strb[b] ? data[8*b+:8] : old[8*b+:8];
    return r;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Registers
  // ---------------------------------------------------------------------------------------------
  logic                         enable_q, plain_q, merge_q, phys_q;
  logic [63:0]                  base_q;
  logic [31:0]                  size_q;
  logic [127:0]                 perm_q, tag_q;
  logic [31:0]                  fence_time_q;
  logic [NumClients-1:0]        client_reset_q;
  logic [NumErrors-1:0]         err_q;
  logic [NumCounters-1:0][31:0] cnt_q;
  logic [NumCounters-1:0][3:0]  inc_q;        // counted a clock later
  logic                         locked_q;
  logic                         config_ok_q;  // base and size may be enabled

  // ---------------------------------------------------------------------------------------------
  // Write channel: collect AW and W, then one clock of work, then B
  // ---------------------------------------------------------------------------------------------
  logic                aw_full_q, w_full_q, b_valid_q;
  logic [CsrAddrW-1:0] aw_addr_q;
  logic [31:0]         w_data_q;
  logic [3:0]          w_strb_q;
  logic [1:0]          b_resp_q;
  logic                wr_go, wr_err;
  word_t               wr_word;

  assign s_axil_awready_o = !aw_full_q;
  assign s_axil_wready_o  = !w_full_q;
  assign s_axil_bvalid_o  = b_valid_q;
  assign s_axil_bresp_o   = b_resp_q;

  assign wr_go   = aw_full_q && w_full_q && !b_valid_q;
  assign wr_word = word(aw_addr_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_full_q <= 1'b0;
      w_full_q  <= 1'b0;
      b_valid_q <= 1'b0;
      b_resp_q  <= RespOkay;
    end else begin
      if (wr_go) begin
        aw_full_q <= 1'b0;
        w_full_q  <= 1'b0;
        b_valid_q <= 1'b1;
        b_resp_q  <= wr_err ? RespSlvErr : RespOkay;
      end else begin
        if (s_axil_awvalid_i && s_axil_awready_o) aw_full_q <= 1'b1;
        if (s_axil_wvalid_i && s_axil_wready_o) w_full_q <= 1'b1;
        if (s_axil_bready_i) b_valid_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (s_axil_awvalid_i && s_axil_awready_o) aw_addr_q <= s_axil_awaddr_i;
    if (s_axil_wvalid_i && s_axil_wready_o) begin
      w_data_q <= s_axil_wdata_i;
      w_strb_q <= s_axil_wstrb_i;
    end
  end

  // Which register a write means, and whether it is allowed: refused unless found below.
  logic       wr_ctrl, wr_base_lo, wr_base_hi, wr_size, wr_creset, wr_ftime, wr_error;
  logic [3:0] wr_perm, wr_tag;
  logic       ctrl_bad;

  // Enabling with bad settings. A write without the strobe of byte 0 does nothing.
  logic w_merge;
  assign w_merge  = w_data_q[CtrlMerge] && MergeSegs != 0;
  assign ctrl_bad = w_strb_q[0] && w_data_q[CtrlEnable] &&
                    (!config_ok_q || (locked_q && (w_data_q[CtrlPlain] != plain_q ||
                                                   w_data_q[CtrlPhys] != phys_q ||
                                                   w_merge != merge_q)));

  always_comb begin
    wr_err     = 1'b1;
    wr_ctrl    = 1'b0;
    wr_base_lo = 1'b0;
    wr_base_hi = 1'b0;
    wr_size    = 1'b0;
    wr_creset  = 1'b0;
    wr_ftime   = 1'b0;
    wr_error   = 1'b0;
    wr_perm    = 4'd0;
    wr_tag     = 4'd0;
    unique case (wr_word)
      word(CsrCtrl): begin
        wr_err  = ctrl_bad;
        wr_ctrl = wr_go && !ctrl_bad && w_strb_q[0];
      end
      word(CsrMptBaseLo): begin
        wr_err     = locked_q;
        wr_base_lo = wr_go && !locked_q;
      end
      word(CsrMptBaseHi): begin
        wr_err     = locked_q;
        wr_base_hi = wr_go && !locked_q;
      end
      word(CsrMptSize): begin
        wr_err  = locked_q;
        wr_size = wr_go && !locked_q;
      end
      word(CsrClientReset): begin
        wr_err    = 1'b0;
        wr_creset = wr_go;
      end
      word(CsrFenceTime): begin
        wr_err   = 1'b0;
        wr_ftime = wr_go;
      end
      word(CsrError): begin
        wr_err   = 1'b0;
        wr_error = wr_go;
      end
      default: begin
        for (int unsigned i = 0; i < 4; i++) begin
          if (wr_word == word(CsrPermSecret0) + word_t'(i)) begin
            wr_err     = locked_q;
            wr_perm[i] = wr_go && !locked_q;
          end
          if (wr_word == word(CsrTagSecret0) + word_t'(i)) begin
            wr_err    = locked_q;
            wr_tag[i] = wr_go && !locked_q;
          end
        end
      end
    endcase
  end

  // Bits set by W1S and W1C writes.
  logic [31:0] wr_ones;
  assign wr_ones = strobed(32'd0, w_data_q, w_strb_q);

  logic [31:0] base_lo_next;
  assign base_lo_next = strobed(base_q[31:0], w_data_q, w_strb_q);

  // Pages of 4 KiB up to the end of the table: at most 2^52.
  logic [18:0] size_pages;
  logic [52:0] end_page;
  assign size_pages = {1'b0, size_q[IndexW:6]} + 19'(|size_q[5:0]);
  assign end_page = {1'b0, base_q[63:12]} + {34'd0, size_pages};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enable_q       <= 1'b0;
      plain_q        <= 1'b0;
      merge_q        <= 1'b0;
      phys_q         <= 1'b0;
      base_q         <= '0;
      size_q         <= '0;
      perm_q         <= '0;
      tag_q          <= '0;
      fence_time_q   <= 32'h0010_0000;  // a driver that forgets it still has a limit
      client_reset_q <= '0;
      err_q          <= '0;
      cnt_q          <= '0;
      inc_q          <= '0;
      locked_q       <= 1'b0;
      config_ok_q    <= 1'b0;
    end else begin
      if (wr_ctrl) begin
        enable_q <= w_data_q[CtrlEnable];
        if (!locked_q) begin
          plain_q <= w_data_q[CtrlPlain];
          merge_q <= w_merge;
          phys_q  <= w_data_q[CtrlPhys];
        end
      end
      // Seen at the next write, which is at least two clocks later.
      locked_q    <= (wr_ctrl && w_data_q[CtrlEnable]) || enable_q ||
                     (locked_q && (fence_busy_i || !idle_i));
      config_ok_q <= (size_q != 32'd0) && (size_q <= 32'(MaxMptSize)) && (base_q[11:0] == '0) &&
                     (!end_page[52] || (end_page[51:0] == '0));

      if (wr_base_lo) base_q[31:0] <= base_lo_next;
      if (wr_base_hi) base_q[63:32] <= strobed(base_q[63:32], w_data_q, w_strb_q);
      if (wr_size) size_q <= strobed(size_q, w_data_q, w_strb_q);
      if (wr_ftime) fence_time_q <= strobed(fence_time_q, w_data_q, w_strb_q);
      for (int unsigned i = 0; i < 4; i++) begin
        if (wr_perm[i]) perm_q[32*i+:32] <= strobed(perm_q[32*i+:32], w_data_q, w_strb_q);
        if (wr_tag[i]) tag_q[32*i+:32] <= strobed(tag_q[32*i+:32], w_data_q, w_strb_q);
      end

      client_reset_q <= (client_reset_q & ~client_reset_done_i) |
                        (wr_creset ? wr_ones[NumClients-1:0] : '0);
      err_q          <= (err_q & ~(wr_error ? wr_ones[NumErrors-1:0] : '0)) | err_set_i;
      inc_q          <= cnt_inc_i;
      for (int unsigned n = 0; n < NumCounters; n++) cnt_q[n] <= cnt_q[n] + 32'(inc_q[n]);
    end
  end

  assign enable_o       = enable_q;
  assign plain_o        = plain_q;
  assign merge_o        = merge_q;
  assign phys_o         = phys_q;
  assign mpt_base_o     = base_q;
  assign mpt_size_o     = size_q[IndexW:0];
  assign perm_secret_o  = perm_q;
  assign tag_secret_o   = tag_q;
  assign fence_time_o   = fence_time_q;
  assign client_reset_o = client_reset_q;

  // ---------------------------------------------------------------------------------------------
  // Read channel
  // ---------------------------------------------------------------------------------------------
  logic        ar_full_q, r_valid_q;
  word_t       rd_word_q;
  logic [31:0] r_data_q, rd_data;
  logic [1:0]  r_resp_q;
  logic        rd_err, rd_go;

  assign s_axil_arready_o = !ar_full_q;
  assign s_axil_rvalid_o  = r_valid_q;
  assign s_axil_rdata_o   = r_data_q;
  assign s_axil_rresp_o   = r_resp_q;
  assign rd_go            = ar_full_q && !r_valid_q;

  logic [31:0] status;
  always_comb begin
    status                   = '0;
    status[StatusReady]      = ready_i;
    status[StatusClearing]   = clearing_i;
    status[StatusClearError] = clear_error_i;
    status[StatusFenceBusy]  = fence_busy_i;
    status[StatusIdle]       = idle_i;
    status[StatusLocked]     = locked_q;
  end

  logic [31:0] ctrl;
  always_comb begin
    ctrl             = '0;
    ctrl[CtrlEnable] = enable_q;
    ctrl[CtrlPlain]  = plain_q;
    ctrl[CtrlMerge]  = merge_q;
    ctrl[CtrlPhys]   = phys_q;
  end

  always_comb begin
    rd_err  = 1'b0;
    rd_data = '0;
    unique case (rd_word_q)
      word(CsrId):          rd_data = IdValue;
      word(CsrVersion):     rd_data = VersionValue;
      word(CsrCap):         rd_data = CapValue;
      word(CsrCtrl):        rd_data = ctrl;
      word(CsrStatus):      rd_data = status;
      word(CsrMptBaseLo):   rd_data = base_q[31:0];
      word(CsrMptBaseHi):   rd_data = base_q[63:32];
      word(CsrMptSize):     rd_data = size_q;
      word(CsrClientReset): rd_data = 32'(client_reset_q);
      word(CsrFenceTime):   rd_data = fence_time_q;
      word(CsrError):       rd_data = 32'(err_q);
      default: begin
        rd_err = 1'b1;
        for (int unsigned i = 0; i < 4; i++) begin
          if (rd_word_q == word(CsrPermSecret0) + word_t'(i)) rd_err = 1'b0;
          if (rd_word_q == word(CsrTagSecret0) + word_t'(i)) rd_err = 1'b0;
        end
        for (int unsigned n = 0; n < NumCounters; n++) begin
          if (rd_word_q == word(CsrCntBase) + word_t'(n)) begin
            rd_err  = 1'b0;
            rd_data = cnt_q[n];
          end
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_full_q <= 1'b0;
      r_valid_q <= 1'b0;
      r_resp_q  <= RespOkay;
      r_data_q  <= '0;
      rd_word_q <= '0;
    end else begin
      if (rd_go) begin
        ar_full_q <= 1'b0;
        r_valid_q <= 1'b1;
        r_resp_q  <= rd_err ? RespSlvErr : RespOkay;
        r_data_q  <= rd_data;
      end else if (s_axil_rready_i) begin
        r_valid_q <= 1'b0;
      end
      if (s_axil_arvalid_i && s_axil_arready_o) begin
        ar_full_q <= 1'b1;
        rd_word_q <= word(s_axil_araddr_i);
      end
    end
  end

  logic unused_ok;
  assign unused_ok = ^{wr_ones, base_lo_next[5:0]};

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSERT(EnabledMeansGoodConfig_A, !enable_q || (config_ok_q && (size_q <= 32'(MaxMptSize))))
  `TPT_ASSERT(EnabledMeansLocked_A, !enable_q || locked_q)
  `TPT_ASSERT(RespLegal_A, (b_resp_q == RespOkay) || (b_resp_q == RespSlvErr))
`ifndef SYNTHESIS
  logic                prev_ok_q, prev_lock_q;
  logic [63:0]         prev_base_q;
  logic [31:0]         prev_size_q;
  logic [255:0]        prev_secret_q;
  logic                prev_b_q, prev_r_q;
  logic [1:0]          prev_bresp_q;
  logic [33:0]         prev_rdata_q;
  always_ff @(posedge clk_i) begin
    prev_ok_q     <= rst_ni;
    prev_lock_q   <= enable_q;
    prev_base_q   <= base_q;
    prev_size_q   <= size_q;
    prev_secret_q <= {perm_q, tag_q};
    prev_b_q      <= rst_ni && b_valid_q && !s_axil_bready_i;
    prev_r_q      <= rst_ni && r_valid_q && !s_axil_rready_i;
    prev_bresp_q  <= b_resp_q;
    prev_rdata_q  <= {r_resp_q, r_data_q};
  end
  `TPT_ASSERT(LockedConstant_A, !(prev_ok_q && prev_lock_q) ||
              ((base_q == prev_base_q) && (size_q == prev_size_q) &&
               ({perm_q, tag_q} == prev_secret_q)))
  `TPT_ASSERT(AnswersStable_A, (!prev_b_q || (b_valid_q && (b_resp_q == prev_bresp_q))) &&
              (!prev_r_q || (r_valid_q && ({r_resp_q, r_data_q} == prev_rdata_q))))
`endif

endmodule
