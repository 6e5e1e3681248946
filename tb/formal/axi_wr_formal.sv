// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_axi_wr: the rules of AXI4 on its write channels; one answer for each request, in order.
module axi_wr_formal import tpt_pkg::*; #(
  parameter int unsigned AxiDataW = 128,
  parameter int unsigned MaxOut   = 2,
  localparam int unsigned AxiIdW  = 3
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [1:0]        gen_i,
  input logic              req_valid_i,
  input logic [63:0]       req_addr_i,
  input logic [MptW-1:0]   req_data_i,
  input logic              awready_i,
  input logic              wready_i,
  input logic [AxiIdW-1:0] bid_i,
  input logic [1:0]        bresp_i,
  input logic              bvalid_i
);
  `TPT_FORMAL_RESET

  logic                  req_ready, done, err;
  logic [AxiIdW-1:0]     awid;
  logic [63:0]           awaddr;
  logic [7:0]            awlen, w_beat;
  logic [2:0]            awsize;
  logic [1:0]            awburst;
  logic                  awvalid, wlast, wvalid, bready;
  logic [AxiDataW-1:0]   wdata;
  logic [AxiDataW/8-1:0] wstrb;
  tpt_axi_wr #(.AxiDataW(AxiDataW), .AxiIdW(AxiIdW), .MaxOutstanding(MaxOut)) dut (
    .clk_i, .rst_ni, .gen_i,
    .req_valid_i, .req_ready_o(req_ready), .req_addr_i, .req_data_i, .done_o(done), .err_o(err),
    .m_axi_awid_o(awid), .m_axi_awaddr_o(awaddr), .m_axi_awlen_o(awlen), .m_axi_awsize_o(awsize),
    .m_axi_awburst_o(awburst), .m_axi_awvalid_o(awvalid), .m_axi_awready_i(awready_i),
    .m_axi_wdata_o(wdata), .m_axi_wstrb_o(wstrb), .m_axi_wlast_o(wlast), .m_axi_wvalid_o(wvalid),
    .m_axi_wready_i(wready_i), .m_axi_bid_i(bid_i), .m_axi_bresp_i(bresp_i),
    .m_axi_bvalid_i(bvalid_i), .m_axi_bready_o(bready)
  );
  // The generation changes in reset only.
  logic [1:0] gen_q;
  always_ff @(posedge clk_i) gen_q <= gen_i;
  `TPT_ASSUME(GenConstant_A, gen_i == gen_q)
  // An answer of this generation has the ID of its writes.
  `TPT_ASSUME(AnswerId_A, !bvalid_i || bid_i[AxiIdW-1-:2] != gen_i || bid_i == awid)

  logic [11:0] aw_out, w_out, unused_rd_out;
  logic [7:0]  unused_rd_beat;
  tpt_axi_props #(.AxiDataW(AxiDataW), .AxiIdW(AxiIdW), .Read(1'b0)) u_props (
    .clk_i, .rst_ni, .id_i({gen_i, 1'b0}),
    .arid_i('0), .araddr_i('0), .arlen_i('0), .arsize_i('0), .arburst_i('0), .arvalid_i(1'b0),
    .arready_i(1'b0), .rid_i('0), .rlast_i(1'b0), .rvalid_i(1'b0), .rready_i(1'b0),
    .awid_i(awid), .awaddr_i(awaddr), .awlen_i(awlen), .awsize_i(awsize), .awburst_i(awburst),
    .awvalid_i(awvalid), .awready_i, .wdata_i(wdata), .wstrb_i(wstrb), .wlast_i(wlast),
    .wvalid_i(wvalid), .wready_i, .bid_i, .bvalid_i, .bready_i(bready),
    .rd_out_o(unused_rd_out), .rd_beat_o(unused_rd_beat), .aw_out_o(aw_out), .w_out_o(w_out),
    .w_beat_o(w_beat)
  );

  // Requests taken and not answered; what was given to the memory is what was asked for.
  logic [7:0] open_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= '0;
    else open_q <= open_q + 8'(req_valid_i && req_ready) - 8'(done);
  end
  // An answer may come in the clock in which the request is taken, and is told a clock later.
  `TPT_ASSERT(OneAnswer_A, open_q == dut.out_q + 8'(done))
  `TPT_ASSERT(Address_A, !awvalid || awaddr == req_addr_i)
  `TPT_ASSERT(Data_A, !wvalid || wdata == AxiDataW'(req_data_i >> (32'(w_beat) * AxiDataW)))
  `TPT_ASSERT(Bound_A, aw_out <= 12'(MaxOut) && w_out <= 12'(MaxOut))
  `TPT_ASSERT(AwTied_A, aw_out == 12'(dut.out_q) + 12'(dut.aw_done_q))
  `TPT_ASSERT(WTied_A, w_out == 12'(dut.out_q) + 12'(dut.w_done_q))
  `TPT_ASSERT(BeatTied_A, w_beat == 8'(dut.beat_q))
  `TPT_ASSERT(DoneTied_A, !(dut.aw_done_q || dut.w_done_q || dut.beat_q != '0) ||
                          (req_valid_i && dut.out_q != 8'(MaxOut)))
  `TPT_ASSERT(BeatRange_A, 32'(w_beat) < MptW / AxiDataW)
  `TPT_ASSERT(BeatsAfter_A, !dut.w_done_q || dut.beat_q == '0)

  `TPT_COVER(DataFirst_C, dut.w_done_q && !dut.aw_done_q)
  `TPT_COVER(Full_C, open_q == 8'(MaxOut) && req_valid_i)
  `TPT_COVER(Error_C, done && err && open_q == 8'(MaxOut))
  `TPT_COVER(Foreign_C, bvalid_i && bid_i[AxiIdW-1-:2] != gen_i && open_q != '0)
endmodule
