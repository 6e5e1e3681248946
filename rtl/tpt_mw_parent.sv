// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Second look-up of requests whose key names a window: the parent region.
///
/// What the second look-up needs is kept per context when the window's entry comes out of the first
/// one: operation and length, the address in the parent's terms, and the parent as the entry names
/// it. When the check has found that the window's own rules hold, the request is put into the
/// pipeline again, as a request whose key is {index field of the parent's L_Key, generation that
/// was bound}.
///
/// Latency: 2 clocks from `again_valid_i` to `valid_q_o`, one request per clock, never stalled.
module tpt_mw_parent
  import tpt_pkg::*;
#(
  /// Number of contexts, a power of two.
  parameter int unsigned NumCtx = 16,
  localparam int unsigned CtxW  = $clog2(NumCtx)
) (
  input  logic            clk_i,
  input  logic            rst_ni,

  /// Request with the entry of its own key.
  input  logic            entry_valid_i,
  input  logic [CtxW-1:0] entry_ctx_i,
  input  req_t            entry_req_i,
  input  mpt_entry_t      entry_i,

  /// It is a window whose rules hold.
  input  logic            again_valid_i,
  input  logic [CtxW-1:0] again_ctx_i,

  /// Request for the parent, taken at once.
  output logic            valid_q_o,
  output logic [CtxW-1:0] ctx_q_o,
  output req_t            req_o
);

  if (NumCtx < 2 || (NumCtx & (NumCtx - 1)) != 0) begin : g_bad_ctx
    $fatal(1, "tpt_mw_parent: NumCtx must be a power of two, at least 2");
  end

  typedef struct packed {
    logic [2:0]  op;
    logic [31:0] len;
    logic [63:0] va;
    logic [31:0] key;  // index field of the parent's L_Key, generation that was bound
  } keep_t;

  // A clock later, with the address: a zero-based window counts from its start.
  logic            keep_valid_q;
  logic [CtxW-1:0] keep_ctx_q;
  keep_t           keep_q, par;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) keep_valid_q <= 1'b0;
    else keep_valid_q <= entry_valid_i;
  end
  always_ff @(posedge clk_i) begin
    keep_ctx_q <= entry_ctx_i;
    keep_q.op  <= entry_req_i.op;
    keep_q.len <= entry_req_i.len;
    keep_q.va  <= entry_req_i.va + (entry_i.access[AccZeroBased] ? entry_i.start : 64'd0);
    keep_q.key <= {entry_i.frame[0][FieldW-1:0], entry_i.frame[0][FieldW+GenW-1:FieldW]};
  end

  // One a clock comes and one a clock leaves.
  logic again_valid_q;
  logic [CtxW-1:0] again_ctx_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      again_valid_q <= 1'b0;
      valid_q_o     <= 1'b0;
    end else begin
      again_valid_q <= again_valid_i;
      valid_q_o     <= again_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    again_ctx_q <= again_ctx_i;
    ctx_q_o     <= again_ctx_q;
  end

  tpt_ram_1r1w #(.Width($bits(keep_t)), .Depth(NumCtx)) u_keep (
    .clk_i,
    .we_i   (keep_valid_q),
    .waddr_i(keep_ctx_q),
    .wdata_i(keep_q),
    .raddr_i(again_ctx_q),
    .rdata_o(par)
  );

  always_comb begin
    req_o     = '0;
    req_o.op  = par.op;
    req_o.len = par.len;
    req_o.va  = par.va;
    req_o.key = par.key;
  end

  logic unused;
  assign unused = ^{entry_req_i, entry_i};

  // The entry is out of the pipeline for longer than it takes to keep what is needed.
  `TPT_ASSERT(Kept_A, !again_valid_i || !keep_valid_q || keep_ctx_q != again_ctx_i)

endmodule
