// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_axi_rd: the rules of AXI4 on its read channels; every address that is taken leaves once,
/// with the ID of its source; every answer goes to its source and context, and none that carries
/// another generation of the reset.
module axi_rd_formal import tpt_pkg::*; #(
  parameter int unsigned AxiDataW = 128,
  parameter int unsigned Lanes    = 1,
  parameter int unsigned CmdQueue = 1,
  localparam int unsigned CtxW    = 2,
  localparam int unsigned AxiIdW  = CtxW + $clog2(Lanes) + 4
) (
  input logic                       clk_i,
  input logic                       rst_ni,
  input logic [1:0]                 gen_i,
  input logic                       eng_valid_i,
  input logic [63:0]                eng_addr_i,
  input logic [Lanes-1:0]           mpt_valid_i,
  input logic [Lanes-1:0]           mpt_soon_i,
  input logic [Lanes-1:0][CtxW-1:0] mpt_ctx_i,
  input logic [Lanes-1:0][63:0]     mpt_addr_i,
  input logic [Lanes-1:0]           mtt_valid_i,
  input logic [Lanes-1:0]           mtt_soon_i,
  input logic [Lanes-1:0][CtxW-1:0] mtt_ctx_i,
  input logic [Lanes-1:0][63:0]     mtt_addr_i,
  input logic                       que_valid_i,
  input logic [63:0]                que_addr_i,
  input logic                       arready_i,
  input logic [AxiIdW-1:0]          rid_i,
  input logic [AxiDataW-1:0]        rdata_i,
  input logic [1:0]                 rresp_i,
  input logic                       rlast_i,
  input logic                       rvalid_i
);
  `TPT_FORMAL_RESET

  logic                eng_ready, eng_rsp_valid, eng_rsp_err, mpt_r_last, que_ready, que_r_valid;
  logic                que_r_last, r_err, arvalid, rready;
  logic [Lanes-1:0]    mpt_ready, mpt_r_valid, mtt_ready, mtt_r_valid;
  logic [MptW-1:0]     eng_rsp_data;
  logic [CtxW-1:0]     r_pre_ctx, r_ctx;
  logic [AxiDataW-1:0] r_data;
  logic [AxiIdW-1:0]   arid;
  logic [63:0]         araddr;
  logic [7:0]          arlen;
  logic [2:0]          arsize;
  logic [1:0]          arburst;
  tpt_axi_rd #(
    .AxiDataW(AxiDataW), .CtxW(CtxW), .Lanes(Lanes), .CmdQueue(CmdQueue)
  ) dut (
    .clk_i, .rst_ni, .gen_i,
    .eng_valid_i, .eng_ready_o(eng_ready), .eng_addr_i, .eng_rsp_valid_o(eng_rsp_valid),
    .eng_rsp_data_o(eng_rsp_data), .eng_rsp_err_o(eng_rsp_err),
    .mpt_valid_i, .mpt_soon_i, .mpt_ready_o(mpt_ready), .mpt_ctx_i, .mpt_addr_i,
    .mpt_r_valid_o(mpt_r_valid), .mpt_r_last_o(mpt_r_last),
    .mtt_valid_i, .mtt_soon_i, .mtt_ready_o(mtt_ready), .mtt_ctx_i, .mtt_addr_i,
    .mtt_r_valid_o(mtt_r_valid),
    .que_valid_i, .que_ready_o(que_ready), .que_addr_i, .que_r_valid_o(que_r_valid),
    .que_r_last_o(que_r_last),
    .r_pre_ctx_o(r_pre_ctx), .r_ctx_o(r_ctx), .r_data_o(r_data), .r_err_o(r_err),
    .m_axi_arid_o(arid), .m_axi_araddr_o(araddr), .m_axi_arlen_o(arlen), .m_axi_arsize_o(arsize),
    .m_axi_arburst_o(arburst), .m_axi_arvalid_o(arvalid), .m_axi_arready_i(arready_i),
    .m_axi_rid_i(rid_i), .m_axi_rdata_i(rdata_i), .m_axi_rresp_i(rresp_i), .m_axi_rlast_i(rlast_i),
    .m_axi_rvalid_i(rvalid_i), .m_axi_rready_o(rready)
  );
  logic [1:0] gen_q;
  always_ff @(posedge clk_i) gen_q <= gen_i;
  `TPT_ASSUME(GenConstant_A, gen_i == gen_q)
  // The engine reads entries of 64 bytes.
  `TPT_ASSUME(EngAligned_A, !eng_valid_i || eng_addr_i[5:0] == '0)

  logic [11:0] unused_rd, unused_aw, unused_w;
  logic [7:0]  unused_beat, unused_w_beat;
  tpt_axi_props #(
    .AxiDataW(AxiDataW), .AxiIdW(AxiIdW), .Write(1'b0), .Answers(1'b0)
  ) u_props (
    .clk_i, .rst_ni, .id_i('0),
    .arid_i(arid), .araddr_i(araddr), .arlen_i(arlen), .arsize_i(arsize), .arburst_i(arburst),
    .arvalid_i(arvalid), .arready_i, .rid_i, .rlast_i, .rvalid_i, .rready_i(rready),
    .awid_i('0), .awaddr_i('0), .awlen_i('0), .awsize_i('0), .awburst_i('0), .awvalid_i(1'b0),
    .awready_i(1'b0), .wdata_i('0), .wstrb_i('0), .wlast_i(1'b0), .wvalid_i(1'b0),
    .wready_i(1'b0), .bid_i('0), .bvalid_i(1'b0), .bready_i(1'b0),
    .rd_out_o(unused_rd), .rd_beat_o(unused_beat), .aw_out_o(unused_aw), .w_out_o(unused_w),
    .w_beat_o(unused_w_beat)
  );

  // What was taken: it is on the port in the next clock.
  localparam int unsigned Sources = 2 * Lanes + 2;
  logic [Sources-1:0] taken;
  assign taken = {que_valid_i && que_ready, mtt_valid_i & mtt_ready, mpt_valid_i & mpt_ready,
                  eng_valid_i && eng_ready};
  logic              any_q;
  logic [AxiIdW-1:0] id_q, id;
  logic [63:0]       addr_q, addr;
  logic [10:0]       bytes_q, bytes;
  always_comb begin
    id    = '0;
    addr  = eng_addr_i;
    bytes = 11'd64;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (taken[1+l]) begin
        id   = AxiIdW'({l[1:0], 2'd1, mpt_ctx_i[l]});
        addr = mpt_addr_i[l];
      end
      if (taken[1+Lanes+l]) begin
        id    = AxiIdW'({l[1:0], 2'd2, mtt_ctx_i[l]});
        addr  = mtt_addr_i[l];
        bytes = 11'(AxiDataW / 8);
      end
    end
    if (taken[Sources-1]) begin
      id    = AxiIdW'({2'd3, CtxW'(0)});
      addr  = que_addr_i;
      bytes = 11'd128;
    end
    id[AxiIdW-1-:2] = gen_i;
  end
  always_ff @(posedge clk_i) begin
    any_q   <= rst_ni && taken != '0;
    id_q    <= id;
    addr_q  <= addr;
    bytes_q <= bytes;
  end
  logic stalled_q;
  always_ff @(posedge clk_i) stalled_q <= rst_ni && arvalid && !arready_i;
  localparam int unsigned Ports = 1 + 2 * Lanes + CmdQueue;
  `TPT_ASSERT(Owner_A, 32'(dut.pick_q) < Ports && dut.mine_q == Ports'(1) << dut.pick_q)
  `TPT_ASSERT(OneTaken_A, (taken & (taken - 1'b1)) == '0)
  `TPT_ASSERT(Leaves_A, !any_q || (arvalid && arid == id_q && araddr == addr_q &&
                        (32'(arlen) + 1) * (AxiDataW / 8) == 32'(bytes_q)))
  `TPT_ASSERT(NothingElse_A, !arvalid || any_q || stalled_q)
  `TPT_ASSERT(NotOverwritten_A, !(any_q && stalled_q))

  // Answers: to one source only, a clock later, unchanged; never of another generation.
  logic                mine_q, last_q, err_q;
  logic [1:0]          src_q;
  logic [AxiIdW-1:0]   rid_q;
  logic [AxiDataW-1:0] data_q;
  always_ff @(posedge clk_i) begin
    mine_q <= rst_ni && rvalid_i && rid_i[AxiIdW-1-:2] == gen_i;
    src_q  <= rid_i[CtxW+:2];
    rid_q  <= rid_i;
    data_q <= rdata_i;
    last_q <= rlast_i;
    err_q  <= rresp_i != '0;
  end
  logic [Lanes-1:0] lane;
  if (Lanes > 1) begin : g_lanes
    assign lane = Lanes'(1) << rid_q[AxiIdW-3:CtxW+2];
  end else begin : g_one_lane
    assign lane = 1'b1;
  end
  `TPT_ASSERT(ToMpt_A, mpt_r_valid == ((mine_q && src_q == 2'd1) ? lane : '0))
  `TPT_ASSERT(ToMtt_A, mtt_r_valid == ((mine_q && src_q == 2'd2) ? lane : '0))
  `TPT_ASSERT(ToQueue_A, que_r_valid == (mine_q && src_q == 2'd3))
  `TPT_ASSERT(Answer_A, !mine_q || (r_ctx == rid_q[CtxW-1:0] && r_data == data_q &&
                                    r_err == err_q && mpt_r_last == last_q))
  logic eng_q;
  always_ff @(posedge clk_i) eng_q <= rst_ni && mine_q && src_q == 2'd0 && last_q;
  `TPT_ASSERT(EngOnlyOwn_A, !eng_rsp_valid || eng_q)

  `TPT_COVER(Engine_C, eng_rsp_valid && eng_rsp_err)
  `TPT_COVER(Walk_C, any_q && arid[CtxW+:2] == 2'd2 && stalled_q == 1'b0)
  `TPT_COVER(Queue_C, CmdQueue == 0 || (any_q && arid[CtxW+:2] == 2'd3))
  `TPT_COVER(Foreign_C, rvalid_i && rid_i[AxiIdW-1-:2] != gen_i && mine_q)
  `TPT_COVER(Stalled_C, stalled_q && eng_valid_i && que_valid_i)
endmodule
