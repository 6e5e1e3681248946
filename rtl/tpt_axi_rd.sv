// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// AXI4 read manager: three sources share one address channel, answers are sorted by ID.
///
///     ID = {reset generation, source, context}
///
/// * source 0, registration engine: 64 bytes, one read outstanding, answered as one word;
/// * source 1, MPT look-ups: 64 bytes, one burst per context;
/// * source 2, MTT walks: one beat per context.
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
  localparam int unsigned AxiIdW  = CtxW + 4,
  localparam int unsigned Beats   = MptW / AxiDataW
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
  input  logic                mpt_valid_i,
  output logic                mpt_ready_o,
  input  logic [CtxW-1:0]     mpt_ctx_i,
  input  logic [63:0]         mpt_addr_i,
  output logic                mpt_r_valid_o,
  output logic                mpt_r_last_o,
  // MTT walks
  input  logic                mtt_valid_i,
  output logic                mtt_ready_o,
  input  logic [CtxW-1:0]     mtt_ctx_i,
  input  logic [63:0]         mtt_addr_i,
  output logic                mtt_r_valid_o,
  // Answer, for MPT and MTT; its context one clock ahead
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

  // ---------------------------------------------------------------------------------------------
  // Addresses: round robin over the sources into one register
  // ---------------------------------------------------------------------------------------------
  logic       ar_free, pick_any;
  logic [1:0] pick;
  logic [2:0] pick_one;

  assign ar_free = !m_axi_arvalid_o || m_axi_arready_i;
  tpt_rr_arb #(.N(3)) u_arb (
    .clk_i, .rst_ni,
    .req_i ({mtt_valid_i, mpt_valid_i, eng_valid_i}),
    .take_i(ar_free),
    .any_o (pick_any),
    .gnt_o (pick_one),
    .idx_o (pick)
  );
  assign {mtt_ready_o, mpt_ready_o, eng_ready_o} = pick_one & {3{ar_free}};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) m_axi_arvalid_o <= 1'b0;
    else if (ar_free) m_axi_arvalid_o <= pick_any;
  end
  always_ff @(posedge clk_i) begin
    if (ar_free) begin
      unique case (pick)
        SrcMtt: begin
          m_axi_arid_o   <= {gen_i, SrcMtt, mtt_ctx_i};
          m_axi_araddr_o <= mtt_addr_i;
          m_axi_arlen_o  <= '0;
        end
        SrcMpt: begin
          m_axi_arid_o   <= {gen_i, SrcMpt, mpt_ctx_i};
          m_axi_araddr_o <= mpt_addr_i;
          m_axi_arlen_o  <= 8'(Beats - 1);
        end
        default: begin
          m_axi_arid_o   <= {gen_i, SrcEng, {CtxW{1'b0}}};
          m_axi_araddr_o <= eng_addr_i;
          m_axi_arlen_o  <= 8'(Beats - 1);
        end
      endcase
    end
  end
  assign m_axi_arsize_o  = 3'($clog2(AxiDataW / 8));
  assign m_axi_arburst_o = 2'b01;

  // ---------------------------------------------------------------------------------------------
  // Answers
  // ---------------------------------------------------------------------------------------------
  logic                r_valid_q, r_last_q, r_err_q;
  logic [1:0]          r_src_q;
  logic [CtxW-1:0]     r_ctx_q;
  logic [AxiDataW-1:0] r_data_q;

  assign m_axi_rready_o = 1'b1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else r_valid_q <= m_axi_rvalid_i && m_axi_rid_i[CtxW+2 +: 2] == gen_i;
  end
  always_ff @(posedge clk_i) begin
    r_last_q <= m_axi_rlast_i;
    r_err_q  <= m_axi_rresp_i != 2'b00;  // exclusive reads are not made: EXOKAY is wrong, too
    r_src_q  <= m_axi_rid_i[CtxW +: 2];
    r_ctx_q  <= m_axi_rid_i[CtxW-1:0];
    r_data_q <= m_axi_rdata_i;
  end

  assign r_pre_ctx_o   = m_axi_rid_i[CtxW-1:0];
  assign mpt_r_valid_o = r_valid_q && r_src_q == SrcMpt;
  assign mpt_r_last_o  = r_last_q;
  assign mtt_r_valid_o = r_valid_q && r_src_q == SrcMtt;
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

  `TPT_ASSUME(MptAligned_A, !mpt_valid_i || mpt_addr_i[5:0] == '0)
  `TPT_ASSUME(MttAligned_A, !mtt_valid_i || mtt_addr_i[$clog2(AxiDataW/8)-1:0] == '0)

endmodule
