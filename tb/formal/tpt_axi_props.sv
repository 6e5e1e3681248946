// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_assert.svh"

/// Rules of AXI4 for a manager that makes aligned, full-width INCR bursts: what it promises is
/// asserted, what it may expect of the subordinate is assumed.
///
/// Answers are followed for one ID that the solver chooses (`id_i`, constant); answers with other
/// IDs are free, which is more than any subordinate does. The counters are exported, so that a
/// proof can tie the state of the block to them.
module tpt_axi_props #(
  parameter int unsigned AxiDataW = 128,
  parameter int unsigned AxiIdW   = 8,
  parameter int unsigned AxiAddrW = 64,
  parameter bit          Read     = 1'b1,
  parameter bit          Write    = 1'b1,
  /// Assume what a subordinate promises for the answers with ID `id_i`.
  parameter bit          Answers  = 1'b1,
  localparam int unsigned CntW    = 12
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  /// The ID that is followed.
  input logic [AxiIdW-1:0]     id_i,

  input logic [AxiIdW-1:0]     arid_i,
  input logic [AxiAddrW-1:0]   araddr_i,
  input logic [7:0]            arlen_i,
  input logic [2:0]            arsize_i,
  input logic [1:0]            arburst_i,
  input logic                  arvalid_i,
  input logic                  arready_i,
  input logic [AxiIdW-1:0]     rid_i,
  input logic                  rlast_i,
  input logic                  rvalid_i,
  input logic                  rready_i,

  input logic [AxiIdW-1:0]     awid_i,
  input logic [AxiAddrW-1:0]   awaddr_i,
  input logic [7:0]            awlen_i,
  input logic [2:0]            awsize_i,
  input logic [1:0]            awburst_i,
  input logic                  awvalid_i,
  input logic                  awready_i,
  input logic [AxiDataW-1:0]   wdata_i,
  input logic [AxiDataW/8-1:0] wstrb_i,
  input logic                  wlast_i,
  input logic                  wvalid_i,
  input logic                  wready_i,
  input logic [AxiIdW-1:0]     bid_i,
  input logic                  bvalid_i,
  input logic                  bready_i,

  /// Reads with the followed ID that wait for their last beat; beats that its oldest has had.
  output logic [CntW-1:0]      rd_out_o,
  output logic [7:0]           rd_beat_o,
  /// Addresses taken, and bursts of data taken, whose answer is outstanding; beats of data taken of
  /// the burst that is going on.
  output logic [CntW-1:0]      aw_out_o,
  output logic [CntW-1:0]      w_out_o,
  output logic [7:0]           w_beat_o
);

  localparam int unsigned Log = $clog2(AxiDataW / 8);

  // A burst does not cross a boundary of 4 KiB.
  function automatic logic crosses(logic [AxiAddrW-1:0] addr, logic [7:0] len);
    logic unused_addr;
    logic [20:0] last;
    unused_addr = ^addr;
    last = {9'd0, addr[11:0]} + ((21'(len) + 21'd1) << Log) - 21'd1;
    return last[20:12] != '0;
  endfunction

  if (Read) begin : g_read
    tpt_stream_props #(.Width(AxiIdW + AxiAddrW + 13)) u_ar (
      .clk_i, .rst_ni, .valid_i(arvalid_i), .ready_i(arready_i),
      .data_i({arid_i, araddr_i, arlen_i, arsize_i, arburst_i})
    );
    `TPT_ASSERT(ArBurst_A, !arvalid_i || (arburst_i == 2'b01 && arsize_i == 3'(Log)))
    `TPT_ASSERT(ArAligned_A, !arvalid_i || araddr_i[Log-1:0] == '0)
    `TPT_ASSERT(ArInPage_A, !arvalid_i || !crosses(araddr_i, arlen_i))

    logic [CntW-1:0] out_q;
    logic [7:0]      beat_q;
    logic            ar, beat;
    assign ar   = arvalid_i && arready_i && arid_i == id_i;
    assign beat = rvalid_i && rready_i && rid_i == id_i;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        out_q  <= '0;
        beat_q <= '0;
      end else begin
        out_q <= out_q + CntW'(ar) - CntW'(beat && rlast_i);
        if (beat) beat_q <= rlast_i ? '0 : beat_q + 1'b1;
      end
    end
    assign rd_out_o  = out_q;
    assign rd_beat_o = beat_q;
    if (Answers) begin : g_answers
      `TPT_ASSUME(ReadExpected_A, !(rvalid_i && rid_i == id_i) || out_q != '0)
    end
  end else begin : g_no_read
    assign {rd_out_o, rd_beat_o} = '0;
    logic unused_read;
    assign unused_read = ^{arid_i, araddr_i, arlen_i, arsize_i, arburst_i, arvalid_i, arready_i,
                           rid_i, rlast_i, rvalid_i, rready_i};
  end

  if (Write) begin : g_write
    tpt_stream_props #(.Width(AxiIdW + AxiAddrW + 13)) u_aw (
      .clk_i, .rst_ni, .valid_i(awvalid_i), .ready_i(awready_i),
      .data_i({awid_i, awaddr_i, awlen_i, awsize_i, awburst_i})
    );
    tpt_stream_props #(.Width(AxiDataW + AxiDataW / 8 + 1)) u_w (
      .clk_i, .rst_ni, .valid_i(wvalid_i), .ready_i(wready_i),
      .data_i({wdata_i, wstrb_i, wlast_i})
    );
    `TPT_ASSERT(AwBurst_A, !awvalid_i || (awburst_i == 2'b01 && awsize_i == 3'(Log)))
    `TPT_ASSERT(AwAligned_A, !awvalid_i || awaddr_i[Log-1:0] == '0)
    `TPT_ASSERT(AwInPage_A, !awvalid_i || !crosses(awaddr_i, awlen_i))
    // All bursts of one manager have the same length here: the beat of the last one is known.
    `TPT_ASSERT(WLast_A, !wvalid_i || wlast_i == (w_beat_o == awlen_i))
    `TPT_ASSERT(WStrobes_A, !wvalid_i || wstrb_i == '1)

    logic [CntW-1:0] aw_q, w_q;
    logic [7:0]      beat_q;
    logic            w_end, b;
    assign w_end = wvalid_i && wready_i && wlast_i;
    assign b     = bvalid_i && bready_i && bid_i == id_i;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        aw_q   <= '0;
        w_q    <= '0;
        beat_q <= '0;
      end else begin
        aw_q <= aw_q + CntW'(awvalid_i && awready_i) - CntW'(b);
        w_q  <= w_q + CntW'(w_end) - CntW'(b);
        if (wvalid_i && wready_i) beat_q <= wlast_i ? '0 : beat_q + 1'b1;
      end
    end
    assign aw_out_o = aw_q;
    assign w_out_o  = w_q;
    assign w_beat_o = beat_q;
    if (Answers) begin : g_answers
      // Only when both address and data have been taken.
      `TPT_ASSUME(WriteExpected_A, !(bvalid_i && bid_i == id_i) || (aw_q != '0 && w_q != '0))
    end
  end else begin : g_no_write
    assign {aw_out_o, w_out_o, w_beat_o} = '0;
    logic unused_write;
    assign unused_write = ^{awid_i, awaddr_i, awlen_i, awsize_i, awburst_i, awvalid_i, awready_i,
                            wdata_i, wstrb_i, wlast_i, wvalid_i, wready_i, bid_i, bvalid_i,
                            bready_i};
  end

endmodule
