// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// AXI4 write manager for MPT entries: 64 bytes, aligned, full strobes, one burst per write.
///
/// AW and W are offered at the same time and may be taken in any order; neither waits for the
/// other or for a ready. Up to MaxOutstanding writes wait for their answer; W data follow the order
/// of their addresses.
///
/// The ID of a write is {gen_i, 0}, the same for all, so the answers come in order. An answer whose
/// ID carries another generation belongs to a write from before a reset: it is taken and dropped.
///
/// Latency: 512/AxiDataW + 1 clocks to req_ready_o, and done_o comes one clock after the B answer.
/// Throughput: one write in 512/AxiDataW + 1 clocks.
/// Errors: SLVERR and DECERR give err_o together with done_o. Nothing is repeated.
module tpt_axi_wr import tpt_pkg::*; #(
  /// Data width of the memory port in bits: 128, 256 or 512.
  parameter int unsigned AxiDataW = 128,
  /// ID width of the memory port in bits, at least 2.
  parameter int unsigned AxiIdW   = 8,
  /// Writes that may wait for an answer, 1 to 255.
  parameter int unsigned MaxOutstanding = 8
) (
  /// Clock, and synchronous active-low reset.
  input  logic                  clk_i,
  input  logic                  rst_ni,
  /// Reset generation: differs from its value before the last reset. Constant outside reset.
  input  logic [1:0]            gen_i,

  /// Request: stable from valid to ready. `addr` is a multiple of 64. Ready comes when address and
  /// data have been taken by the memory.
  input  logic                  req_valid_i,
  output logic                  req_ready_o,
  input  logic [63:0]           req_addr_i,
  input  logic [MptW-1:0]       req_data_i,
  /// One clock per request, in order, in or after the clock of ready: the memory has answered.
  output logic                  done_o,
  output logic                  err_o,

  /// AXI4 write channels.
  output logic [AxiIdW-1:0]     m_axi_awid_o,
  output logic [63:0]           m_axi_awaddr_o,
  output logic [7:0]            m_axi_awlen_o,
  output logic [2:0]            m_axi_awsize_o,
  output logic [1:0]            m_axi_awburst_o,
  output logic                  m_axi_awvalid_o,
  input  logic                  m_axi_awready_i,
  output logic [AxiDataW-1:0]   m_axi_wdata_o,
  output logic [AxiDataW/8-1:0] m_axi_wstrb_o,
  output logic                  m_axi_wlast_o,
  output logic                  m_axi_wvalid_o,
  input  logic                  m_axi_wready_i,
  input  logic [AxiIdW-1:0]     m_axi_bid_i,
  input  logic [1:0]            m_axi_bresp_i,
  input  logic                  m_axi_bvalid_i,
  output logic                  m_axi_bready_o
);

  if (AxiDataW != 128 && AxiDataW != 256 && AxiDataW != 512) begin : g_bad_data_w
    $fatal(1, "tpt_axi_wr: AxiDataW must be 128, 256 or 512");
  end
  if (AxiIdW < 2) begin : g_bad_id_w
    $fatal(1, "tpt_axi_wr: AxiIdW must be at least 2");
  end

  if (MaxOutstanding < 1 || MaxOutstanding > 255) begin : g_bad_outstanding
    $fatal(1, "tpt_axi_wr: MaxOutstanding must be 1 to 255");
  end

  localparam int unsigned Beats = MptW / AxiDataW;
  localparam int unsigned BeatW = (Beats > 1) ? $clog2(Beats) : 1;

  logic             aw_done_q;  // the address of this request has been taken
  logic             w_done_q;   // all data of this request have been taken
  logic [BeatW-1:0] beat_q;
  logic [7:0]       out_q;      // writes that wait for their answer
  logic             room;
  logic             done_q, err_q;

  logic accept, aw_fire, w_fire, b_mine;
  assign accept  = aw_done_q && w_done_q;
  assign aw_fire = m_axi_awvalid_o && m_axi_awready_i;
  assign w_fire  = m_axi_wvalid_o && m_axi_wready_i;
  assign b_mine  = m_axi_bvalid_i && (m_axi_bid_i[AxiIdW-1-:2] == gen_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      aw_done_q <= 1'b0;
      w_done_q  <= 1'b0;
      beat_q    <= '0;
      out_q     <= 8'd0;
      done_q    <= 1'b0;
      err_q     <= 1'b0;
    end else begin
      aw_done_q <= (aw_done_q || aw_fire) && !accept;
      w_done_q  <= (w_done_q || (w_fire && m_axi_wlast_o)) && !accept;
      if (w_fire) beat_q <= m_axi_wlast_o ? '0 : (beat_q + 1'b1);
      out_q  <= out_q + 8'(accept) - 8'(b_mine);
      done_q <= b_mine;
      err_q  <= b_mine && m_axi_bresp_i != 2'b00;  // EXOKAY is wrong, too
    end
  end

  assign room        = (out_q != 8'(MaxOutstanding));
  assign req_ready_o = accept;
  assign done_o      = done_q;
  assign err_o       = err_q;

  assign m_axi_awid_o    = {gen_i, {(AxiIdW - 2) {1'b0}}};
  assign m_axi_awaddr_o  = req_addr_i;
  assign m_axi_awlen_o   = 8'(Beats - 1);
  assign m_axi_awsize_o  = 3'($clog2(AxiDataW / 8));
  assign m_axi_awburst_o = 2'b01;
  assign m_axi_awvalid_o = req_valid_i && !aw_done_q && room;
  assign m_axi_wstrb_o   = '1;
  assign m_axi_wlast_o   = (beat_q == BeatW'(Beats - 1));
  assign m_axi_wvalid_o  = req_valid_i && !w_done_q && room;
  assign m_axi_bready_o  = 1'b1;

  if (Beats > 1) begin : g_beats
    assign m_axi_wdata_o = req_data_i[beat_q*AxiDataW+:AxiDataW];
  end else begin : g_one_beat
    assign m_axi_wdata_o = req_data_i;
  end

  logic unused_ok;
  assign unused_ok = ^m_axi_bid_i;

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
`ifndef SYNTHESIS
  logic [63:0]     prev_addr_q;
  logic [MptW-1:0] prev_data_q;
  logic            prev_wait_q;
  always_ff @(posedge clk_i) begin
    prev_addr_q <= req_addr_i;
    prev_data_q <= req_data_i;
    prev_wait_q <= rst_ni && req_valid_i && !req_ready_o;
  end
  `TPT_ASSUME(RequestStable_A, !prev_wait_q || (req_valid_i && (req_addr_i == prev_addr_q) &&
                                                (req_data_i == prev_data_q)))
`endif
  `TPT_ASSUME(RequestAligned_A, !req_valid_i || (req_addr_i[5:0] == 6'd0))
  `TPT_ASSUME(AnswerExpected_A, !b_mine || (out_q != 8'd0) || accept)
  `TPT_ASSERT(AcceptHasRequest_A, !accept || (req_valid_i && room))
  `TPT_ASSERT(OutstandingBound_A, out_q <= 8'(MaxOutstanding))

endmodule
