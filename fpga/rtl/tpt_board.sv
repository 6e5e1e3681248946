// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// What every board holds: the unit, on-chip memory for its tables and queues, and a serial link by
/// which a host reaches both and speaks for the clients of the unit.
///
///     rx ──► uart_rx ──► link_rx ──► link_exec ──► registers, clients ──► unit
///     tx ◄── uart_tx ◄── link_tx ◄──┘    └────────► memory ◄───── AXI4 ────┘
///
/// A board adds clock, reset and pins. The command channel of the unit is not used: commands go
/// through the queue in memory.
module tpt_board
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
  import tpt_link_pkg::*;
#(
  /// Clock of the unit in Hz, and bits per second of the line.
  parameter int unsigned ClkHz       = 30_000_000,
  parameter int unsigned Baud        = 3_000_000,
  /// Address of the memory as the unit sees it, and its size.
  parameter logic [63:0] RamBase     = 64'h0000_0100_0000_0000,
  parameter int unsigned RamBytes    = 131_072,
  /// Clocks of silence that end a frame of the link.
  parameter int unsigned Silence     = 2 ** 20,
  /// See tpt_core.
  parameter int unsigned NumClients  = 2,
  parameter int unsigned NumContexts = 16,
  parameter int unsigned MptSets     = 32,
  parameter int unsigned MptWays     = 2,
  parameter int unsigned MttSets     = 32,
  parameter int unsigned MttWays     = 4,
  parameter int unsigned DirSets     = 16,
  parameter int unsigned AxiDataW    = 8 * LinkLine,
  parameter int unsigned Lanes       = 1,
  parameter int unsigned MergeSegs   = 1,
  parameter int unsigned MttChecked  = 1,
  parameter int unsigned FaultSlots  = 4,
  parameter int unsigned NumWindows  = 4,
  parameter int unsigned Partitions  = 1,
  parameter int unsigned GuessAlarm  = 0,
  parameter int unsigned AlarmPds    = 16,
  parameter int unsigned RefusalTime = 0
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  /// Serial line, asynchronous.
  input  logic       rx_i,
  output logic       tx_o,
  /// Lamps: {receiving, sending, memory error, interrupt, trouble on the line, unit enabled, a good
  /// frame of late, alive}.
  output logic [7:0] led_o
);

  localparam int unsigned AxiIdW = $clog2(NumContexts) + $clog2(Lanes) + 4;
  localparam int unsigned LineW  = $clog2(RamBytes / LinkLine);
  localparam int unsigned RxW    = $clog2(LinkMaxFrame + LinkCrcBytes + 1);
  localparam int unsigned TxW    = $clog2(LinkMaxFrame + 1);

  if (AxiDataW != 8 * LinkLine) begin : g_bad_data_w
    $fatal(1, "tpt_board: AxiDataW must be that of a line of the link, 8 * LinkLine");
  end
  if (RamBase[11:0] != '0 || RamBase[63:52] != '0) begin : g_bad_base
    $fatal(1, "tpt_board: RamBase must be a multiple of 4 KiB below 2^52");
  end

  // ---------------------------------------------------------------------------------------------
  // Line and frames
  // ---------------------------------------------------------------------------------------------
  logic           rx_valid, rx_error, tx_valid, tx_ready;
  logic [7:0]     rx_data, tx_data;
  logic           frame, frame_release, bad, late;
  logic [RxW-1:0] frame_len, frame_addr;
  logic [7:0]     frame_data;
  logic           send, send_busy;
  logic [TxW-1:0] send_len, send_addr;
  logic [7:0]     send_data;

  tpt_uart_rx #(.ClkHz(ClkHz), .Baud(Baud)) u_uart_rx (
    .clk_i, .rst_ni, .rx_i, .valid_o(rx_valid), .data_o(rx_data), .error_o(rx_error)
  );
  tpt_link_rx #(.Silence(Silence)) u_link_rx (
    .clk_i, .rst_ni,
    .valid_i  (rx_valid),
    .data_i   (rx_data),
    .error_i  (rx_error),
    .frame_o  (frame),
    .release_i(frame_release),
    .len_o    (frame_len),
    .raddr_i  (frame_addr),
    .rdata_o  (frame_data),
    .bad_o    (bad),
    .late_o   (late)
  );
  tpt_link_tx u_link_tx (
    .clk_i, .rst_ni,
    .start_i(send),
    .len_i  (send_len),
    .busy_o (send_busy),
    .raddr_o(send_addr),
    .rdata_i(send_data),
    .valid_o(tx_valid),
    .ready_i(tx_ready),
    .data_o (tx_data)
  );
  tpt_uart_tx #(.ClkHz(ClkHz), .Baud(Baud)) u_uart_tx (
    .clk_i, .rst_ni, .valid_i(tx_valid), .ready_o(tx_ready), .data_i(tx_data), .tx_o
  );

  // ---------------------------------------------------------------------------------------------
  // What frames do
  // ---------------------------------------------------------------------------------------------
  function automatic link_ident_t identity();
    link_ident_t i;
    i           = '0;
    i.clients   = 8'(NumClients);
    i.ram_page  = RamBase[51:12];
    i.ram_bytes = RamBytes;
    i.clock_hz  = ClkHz;
    i.baud      = Baud;
    return i;
  endfunction

  logic                  unit_rst_nq, good, enabled, trouble, mem_error, irq;
  logic                  mem_valid, mem_ready, poison;
  logic [LineW-1:0]      mem_line, poison_line;
  logic [LinkLine-1:0]   mem_strb;
  logic [AxiDataW-1:0]   mem_wdata, mem_rdata;
  logic [CsrAddrW-1:0]   csr_addr;
  logic [31:0]           csr_wdata, csr_rdata;
  logic                  csr_awvalid, csr_awready, csr_wvalid, csr_wready, csr_bvalid, csr_bready;
  logic                  csr_arvalid, csr_arready, csr_rvalid, csr_rready;
  logic [1:0]            csr_bresp, csr_rresp;
  logic [NumClients-1:0] put_valid, put_ready, req_valid, req_ready, rsp_valid, rsp_ready;
  logic [NumClients-1:0] end_valid, end_ready, done_valid, done_ready;
  req_t                  put;
  req_t [NumClients-1:0] req;
  rsp_t [NumClients-1:0] rsp;
  done_t                  end_tag;
  done_t [NumClients-1:0] done;

  tpt_link_exec #(
    .NumClients(NumClients), .RamBytes(RamBytes), .Ident(identity())
  ) u_exec (
    .clk_i, .rst_ni,
    .frame_i      (frame),
    .release_o    (frame_release),
    .frame_len_i  (frame_len),
    .frame_addr_o (frame_addr),
    .frame_data_i (frame_data),
    .bad_i        (bad),
    .late_i       (late),
    .send_o       (send),
    .send_len_o   (send_len),
    .send_busy_i  (send_busy),
    .send_addr_i  (send_addr),
    .send_data_o  (send_data),
    .mem_valid_o  (mem_valid),
    .mem_ready_i  (mem_ready),
    .mem_line_o   (mem_line),
    .mem_strb_o   (mem_strb),
    .mem_wdata_o  (mem_wdata),
    .mem_rdata_i  (mem_rdata),
    .poison_o     (poison),
    .poison_line_o(poison_line),
    .mem_error_i  (mem_error),
    .csr_addr_o   (csr_addr),
    .csr_wdata_o  (csr_wdata),
    .csr_awvalid_o(csr_awvalid),
    .csr_awready_i(csr_awready),
    .csr_wvalid_o (csr_wvalid),
    .csr_wready_i (csr_wready),
    .csr_bresp_i  (csr_bresp),
    .csr_bvalid_i (csr_bvalid),
    .csr_bready_o (csr_bready),
    .csr_arvalid_o(csr_arvalid),
    .csr_arready_i(csr_arready),
    .csr_rdata_i  (csr_rdata),
    .csr_rresp_i  (csr_rresp),
    .csr_rvalid_i (csr_rvalid),
    .csr_rready_o (csr_rready),
    .req_valid_o  (put_valid),
    .req_ready_i  (put_ready),
    .req_o        (put),
    .rsp_valid_i  (rsp_valid),
    .rsp_ready_o  (rsp_ready),
    .rsp_i        (rsp),
    .done_valid_o (end_valid),
    .done_ready_i (end_ready),
    .done_o       (end_tag),
    .unit_rst_no  (unit_rst_nq),
    .irq_i        (irq),
    .good_o       (good),
    .enabled_o    (enabled),
    .trouble_o    (trouble)
  );

  // What a client has to say waits here, so that an offer to the unit is never withdrawn.
  for (genvar c = 0; c < NumClients; c++) begin : g_client
    logic [4:0] unused_count_req, unused_count_done;
    tpt_fifo #(.Width(ReqW), .Depth(16)) u_req (
      .clk_i,
      .rst_ni  (unit_rst_nq),
      .clear_i (1'b0),
      .wvalid_i(put_valid[c] && put_ready[c]),
      .wready_o(put_ready[c]),
      .wdata_i (put),
      .rvalid_o(req_valid[c]),
      .rready_i(req_ready[c]),
      .rdata_o (req[c]),
      .count_o (unused_count_req)
    );
    tpt_fifo #(.Width(DoneW), .Depth(16)) u_done (
      .clk_i,
      .rst_ni  (unit_rst_nq),
      .clear_i (1'b0),
      .wvalid_i(end_valid[c] && end_ready[c]),
      .wready_o(end_ready[c]),
      .wdata_i (end_tag),
      .rvalid_o(done_valid[c]),
      .rready_i(done_ready[c]),
      .rdata_o (done[c]),
      .count_o (unused_count_done)
    );
  end

  // ---------------------------------------------------------------------------------------------
  // The unit and its memory
  // ---------------------------------------------------------------------------------------------
  logic [AxiIdW-1:0]     awid, bid, arid, rid;
  logic [63:0]           awaddr, araddr;
  logic [7:0]            awlen, arlen;
  logic [2:0]            awsize, arsize;
  logic [1:0]            awburst, arburst, bresp, rresp;
  logic                  awvalid, awready, wlast, wvalid, wready, bvalid, bready;
  logic                  arvalid, arready, rlast, rvalid, rready;
  logic [AxiDataW-1:0]   wdata, rdata;
  logic [AxiDataW/8-1:0] wstrb;
  logic                  unused_cmd_ready, unused_cpl_valid;
  cpl_t                  unused_cpl;
  logic [NumClients-1:0][3:0] unused_room;

  tpt_core #(
    .NumClients(NumClients), .NumContexts(NumContexts), .MptSets(MptSets), .MptWays(MptWays),
    .MttSets(MttSets), .MttWays(MttWays), .DirSets(DirSets), .AxiDataW(AxiDataW),
    .Lanes(Lanes), .MergeSegs(MergeSegs), .MttChecked(MttChecked), .FaultSlots(FaultSlots),
    .NumWindows(NumWindows), .Partitions(Partitions), .GuessAlarm(GuessAlarm),
    .AlarmPds(AlarmPds), .RefusalTime(RefusalTime)
  ) u_core (
    .clk_i,
    .rst_ni           (unit_rst_nq),
    .req_valid_i      (req_valid),
    .req_ready_o      (req_ready),
    .req_i            (req),
    .rsp_valid_o      (rsp_valid),
    .rsp_ready_i      (rsp_ready),
    .rsp_o            (rsp),
    .req_room_o       (unused_room),
    .done_valid_i     (done_valid),
    .done_ready_o     (done_ready),
    .done_i           (done),
    .cmd_valid_i      (1'b0),
    .cmd_ready_o      (unused_cmd_ready),
    .cmd_i            ('0),
    .cpl_valid_o      (unused_cpl_valid),
    .cpl_ready_i      (1'b1),
    .cpl_o            (unused_cpl),
    .s_axil_awaddr_i  (csr_addr),
    .s_axil_awvalid_i (csr_awvalid),
    .s_axil_awready_o (csr_awready),
    .s_axil_wdata_i   (csr_wdata),
    .s_axil_wstrb_i   (4'hf),
    .s_axil_wvalid_i  (csr_wvalid),
    .s_axil_wready_o  (csr_wready),
    .s_axil_bresp_o   (csr_bresp),
    .s_axil_bvalid_o  (csr_bvalid),
    .s_axil_bready_i  (csr_bready),
    .s_axil_araddr_i  (csr_addr),
    .s_axil_arvalid_i (csr_arvalid),
    .s_axil_arready_o (csr_arready),
    .s_axil_rdata_o   (csr_rdata),
    .s_axil_rresp_o   (csr_rresp),
    .s_axil_rvalid_o  (csr_rvalid),
    .s_axil_rready_i  (csr_rready),
    .irq_o            (irq),
    .m_axi_awid_o     (awid),
    .m_axi_awaddr_o   (awaddr),
    .m_axi_awlen_o    (awlen),
    .m_axi_awsize_o   (awsize),
    .m_axi_awburst_o  (awburst),
    .m_axi_awvalid_o  (awvalid),
    .m_axi_awready_i  (awready),
    .m_axi_wdata_o    (wdata),
    .m_axi_wstrb_o    (wstrb),
    .m_axi_wlast_o    (wlast),
    .m_axi_wvalid_o   (wvalid),
    .m_axi_wready_i   (wready),
    .m_axi_bid_i      (bid),
    .m_axi_bresp_i    (bresp),
    .m_axi_bvalid_i   (bvalid),
    .m_axi_bready_o   (bready),
    .m_axi_arid_o     (arid),
    .m_axi_araddr_o   (araddr),
    .m_axi_arlen_o    (arlen),
    .m_axi_arsize_o   (arsize),
    .m_axi_arburst_o  (arburst),
    .m_axi_arvalid_o  (arvalid),
    .m_axi_arready_i  (arready),
    .m_axi_rid_i      (rid),
    .m_axi_rdata_i    (rdata),
    .m_axi_rresp_i    (rresp),
    .m_axi_rlast_i    (rlast),
    .m_axi_rvalid_i   (rvalid),
    .m_axi_rready_o   (rready)
  );

  tpt_board_ram #(
    .Base(RamBase), .Bytes(RamBytes), .DataW(AxiDataW), .IdW(AxiIdW)
  ) u_ram (
    .clk_i,
    .rst_ni         (unit_rst_nq),
    .link_valid_i   (mem_valid),
    .link_ready_o   (mem_ready),
    .link_line_i    (mem_line),
    .link_strb_i    (mem_strb),
    .link_wdata_i   (mem_wdata),
    .link_rdata_o   (mem_rdata),
    .poison_i       (poison),
    .poison_line_i  (poison_line),
    .error_o        (mem_error),
    .s_axi_awid_i   (awid),
    .s_axi_awaddr_i (awaddr),
    .s_axi_awlen_i  (awlen),
    .s_axi_awsize_i (awsize),
    .s_axi_awburst_i(awburst),
    .s_axi_awvalid_i(awvalid),
    .s_axi_awready_o(awready),
    .s_axi_wdata_i  (wdata),
    .s_axi_wstrb_i  (wstrb),
    .s_axi_wlast_i  (wlast),
    .s_axi_wvalid_i (wvalid),
    .s_axi_wready_o (wready),
    .s_axi_bid_o    (bid),
    .s_axi_bresp_o  (bresp),
    .s_axi_bvalid_o (bvalid),
    .s_axi_bready_i (bready),
    .s_axi_arid_i   (arid),
    .s_axi_araddr_i (araddr),
    .s_axi_arlen_i  (arlen),
    .s_axi_arsize_i (arsize),
    .s_axi_arburst_i(arburst),
    .s_axi_arvalid_i(arvalid),
    .s_axi_arready_o(arready),
    .s_axi_rid_o    (rid),
    .s_axi_rdata_o  (rdata),
    .s_axi_rresp_o  (rresp),
    .s_axi_rlast_o  (rlast),
    .s_axi_rvalid_o (rvalid),
    .s_axi_rready_i (rready)
  );

  // ---------------------------------------------------------------------------------------------
  // Lamps
  // ---------------------------------------------------------------------------------------------
  localparam int unsigned BlinkW = $clog2(ClkHz);
  logic [BlinkW-1:0] blink_q;
  logic [BlinkW-2:0] recent_q, rx_seen_q, tx_seen_q;  // count down from the event
  logic              memory_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      blink_q   <= '0;
      recent_q  <= '0;
      rx_seen_q <= '0;
      tx_seen_q <= '0;
      memory_q  <= 1'b0;
    end else begin
      blink_q <= blink_q + 1'b1;
      if (good) recent_q <= '1;
      else if (recent_q != '0) recent_q <= recent_q - 1'b1;
      // Short flashes
      if (rx_valid) rx_seen_q <= (BlinkW - 1)'(1) << (BlinkW - 5);
      else if (rx_seen_q != '0) rx_seen_q <= rx_seen_q - 1'b1;
      if (tx_valid) tx_seen_q <= (BlinkW - 1)'(1) << (BlinkW - 5);
      else if (tx_seen_q != '0) tx_seen_q <= tx_seen_q - 1'b1;
      memory_q <= (memory_q || mem_error) && unit_rst_nq;
    end
  end
  always_ff @(posedge clk_i) begin
    led_o <= {rx_seen_q != '0, tx_seen_q != '0, memory_q, irq, trouble, enabled,
              recent_q != '0, blink_q[BlinkW-1]};
  end

endmodule
