// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Control and status registers behind an AXI4-Lite subordinate.
///
/// The registers are described in tpt_csr.rdl; tpt_csr_regs is made from it. This module adds what
/// that description cannot say: the AXI4-Lite port, which writes are refused, and what is counted.
///
/// AW and W may come in any order; one write and one read are in work at a time.
///
/// Latency: a write is answered 3 clocks after the later of AW and W, a read 3 clocks after AR, and
/// one or two clocks later if the other one is in work.
///
/// Errors, all SLVERR and without effect:
/// * offsets without a register (reads give 0), writes to read-only registers;
/// * writes to a register all of which is locked (`swwel` in tpt_csr.rdl): by STATUS.locked, that
///   is, while the unit is enabled, and after disabling until it has been idle once with no command
///   and no fence in work; by the queues while they are in use; and always to queues and windows
///   that are not built;
/// * enabling with more partitions than there are, with a size of 0 or above 2^23, with a base that
///   is not 4 KiB aligned, with a table that passes 2^64, or with another `plain`, `merge` or
///   `phys` bit while locked;
/// * enabling the queues with a size that is not 2^1 to 2^16 (completions: 2^2 to 2^16), with a
///   ring that passes 2^64, or while they stop;
/// * doorbells with a slot that the queue does not have or that tpt_cmd_queue calls bad, or while
///   the queues are not enabled: these set ERROR.doorbell as well.
///
/// Byte strobes are respected everywhere. Address bits 1:0 are ignored. Disabling never fails;
/// while locked it leaves `plain`, `merge` and `phys` as they are. The secrets read as 0.
module tpt_csr
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
#(
  /// Number of clients, 1 to 4.
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
  parameter int unsigned MergeSegs   = 1,
  /// Fast registration, windows, invalidation and physical regions are there (only shown in CAP2).
  parameter int unsigned Frmr        = 0,
  /// The queues in memory are there; without them their registers refuse writes and read as 0.
  parameter int unsigned Queues      = 0,
  /// The host windows are there; without them their registers refuse writes and read as 0.
  parameter int unsigned Windows     = 0,
  /// Slots for page faults, 0 to 128 (only shown in CAP2).
  parameter int unsigned FaultSlots  = 0,
  /// Table entries can be CHECKED (only shown in CAP2).
  parameter int unsigned MttChecked  = 0,
  /// Partitions that there can be: ISOLATION says no more.
  parameter int unsigned Partitions  = 1,
  /// Bad keys are counted; without that its registers refuse writes and read as 0.
  parameter int unsigned GuessAlarm  = 0,
  /// Counts of bad keys of PDs, a power of two (only shown in CAP2).
  parameter int unsigned AlarmPds    = 16,
  /// Refusals can wait; without that the register refuses writes and reads as 0.
  parameter int unsigned RefusalTime = 0
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

  /// Interrupt: a level, while a bit of INT_STATUS is set that INT_ENABLE lets through.
  output logic                        irq_o,

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
  /// Counters: how much each one grows in this clock; refusals: by syndrome, from 1 on.
  input  logic [NumCounters-1:0][3:0] cnt_inc_i,
  input  logic [NumSynCount-1:0][2:0] syn_inc_i,
  /// Sticky errors: set in this clock (wins over clearing).
  input  logic [NumErrors-1:0]        err_set_i,

  /// Log of refusals, as tpt_refusal_log has it; a request was refused in this clock.
  input  logic                        refused_i,
  input  logic     [31:0]             log_count_i,
  input  refusal_t [NumLog-1:0]       log_entry_i,
  input  logic     [NumLog-1:0][1:0]  log_client_i,

  /// Page faults: how many wait, and the oldest one (all 0 if none waits). `pop` takes it away.
  input  logic [7:0]                  fault_count_i,
  input  logic                        fault_valid_i,
  input  fault_t                      fault_i,
  input  logic                        fault_event_i,   // one more waits
  output logic                        fault_pop_o,

  /// Queues in memory. The settings are constant while the queues are enabled or in use. A doorbell
  /// is a pulse with which the slot number is new; both numbers are 0 while `enable` is 0.
  output logic                        queue_enable_o,
  output logic                        queue_arm_o,     // until `queue_event_i`
  output logic [63:0]                 cmdq_base_o,
  output logic [4:0]                  cmdq_log_size_o,
  output logic [15:0]                 cmdq_tail_o,
  output logic                        cmdq_doorbell_o,
  output logic [63:0]                 cplq_base_o,
  output logic [4:0]                  cplq_log_size_o,
  output logic [15:0]                 cplq_head_o,
  output logic                        cplq_doorbell_o,
  input  logic [15:0]                 cmdq_head_i,
  input  logic [15:0]                 cplq_tail_i,
  input  logic                        queue_enabled_i,
  input  logic                        queue_busy_i,
  input  logic                        queue_error_i,
  input  logic                        queue_full_i,
  input  logic                        queue_event_i,   // a completion was written while armed
  output logic [31:0]                 doorbell_value_o, // a doorbell that is being written
  input  logic                        cmdq_tail_bad_i,  // it would be bad for CMDQ_TAIL
  input  logic                        cplq_head_bad_i,  // it would be bad for CPLQ_HEAD

  /// Host windows: pages of 4 KiB, both ends included. If none is enabled, all is allowed.
  output logic [NumHostwinBaseLo-1:0]             window_enable_o,
  output logic [NumHostwinBaseLo-1:0][FrameW-1:0] window_base_o,
  output logic [NumHostwinBaseLo-1:0][FrameW-1:0] window_limit_o,

  /// Tenants and time of refusals: constant while the unit is enabled or busy.
  output isolation_t                  isolation_o,
  output logic [RefusalTimeW-1:0]     refusal_clocks_o,
  /// Alarm of bad keys.
  output alarm_set_t                             alarm_set_o,
  input  alarm_show_t                            alarm_show_i,
  input  logic [NumClients-1:0][NumStreams-1:0]  blocked_i,
  input  logic                                   alarm_i
);

  if (NumClients < 1 || NumClients > 4) begin : g_bad_clients
    $fatal(1, "tpt_csr: NumClients must be 1 to 4");
  end
  if (FaultSlots > 128) begin : g_bad_slots
    $fatal(1, "tpt_csr: FaultSlots must be 0 to 128");
  end

  localparam logic [1:0] RespOkay   = 2'b00;
  localparam logic [1:0] RespSlvErr = 2'b10;

  // Bytes of a register after a write.
  function automatic logic [31:0] strobed(logic [31:0] old, logic [31:0] data, logic [3:0] strb);
    logic [31:0] r;
    for (int unsigned b = 0; b < 4; b++) r[8*b+:8] = strb[b] ? data[8*b+:8] : old[8*b+:8];
    return r;
  endfunction

  tpt_csr_regs_pkg::tpt_csr__in_t  hwif_in;
  tpt_csr_regs_pkg::tpt_csr__out_t hwif_out;

  logic locked_q;
  logic config_ok_q;   // base and size may be enabled
  logic queue_locked_q;
  logic queue_ok_q;    // the settings of the queues may be enabled
  logic window_locked;
  logic no_refusal_time;

  // ---------------------------------------------------------------------------------------------
  // Write channel: collect AW and W, then a clock to see whether it is refused, then the write
  // ---------------------------------------------------------------------------------------------
  logic                aw_full_q, w_full_q, b_valid_q;
  logic [CsrAddrW-1:0] aw_addr_q;  // bits 1:0 are 0
  logic [31:0]         w_data_q;
  logic [3:0]          w_strb_q;
  logic [1:0]          b_resp_q;
  logic                checked_q, refuse, refuse_q, doorbell_bad, doorbell_bad_q;
  logic                wr_go, wr_stall, wr_err;

  assign s_axil_awready_o = !aw_full_q;
  assign s_axil_wready_o  = !w_full_q;
  assign s_axil_bvalid_o  = b_valid_q;
  assign s_axil_bresp_o   = b_resp_q;

  assign wr_go = checked_q && !wr_stall;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_full_q <= 1'b0;
      w_full_q  <= 1'b0;
      checked_q <= 1'b0;
      b_valid_q <= 1'b0;
      b_resp_q  <= RespOkay;
    end else begin
      checked_q <= aw_full_q && w_full_q && !b_valid_q && !wr_go;
      if (wr_go) begin
        aw_full_q <= 1'b0;
        w_full_q  <= 1'b0;
        b_valid_q <= 1'b1;
        b_resp_q  <= (refuse_q || wr_err) ? RespSlvErr : RespOkay;
      end else begin
        if (s_axil_awvalid_i && s_axil_awready_o) aw_full_q <= 1'b1;
        if (s_axil_wvalid_i && s_axil_wready_o) w_full_q <= 1'b1;
        if (s_axil_bready_i) b_valid_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (s_axil_awvalid_i && s_axil_awready_o) begin
      aw_addr_q <= {s_axil_awaddr_i[CsrAddrW-1:2], 2'b00};
    end
    if (s_axil_wvalid_i && s_axil_wready_o) begin
      w_data_q <= s_axil_wdata_i;
      w_strb_q <= s_axil_wstrb_i;
    end
    refuse_q       <= refuse;
    doorbell_bad_q <= doorbell_bad;
  end

  // Enabling with bad settings. A write without the strobe of byte 0 does nothing.
  logic w_merge, ctrl_bad, queue_bad;
  assign w_merge   = w_data_q[CtrlMerge] && MergeSegs != 0;
  assign ctrl_bad  = w_strb_q[0] && w_data_q[CtrlEnable] &&
                     (!config_ok_q || (locked_q && (w_data_q[CtrlPlain] != plain_o ||
                                                    w_merge != merge_o ||
                                                    w_data_q[CtrlPhys] != phys_o)));
  assign queue_bad = w_strb_q[0] && w_data_q[QueueCtrlEnable] &&
                     (!queue_ok_q || (queue_locked_q && !queue_enable_o));

  // A doorbell for a slot that the queue does not have, or that moves the wrong way
  logic is_cmdq, is_cplq, slot_bad;
  assign is_cmdq          = aw_addr_q == CsrCmdqTail;
  assign is_cplq          = aw_addr_q == CsrCplqHead;
  assign doorbell_value_o = strobed(is_cmdq ? 32'(cmdq_tail_o) : 32'(cplq_head_o), w_data_q,
                                    w_strb_q);
  assign slot_bad         = !queue_enable_o ||
                            ((doorbell_value_o >> (is_cmdq ? cmdq_log_size_o
                                                           : cplq_log_size_o)) != '0);
  assign doorbell_bad     = (is_cmdq && (slot_bad || cmdq_tail_bad_i)) ||
                            (is_cplq && (slot_bad || cplq_head_bad_i));

  assign refuse = (csr_locked(aw_addr_q) && locked_q) ||
                  (csr_queue_locked(aw_addr_q) && queue_locked_q) ||
                  (csr_window_locked(aw_addr_q) && window_locked) ||
                  (csr_no_alarm(aw_addr_q) && GuessAlarm == 0) ||
                  (csr_no_refusal_time(aw_addr_q) && no_refusal_time) ||
                  (aw_addr_q == CsrCtrl && ctrl_bad) ||
                  (aw_addr_q == CsrQueueCtrl && queue_bad) ||
                  doorbell_bad;

  // ---------------------------------------------------------------------------------------------
  // Read channel: writes go first
  // ---------------------------------------------------------------------------------------------
  logic                ar_full_q, r_valid_q, rd_busy_q;
  logic [CsrAddrW-1:0] ar_addr_q;  // bits 1:0 are 0
  logic [31:0]         r_data_q, rd_data;
  logic [1:0]          r_resp_q;
  logic                rd_go, rd_ack, rd_err;

  assign s_axil_arready_o = !ar_full_q;
  assign s_axil_rvalid_o  = r_valid_q;
  assign s_axil_rdata_o   = r_data_q;
  assign s_axil_rresp_o   = r_resp_q;
  assign rd_go            = ar_full_q && !rd_busy_q && !r_valid_q && !checked_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ar_full_q <= 1'b0;
      rd_busy_q <= 1'b0;
      r_valid_q <= 1'b0;
      r_resp_q  <= RespOkay;
      r_data_q  <= '0;
      ar_addr_q <= '0;
    end else begin
      if (rd_go) rd_busy_q <= 1'b1;
      if (rd_ack) begin
        ar_full_q <= 1'b0;
        rd_busy_q <= 1'b0;
        r_valid_q <= 1'b1;
        r_resp_q  <= (rd_err && !csr_reads_zero(ar_addr_q)) ? RespSlvErr : RespOkay;
        r_data_q  <= rd_data;
      end else if (s_axil_rready_i) begin
        r_valid_q <= 1'b0;
      end
      if (s_axil_arvalid_i && s_axil_arready_o) begin
        ar_full_q <= 1'b1;
        ar_addr_q <= {s_axil_araddr_i[CsrAddrW-1:2], 2'b00};
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The register block
  // ---------------------------------------------------------------------------------------------
  logic [31:0] bit_enable;
  logic        rd_stall, wr_ack;
  always_comb begin
    for (int unsigned b = 0; b < 4; b++) bit_enable[8*b+:8] = {8{w_strb_q[b]}};
    if (MergeSegs == 0 && aw_addr_q == CsrCtrl) bit_enable[CtrlMerge] = 1'b0;
  end

  tpt_csr_regs u_regs (
    .clk                 (clk_i),
    .rst_n               (rst_ni),
    .s_cpuif_req         ((checked_q && !refuse_q) || rd_go),
    .s_cpuif_req_is_wr   (checked_q),
    .s_cpuif_addr        (checked_q ? aw_addr_q : ar_addr_q),
    .s_cpuif_wr_data     (w_data_q),
    .s_cpuif_wr_biten    (bit_enable),
    .s_cpuif_req_stall_wr(wr_stall),
    .s_cpuif_req_stall_rd(rd_stall),
    .s_cpuif_rd_ack      (rd_ack),
    .s_cpuif_rd_err      (rd_err),
    .s_cpuif_rd_data     (rd_data),
    .s_cpuif_wr_ack      (wr_ack),
    .s_cpuif_wr_err      (wr_err),
    .hwif_in,
    .hwif_out
  );

  // ---------------------------------------------------------------------------------------------
  // Locks, and whether the settings may be enabled
  // ---------------------------------------------------------------------------------------------
  // Pages of 4 KiB up to the end of the table: at most 2^52.
  logic [31:0] size;
  logic [18:0] size_pages;
  logic [52:0] end_page;
  assign size       = hwif_out.MPT_SIZE.value.value;
  assign size_pages = {1'b0, size[IndexW:6]} + 19'(|size[5:0]);
  assign end_page   = {1'b0, mpt_base_o[63:12]} + {34'd0, size_pages};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      locked_q    <= 1'b0;
      config_ok_q <= 1'b0;
    end else begin
      // Seen at the next write, which is at least two clocks later.
      locked_q    <= (wr_go && !refuse_q && aw_addr_q == CsrCtrl && w_strb_q[0] &&
                      w_data_q[CtrlEnable]) || enable_o ||
                     (locked_q && (fence_busy_i || !idle_i));
      config_ok_q <= (isolation_o.log_parts <= 2'($clog2(Partitions))) && (size != 32'd0) &&
                     (size <= 32'(MaxMptSize)) && (mpt_base_o[11:0] == '0) &&
                     (!end_page[52] || (end_page[51:0] == '0));
    end
  end

  // A ring of 128-byte slots is good if it has enough and at most 2^16 of them and ends below 2^64.
  function automatic logic ring_ok(logic [63:12] base, logic [4:0] log_size, logic [4:0] least);
    logic [52:0] end_of_ring;
    end_of_ring = {1'b0, base} + ((log_size > 5'd5) ? (53'd1 << (log_size - 5'd5)) : 53'd1);
    return (log_size >= least) && (log_size <= 5'(MaxLogQueue)) &&
           (!end_of_ring[52] || (end_of_ring[51:0] == '0));
  endfunction

  if (Queues != 0) begin : g_queues
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        queue_locked_q <= 1'b0;
        queue_ok_q     <= 1'b0;
      end else begin
        queue_locked_q <= queue_enable_o || queue_enabled_i || queue_busy_i;
        queue_ok_q     <= ring_ok(cmdq_base_o[63:12], cmdq_log_size_o, 5'(MinLogCmdQueue)) &&
                          ring_ok(cplq_base_o[63:12], cplq_log_size_o, 5'(MinLogCplQueue));
      end
    end
  end else begin : g_no_queues
    assign queue_locked_q = 1'b1;
    assign queue_ok_q     = 1'b0;
  end
  assign window_locked   = (Windows != 0) ? locked_q : 1'b1;
  assign no_refusal_time = (RefusalTime != 0) ? locked_q : 1'b1;

  // ---------------------------------------------------------------------------------------------
  // What the hardware tells, counts and sets: counted and set a clock later
  // ---------------------------------------------------------------------------------------------
  logic [NumCounters-1:0][3:0] inc_q;
  logic [NumSynCount-1:0][2:0] syn_inc_q;
  logic [3:0]                  client_done;
  logic                        cleared_q;     // clearing has ended
  logic                        ev_error_q, ev_refused_q, ev_fault_q, ev_queue_q, ev_cleared_q;
  logic                        ev_alarm_q;
  logic                        irq_q, cmdq_doorbell_q, cplq_doorbell_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inc_q           <= '0;
      syn_inc_q       <= '0;
      cleared_q       <= 1'b0;
      ev_error_q      <= 1'b0;
      ev_refused_q    <= 1'b0;
      ev_fault_q      <= 1'b0;
      ev_queue_q      <= 1'b0;
      ev_cleared_q    <= 1'b0;
      ev_alarm_q      <= 1'b0;
      irq_q           <= 1'b0;
      cmdq_doorbell_q <= 1'b0;
      cplq_doorbell_q <= 1'b0;
    end else begin
      inc_q           <= cnt_inc_i;
      syn_inc_q       <= syn_inc_i;
      cleared_q       <= ready_i || clear_error_i;
      ev_error_q      <= (|err_set_i) || (wr_go && doorbell_bad_q);
      ev_refused_q    <= refused_i;
      ev_fault_q      <= fault_event_i;
      ev_queue_q      <= queue_event_i;
      ev_cleared_q    <= (ready_i || clear_error_i) && !cleared_q;
      ev_alarm_q      <= alarm_i;
      irq_q           <= hwif_out.INT_STATUS.intr;
      cmdq_doorbell_q <= hwif_out.CMDQ_TAIL.slot.swmod;
      cplq_doorbell_q <= hwif_out.CPLQ_HEAD.slot.swmod;
    end
  end

  // Blocked streams as the registers show them: 64 to a client.
  logic [32*NumAlarmBlocked-1:0] blocked_bits;
  always_comb begin
    blocked_bits = '0;
    for (int unsigned c = 0; c < NumClients; c++) begin
      blocked_bits[64*c+:NumStreams] = blocked_i[c];
    end
  end

  // Bits of clients that do not exist stay 0.
  always_comb begin
    client_done                 = '1;
    client_done[NumClients-1:0] = client_reset_done_i;
  end

  always_comb begin
    hwif_in.locked        = locked_q;
    hwif_in.queue_locked  = queue_locked_q;
    hwif_in.window_locked = window_locked;
    hwif_in.no_alarm        = GuessAlarm == 0;
    hwif_in.no_refusal_time = no_refusal_time;

    hwif_in.CAP.clients.next      = 4'(NumClients);
    hwif_in.CAP.max_levels.next   = 3'(MaxLevels);
    hwif_in.CAP.log_streams.next  = 3'($clog2(NumStreams));
    hwif_in.CAP.log_ctx.next      = 4'($clog2(NumContexts));
    hwif_in.CAP.log_axi_data.next = 2'($clog2(AxiDataW / 128));
    hwif_in.CAP.log_mpt_sets.next = 4'($clog2(MptSets));
    hwif_in.CAP.log_mpt_ways.next = 2'($clog2(MptWays));
    hwif_in.CAP.log_mtt_sets.next = 4'($clog2(MttSets));
    hwif_in.CAP.log_mtt_ways.next = 2'($clog2(MttWays));
    hwif_in.CAP.log_lanes.next    = 2'($clog2(Lanes));
    hwif_in.CAP.merge.next        = MergeSegs != 0;
    hwif_in.CAP2.queues.next      = Queues != 0;
    hwif_in.CAP2.frmr.next        = Frmr != 0;
    hwif_in.CAP2.windows.next     = (Windows != 0) ? 3'(NumHostwinBaseLo) : 3'd0;
    hwif_in.CAP2.syndromes.next   = 5'(NumSynCount);
    hwif_in.CAP2.log_entries.next = 3'(NumLog);
    hwif_in.CAP2.fault_slots.next = 8'(FaultSlots);
    hwif_in.CAP2.checked.next     = MttChecked != 0;
    hwif_in.CAP2.alarm.next        = GuessAlarm != 0;
    hwif_in.CAP2.log_alarm_pds.next = (GuessAlarm != 0) ? 4'($clog2(AlarmPds)) : 4'd0;
    hwif_in.CAP2.refusal_time.next = RefusalTime != 0;
    hwif_in.CAP2.log_parts.next    = 2'($clog2(Partitions));

    hwif_in.STATUS.ready.next       = ready_i;
    hwif_in.STATUS.clearing.next    = clearing_i;
    hwif_in.STATUS.clear_error.next = clear_error_i;
    hwif_in.STATUS.fence_busy.next  = fence_busy_i;
    hwif_in.STATUS.idle.next        = idle_i;
    hwif_in.STATUS.locked.next      = locked_q;

    hwif_in.CLIENT_RESET.client0.hwclr = client_done[0];
    hwif_in.CLIENT_RESET.client1.hwclr = client_done[1];
    hwif_in.CLIENT_RESET.client2.hwclr = client_done[2];
    hwif_in.CLIENT_RESET.client3.hwclr = client_done[3];

    hwif_in.ERROR.bad_done.hwset   = err_set_i[ErrorBadDone];
    hwif_in.ERROR.tag_busy.hwset   = err_set_i[ErrorTagBusy];
    hwif_in.ERROR.bus.hwset        = err_set_i[ErrorBus];
    hwif_in.ERROR.mpt_bad.hwset    = err_set_i[ErrorMptBad];
    hwif_in.ERROR.fence_time.hwset = err_set_i[ErrorFenceTime];
    hwif_in.ERROR.late.hwset       = err_set_i[ErrorLate];
    hwif_in.ERROR.doorbell.hwset   = err_set_i[ErrorDoorbell] || (wr_go && doorbell_bad_q);

    hwif_in.INT_STATUS.error.next      = ev_error_q;
    hwif_in.INT_STATUS.refused.next    = ev_refused_q;
    hwif_in.INT_STATUS.completion.next = ev_queue_q;
    hwif_in.INT_STATUS.page_fault.next = ev_fault_q;
    hwif_in.INT_STATUS.clear_done.next = ev_cleared_q;
    hwif_in.INT_STATUS.alarm.next      = ev_alarm_q;

    hwif_in.CNT_REQUESTS.value.incr      = |inc_q[CntRequests];
    hwif_in.CNT_REQUESTS.value.incrvalue = inc_q[CntRequests];
    hwif_in.CNT_MPT_HIT.value.incr       = |inc_q[CntMptHit];
    hwif_in.CNT_MPT_HIT.value.incrvalue  = inc_q[CntMptHit];
    hwif_in.CNT_MPT_MISS.value.incr      = |inc_q[CntMptMiss];
    hwif_in.CNT_MPT_MISS.value.incrvalue = inc_q[CntMptMiss];
    hwif_in.CNT_MPT_READ.value.incr      = |inc_q[CntMptRead];
    hwif_in.CNT_MPT_READ.value.incrvalue = inc_q[CntMptRead];
    hwif_in.CNT_MTT_HIT.value.incr       = |inc_q[CntMttHit];
    hwif_in.CNT_MTT_HIT.value.incrvalue  = inc_q[CntMttHit];
    hwif_in.CNT_MTT_MISS.value.incr      = |inc_q[CntMttMiss];
    hwif_in.CNT_MTT_MISS.value.incrvalue = inc_q[CntMttMiss];
    hwif_in.CNT_MTT_READ.value.incr      = |inc_q[CntMttRead];
    hwif_in.CNT_MTT_READ.value.incrvalue = inc_q[CntMttRead];
    hwif_in.CNT_SEGMENTS.value.incr      = |inc_q[CntSegments];
    hwif_in.CNT_SEGMENTS.value.incrvalue = inc_q[CntSegments];
    hwif_in.CNT_REFUSED.value.incr       = |inc_q[CntRefused];
    hwif_in.CNT_REFUSED.value.incrvalue  = inc_q[CntRefused];
    hwif_in.CNT_BAD_DONE.value.incr      = |inc_q[CntBadDone];
    hwif_in.CNT_BAD_DONE.value.incrvalue = inc_q[CntBadDone];
    hwif_in.CNT_FENCES.value.incr        = |inc_q[CntFences];
    hwif_in.CNT_FENCES.value.incrvalue   = inc_q[CntFences];
    hwif_in.CNT_EVICT.value.incr         = |inc_q[CntEvict];
    hwif_in.CNT_EVICT.value.incrvalue    = inc_q[CntEvict];
    hwif_in.CNT_LATE.value.incr          = |inc_q[CntLate];
    hwif_in.CNT_LATE.value.incrvalue     = inc_q[CntLate];
    for (int unsigned n = 0; n < NumSynCount; n++) begin
      hwif_in.SYN_COUNT[n].value.incr      = |syn_inc_q[n];
      hwif_in.SYN_COUNT[n].value.incrvalue = {1'b0, syn_inc_q[n]};
    end

    hwif_in.LOG_COUNT.value.next = log_count_i;
    for (int unsigned n = 0; n < NumLog; n++) begin
      hwif_in.LOG[n].tag.next      = log_entry_i[n].tag;
      hwif_in.LOG[n].stream.next   = log_entry_i[n].stream;
      hwif_in.LOG[n].syndrome.next = log_entry_i[n].syndrome;
      hwif_in.LOG[n].client.next   = log_client_i[n];
      hwif_in.LOG[n].refusal.next  = (log_entry_i[n].syndrome == SynOk) ? 8'd0
                                     : log_count_i[7:0] - 8'(n + 1);
    end

    hwif_in.FAULT_COUNT.waiting.next = fault_count_i;
    hwif_in.FAULT_INFO.index.next     = fault_i.index;
    hwif_in.FAULT_INFO.write.next     = fault_i.write;
    hwif_in.FAULT_INFO.slot.next      = fault_i.slot;
    hwif_in.FAULT_INFO.valid.next     = fault_valid_i;
    hwif_in.FAULT_PAGE_LO.value.next  = fault_i.page[31:0];
    hwif_in.FAULT_PAGE_HI.page.next   = fault_i.page[PageIdxW-1:32];
    hwif_in.FAULT_PAGE_HI.tag.next    = fault_i.tag;
    hwif_in.FAULT_PAGE_HI.client.next = fault_i.client;
    hwif_in.FAULT_PAGE_HI.held.next   = fault_i.held;

    hwif_in.ALARM_STREAM.count.next   = alarm_show_i.stream_count;
    hwif_in.ALARM_STREAM.blocked.next = alarm_show_i.stream_blocked;
    hwif_in.ALARM_PD.count.next       = alarm_show_i.pd_count;
    hwif_in.ALARM_PD.pd.next          = alarm_show_i.pd_last;
    for (int unsigned n = 0; n < NumAlarmBlocked; n++) begin
      hwif_in.ALARM_BLOCKED[n].streams.next = blocked_bits[32*n+:32];
    end

    hwif_in.QUEUE_CTRL.arm.hwclr      = queue_event_i || Queues == 0;
    hwif_in.QUEUE_STATUS.enabled.next = queue_enabled_i;
    hwif_in.QUEUE_STATUS.busy.next    = queue_busy_i;
    hwif_in.QUEUE_STATUS.error.next   = queue_error_i;
    hwif_in.QUEUE_STATUS.full.next    = queue_full_i;
    hwif_in.CMDQ_TAIL.slot.hwclr      = !queue_enable_o;
    hwif_in.CMDQ_HEAD.slot.next       = cmdq_head_i;
    hwif_in.CPLQ_HEAD.slot.hwclr      = !queue_enable_o;
    hwif_in.CPLQ_TAIL.slot.next       = cplq_tail_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Outputs
  // ---------------------------------------------------------------------------------------------
  logic [3:0] client_reset;
  assign client_reset[0] = hwif_out.CLIENT_RESET.client0.value;
  assign client_reset[1] = hwif_out.CLIENT_RESET.client1.value;
  assign client_reset[2] = hwif_out.CLIENT_RESET.client2.value;
  assign client_reset[3] = hwif_out.CLIENT_RESET.client3.value;
  assign client_reset_o  = client_reset[NumClients-1:0];

  assign irq_o        = irq_q;
  assign enable_o     = hwif_out.CTRL.enable.value;
  assign plain_o      = hwif_out.CTRL.plain.value;
  assign merge_o      = hwif_out.CTRL.merge.value;
  assign phys_o       = hwif_out.CTRL.phys.value;
  assign mpt_base_o   = {hwif_out.MPT_BASE_HI.value.value, hwif_out.MPT_BASE_LO.value.value};
  assign mpt_size_o   = size[IndexW:0];
  assign fence_time_o = hwif_out.FENCE_TIME.value.value;
  for (genvar i = 0; i < 4; i++) begin : g_secrets
    assign perm_secret_o[32*i+:32] = hwif_out.PERM_SECRET[i].value.value;
    assign tag_secret_o[32*i+:32]  = hwif_out.TAG_SECRET[i].value.value;
  end

  assign fault_pop_o = hwif_out.FAULT_POP.pop.value;

  assign queue_enable_o  = hwif_out.QUEUE_CTRL.enable.value;
  assign queue_arm_o     = hwif_out.QUEUE_CTRL.arm.value;
  assign cmdq_base_o     = {hwif_out.CMDQ_BASE_HI.value.value, hwif_out.CMDQ_BASE_LO.page.value,
                            12'd0};
  assign cmdq_log_size_o = hwif_out.CMDQ_LOG_SIZE.value.value;
  assign cmdq_tail_o     = hwif_out.CMDQ_TAIL.slot.value;
  assign cmdq_doorbell_o = cmdq_doorbell_q;
  assign cplq_base_o     = {hwif_out.CPLQ_BASE_HI.value.value, hwif_out.CPLQ_BASE_LO.page.value,
                            12'd0};
  assign cplq_log_size_o = hwif_out.CPLQ_LOG_SIZE.value.value;
  assign cplq_head_o     = hwif_out.CPLQ_HEAD.slot.value;
  assign cplq_doorbell_o = cplq_doorbell_q;

  assign window_enable_o = hwif_out.HOSTWIN_ENABLE.enable.value;
  for (genvar w = 0; w < NumHostwinBaseLo; w++) begin : g_windows
    assign window_base_o[w]  = {hwif_out.HOSTWIN[w].BASE_HI.value.value,
                                hwif_out.HOSTWIN[w].BASE_LO.page.value};
    assign window_limit_o[w] = {hwif_out.HOSTWIN[w].LIMIT_HI.value.value,
                                hwif_out.HOSTWIN[w].LIMIT_LO.page.value};
  end

  assign isolation_o = '{map: hwif_out.PART_MAP.value.value,
                         pd_shift: hwif_out.ISOLATION.pd_shift.value,
                         log_parts: hwif_out.ISOLATION.log_parts.value};
  assign refusal_clocks_o = hwif_out.REFUSAL_TIME.clocks.value;
  assign alarm_set_o = '{stream_threshold: hwif_out.ALARM.stream_threshold.value,
                         pd_threshold: hwif_out.ALARM.pd_threshold.value,
                         block: hwif_out.ALARM.block.value,
                         client: hwif_out.ALARM_SELECT.client.value,
                         stream: hwif_out.ALARM_SELECT.stream.value,
                         slot: hwif_out.ALARM_SELECT.slot.value,
                         clear_stream: hwif_out.ALARM_CLEAR.stream.value,
                         clear_pd: hwif_out.ALARM_CLEAR.pd.value,
                         clear_all: hwif_out.ALARM_CLEAR.every.value};

  logic unused_ok;
  assign unused_ok = ^{client_reset, wr_ack, rd_stall, s_axil_awaddr_i[1:0], s_axil_araddr_i[1:0]};

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSERT(EnabledMeansGoodConfig_A, !enable_o || (config_ok_q && (size <= 32'(MaxMptSize))))
  `TPT_ASSERT(EnabledMeansLocked_A, !enable_o || locked_q)
  `TPT_ASSERT(QueuesMeansGoodRings_A, !queue_enable_o || queue_ok_q)
  `TPT_ASSERT(RespLegal_A, (b_resp_q == RespOkay) || (b_resp_q == RespSlvErr))
  `TPT_ASSERT(ReadsNeverWait_A, !(rd_go && rd_stall))
  `TPT_ASSERT(WriteIsTaken_A, !(wr_go && !refuse_q) || wr_ack)
  `TPT_ASSERT(ReadIsWaitedFor_A, !rd_ack || rd_busy_q)
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
    prev_lock_q   <= enable_o;
    prev_base_q   <= mpt_base_o;
    prev_size_q   <= size;
    prev_secret_q <= {perm_secret_o, tag_secret_o};
    prev_b_q      <= rst_ni && b_valid_q && !s_axil_bready_i;
    prev_r_q      <= rst_ni && r_valid_q && !s_axil_rready_i;
    prev_bresp_q  <= b_resp_q;
    prev_rdata_q  <= {r_resp_q, r_data_q};
  end
  `TPT_ASSERT(LockedConstant_A, !(prev_ok_q && prev_lock_q) ||
              ((mpt_base_o == prev_base_q) && (size == prev_size_q) &&
               ({perm_secret_o, tag_secret_o} == prev_secret_q)))
  `TPT_ASSERT(AnswersStable_A, (!prev_b_q || (b_valid_q && (b_resp_q == prev_bresp_q))) &&
              (!prev_r_q || (r_valid_q && ({r_resp_q, r_data_q} == prev_rdata_q))))
`endif

endmodule
