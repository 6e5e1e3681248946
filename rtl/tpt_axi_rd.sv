// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// AXI4 read manager: all sources share one address channel, answers are sorted by ID.
///
///     ID = {reset generation, lane, source, context}
///
/// * source 0, registration engine: 64 bytes, one read outstanding, answered as one word;
/// * source 1, MPT look-ups of each lane: 64 bytes, one burst per context;
/// * source 2, MTT walks of each lane: one beat per context;
/// * source 3, command queue: 128 bytes, one read outstanding, answered beat by beat.
///
/// Any number of reads may be outstanding and answers may come in any order, beats of different
/// IDs interleaved. RREADY is always high. Answers that carry another reset generation belong to a
/// read from before the last reset and are dropped.
module tpt_axi_rd
  import tpt_pkg::*;
#(
  /// Width of the memory port: 128, 256 or 512.
  parameter int unsigned AxiDataW = 128,
  /// Width of a context number.
  parameter int unsigned CtxW     = 4,
  /// Lanes, a power of two.
  parameter int unsigned Lanes    = 1,
  /// The command queue is there.
  parameter int unsigned CmdQueue = 1,
  localparam int unsigned LaneLog = $clog2(Lanes),
  localparam int unsigned AxiIdW  = CtxW + LaneLog + 4,
  localparam int unsigned Beats   = MptW / AxiDataW,
  localparam int unsigned QueBeats = QueueSlotW / AxiDataW
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  /// Reset generation.
  input  logic [1:0]          gen_i,

  // Registration engine
  input  logic                eng_valid_i,
  output logic                eng_ready_o,
  input  logic [63:0]         eng_addr_i,
  output logic                eng_rsp_valid_o,
  output logic [MptW-1:0]     eng_rsp_data_o,
  output logic                eng_rsp_err_o,
  // MPT look-ups
  input  logic [Lanes-1:0]           mpt_valid_i,
  input  logic [Lanes-1:0]           mpt_soon_i,   // mpt_valid_i one clock ahead
  output logic [Lanes-1:0]           mpt_ready_o,
  input  logic [Lanes-1:0][CtxW-1:0] mpt_ctx_i,
  input  logic [Lanes-1:0][63:0]     mpt_addr_i,
  output logic [Lanes-1:0]           mpt_r_valid_o,
  output logic                mpt_r_last_o,
  // MTT walks
  input  logic [Lanes-1:0]           mtt_valid_i,
  input  logic [Lanes-1:0]           mtt_soon_i,   // there will certainly be one the next clock
  output logic [Lanes-1:0]           mtt_ready_o,
  input  logic [Lanes-1:0][CtxW-1:0] mtt_ctx_i,
  input  logic [Lanes-1:0][63:0]     mtt_addr_i,
  output logic [Lanes-1:0]           mtt_r_valid_o,
  // Command queue
  input  logic                que_valid_i,
  output logic                que_ready_o,
  input  logic [63:0]         que_addr_i,
  output logic                que_r_valid_o,
  output logic                que_r_last_o,
  // Answer, for MPT, MTT and the queue; its context one clock ahead
  output logic [CtxW-1:0]     r_pre_ctx_o,
  output logic [CtxW-1:0]     r_ctx_o,
  output logic [AxiDataW-1:0] r_data_o,
  output logic                r_err_o,

  // AXI4 read channels
  output logic [AxiIdW-1:0]   m_axi_arid_o,
  output logic [63:0]         m_axi_araddr_o,
  output logic [7:0]          m_axi_arlen_o,
  output logic [2:0]          m_axi_arsize_o,
  output logic [1:0]          m_axi_arburst_o,
  output logic                m_axi_arvalid_o,
  input  logic                m_axi_arready_i,
  input  logic [AxiIdW-1:0]   m_axi_rid_i,
  input  logic [AxiDataW-1:0] m_axi_rdata_i,
  input  logic [1:0]          m_axi_rresp_i,
  input  logic                m_axi_rlast_i,
  input  logic                m_axi_rvalid_i,
  output logic                m_axi_rready_o
);

  localparam logic [1:0] SrcEng = 2'd0;
  localparam logic [1:0] SrcMpt = 2'd1;
  localparam logic [1:0] SrcMtt = 2'd2;
  localparam logic [1:0] SrcQue = 2'd3;

  // ---------------------------------------------------------------------------------------------
  // Addresses: round robin over the sources that will have one, into one register. If none will,
  // the clock is for the first lane's walks, which may then have one unannounced.
  // ---------------------------------------------------------------------------------------------
  // Source number n: 0 engine, then the MPT look-ups, then the walks, then the command queue.
  localparam int unsigned SrcEnd  = 1 + 2 * Lanes;
  localparam int unsigned Sources = SrcEnd + CmdQueue;
  localparam int unsigned PickW   = $clog2(Sources);

  logic                             ar_free, pick_any;
  logic [PickW-1:0]                 pick_q;       // owner of this clock
  logic [Sources-1:0]               mine_q;       // the same, one-hot
  logic [Sources-1:0]               unused_gnt;
  logic [Sources-1:0][AxiIdW-1:0]   id;
  logic [Sources-1:0][63:0]         addr;

  function automatic logic [AxiIdW-1:0] make_id(logic [1:0] gen, logic [1:0] lane,
                                                logic [1:0] src, logic [CtxW-1:0] ctx);
    logic [AxiIdW-1:0] word;
    word                  = AxiIdW'(lane);
    word                  = {word[AxiIdW-CtxW-3:0], src, ctx};
    word[AxiIdW-1 -: 2]     = gen;
    return word;
  endfunction

  assign id[0]   = make_id(gen_i, 2'd0, SrcEng, '0);
  assign addr[0] = eng_addr_i;
  for (genvar l = 0; l < Lanes; l++) begin : g_source
    assign id[1+l]         = make_id(gen_i, 2'(l), SrcMpt, mpt_ctx_i[l]);
    assign addr[1+l]       = mpt_addr_i[l];
    assign id[1+Lanes+l]   = make_id(gen_i, 2'(l), SrcMtt, mtt_ctx_i[l]);
    assign addr[1+Lanes+l] = mtt_addr_i[l];
  end

  // The owner of a clock is chosen the clock before, so that nobody's `ready` waits for a `valid`.
  logic [Sources-1:0] valid, soon;
  logic [PickW-1:0]   pick_d;
  assign valid[SrcEnd-1:0] = {mtt_valid_i, mpt_valid_i, eng_valid_i};
  assign soon[SrcEnd-1:0]  = {mtt_soon_i, mpt_soon_i, eng_valid_i && !eng_ready_o};
  if (CmdQueue != 0) begin : g_queue
    assign id[SrcEnd]    = make_id(gen_i, 2'd0, SrcQue, '0);
    assign addr[SrcEnd]  = que_addr_i;
    assign valid[SrcEnd] = que_valid_i;
    assign soon[SrcEnd]  = que_valid_i && !que_ready_o;
    assign que_ready_o   = mine_q[SrcEnd] && ar_free;
    `TPT_ASSUME(QueAligned_A, !que_valid_i || que_addr_i[6:0] == '0)
  end else begin : g_no_queue
    logic unused_que;
    assign unused_que  = ^{que_valid_i, que_addr_i};
    assign que_ready_o = 1'b0;
  end
  tpt_rr_arb #(.N(Sources)) u_arb (
    .clk_i, .rst_ni,
    .req_i (soon),
    .take_i(ar_free),
    .any_o (pick_any),
    .gnt_o (unused_gnt),
    .idx_o (pick_d)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pick_q <= PickW'(1 + Lanes);
      mine_q <= Sources'(1) << (1 + Lanes);
    end else if (ar_free) begin
      pick_q <= pick_any ? pick_d : PickW'(1 + Lanes);
      mine_q <= Sources'(1) << (pick_any ? pick_d : PickW'(1 + Lanes));
    end
  end
  assign ar_free = !m_axi_arvalid_o || m_axi_arready_i;
  assign {mtt_ready_o, mpt_ready_o, eng_ready_o} = mine_q[SrcEnd-1:0] & {SrcEnd{ar_free}};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) m_axi_arvalid_o <= 1'b0;
    else if (ar_free) m_axi_arvalid_o <= |(valid & mine_q);
  end
  always_ff @(posedge clk_i) begin
    if (ar_free) begin
      m_axi_arid_o   <= id[pick_q];
      m_axi_araddr_o <= addr[pick_q];
      m_axi_arlen_o  <= (32'(pick_q) <= Lanes) ? 8'(Beats - 1)
                                               : ((32'(pick_q) < SrcEnd) ? '0 : 8'(QueBeats - 1));
    end
  end
  assign m_axi_arsize_o  = 3'($clog2(AxiDataW / 8));
  assign m_axi_arburst_o = 2'b01;

  // ---------------------------------------------------------------------------------------------
  // Answers
  // ---------------------------------------------------------------------------------------------
  logic                r_valid_q, r_last_q, r_err_q;
  logic [1:0]          r_src_q;
  logic [1:0]          r_lane_q;
  logic [CtxW-1:0]     r_ctx_q;
  logic [AxiDataW-1:0] r_data_q;

  assign m_axi_rready_o = 1'b1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else r_valid_q <= m_axi_rvalid_i && m_axi_rid_i[AxiIdW-1 -: 2] == gen_i;
  end
  always_ff @(posedge clk_i) begin
    r_last_q <= m_axi_rlast_i;
    r_err_q  <= m_axi_rresp_i != 2'b00;  // exclusive reads are not made: EXOKAY is wrong, too
    r_src_q  <= m_axi_rid_i[CtxW +: 2];
    r_ctx_q  <= m_axi_rid_i[CtxW-1:0];
    r_data_q <= m_axi_rdata_i;
  end

  if (Lanes > 1) begin : g_lane_id
    always_ff @(posedge clk_i) r_lane_q <= 2'(m_axi_rid_i[CtxW+2 +: LaneLog]);
  end else begin : g_no_lane_id
    assign r_lane_q = '0;
  end

  assign r_pre_ctx_o   = m_axi_rid_i[CtxW-1:0];
  for (genvar l = 0; l < Lanes; l++) begin : g_answer
    assign mpt_r_valid_o[l] = r_valid_q && r_src_q == SrcMpt && 32'(r_lane_q) == l;
    assign mtt_r_valid_o[l] = r_valid_q && r_src_q == SrcMtt && 32'(r_lane_q) == l;
  end
  assign mpt_r_last_o  = r_last_q;
  assign que_r_valid_o = r_valid_q && r_src_q == SrcQue;
  assign que_r_last_o  = r_last_q;
  assign r_ctx_o       = r_ctx_q;
  assign r_data_o      = r_data_q;
  assign r_err_o       = r_err_q;

  // Engine: beats are shifted in from the top, so the first one ends lowest.
  logic [MptW-1:0] eng_data_q;
  logic            eng_err_q, eng_valid_q, eng_beat;
  assign eng_beat = r_valid_q && r_src_q == SrcEng;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      eng_valid_q <= 1'b0;
      eng_err_q   <= 1'b0;
    end else begin
      eng_valid_q <= eng_beat && r_last_q;
      if (eng_beat) eng_err_q <= r_err_q || (eng_err_q && !eng_valid_q);
      else if (eng_valid_q) eng_err_q <= 1'b0;
    end
  end
  if (Beats > 1) begin : g_shift
    always_ff @(posedge clk_i) begin
      if (eng_beat) eng_data_q <= {r_data_q, eng_data_q[MptW-1:AxiDataW]};
    end
  end else begin : g_whole
    always_ff @(posedge clk_i) begin
      if (eng_beat) eng_data_q <= r_data_q;
    end
  end
  assign eng_rsp_valid_o = eng_valid_q;
  assign eng_rsp_data_o  = eng_data_q;
  assign eng_rsp_err_o   = eng_err_q;

  for (genvar l = 0; l < Lanes; l++) begin : g_aligned
    `TPT_ASSUME(MptAligned_A, !mpt_valid_i[l] || mpt_addr_i[l][5:0] == '0)
    `TPT_ASSUME(MttAligned_A, !mtt_valid_i[l] || mtt_addr_i[l][$clog2(AxiDataW/8)-1:0] == '0)
  end

endmodule
