// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Refusals of peers leave at a fixed time after their request came into the lane, so that the
/// time of an answer does not tell which rule refused it, nor what was in a cache.
///
///   request ──► time of the context
///   refusal ──► time there? no ─► wheel[time + clocks] ─► that clock comes ─┐
///                   └─ yes: late                                            ▼
///   other verdicts ───────────────────────────────► queue ──────────────► verdict
///
/// A lane takes one request per clock, so no two refusals are due in the same clock. The wheel is a
/// RAM with a place for each clock of `TimeW` bits; it is never cleared: what is read from it
/// counts only if that context is held, and due in this very clock.
///
/// Refusals that are not held (`hold_i` = 0, or late) and answers of empty requests pass straight
/// on, unless one that is due leaves in the same clock: then they wait for the next clock in which
/// none does.
///
/// Latency: none for what is not held. A refusal is late if it comes less than `Margin` clocks
/// before it is due; it passes straight on and is told. Throughput: one verdict per clock.
module tpt_refusal_timer #(
  /// Number of contexts, a power of two.
  parameter int unsigned NumCtx = 16,
  /// Bits of the time.
  parameter int unsigned TimeW  = 12,
  localparam int unsigned CtxW  = $clog2(NumCtx)
) (
  /// Clock, and synchronous active-low reset.
  input  logic             clk_i,
  input  logic             rst_ni,

  /// Clocks from a request to its refusal, constant while requests are inside; 0: hold nothing.
  input  logic [TimeW-1:0] clocks_i,

  /// A request comes into the lane.
  input  logic             req_valid_i,
  input  logic [CtxW-1:0]  req_ctx_i,

  /// Verdict of the check, and whether it has to be held.
  input  logic             dir_valid_i,
  input  logic [CtxW-1:0]  dir_ctx_i,
  input  logic [4:0]       dir_syndrome_i,
  input  logic             dir_hold_i,

  /// Verdict for the client.
  output logic             dir_valid_o,
  output logic [CtxW-1:0]  dir_ctx_o,
  output logic [4:0]       dir_syndrome_o,

  /// A refusal that should have been held was late.
  output logic             ev_late_o
);

  if (NumCtx < 2 || (NumCtx & (NumCtx - 1)) != 0) begin : g_bad_ctx
    $fatal(1, "tpt_refusal_timer: NumCtx must be a power of two, at least 2");
  end

  /// Clocks that a refusal must come before it is due: the wheel is written, then read.
  localparam int unsigned Margin = 3;

  // The time, two bits longer than the wheel; and marks of age. A context has one mark when the
  // wheel has come to its start once since its request came, and the second one when it has done so
  // twice: then its request is older than the wheel is long. With one mark it is at most twice as
  // old, so its time is not mistaken.
  localparam int unsigned NowW = TimeW + 2;
  logic [NowW-1:0]   now_q;
  logic [NumCtx-1:0] old_q, older_q, held_q;
  logic              turn;
  assign turn = (now_q[TimeW-1:0] == '1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) now_q <= '0;
    else now_q <= now_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      old_q   <= '0;
      older_q <= '0;
    end else begin
      if (turn) begin
        old_q   <= '1;
        older_q <= old_q;
      end
      if (req_valid_i) begin
        old_q[req_ctx_i]   <= 1'b0;
        older_q[req_ctx_i] <= 1'b0;
      end
    end
  end

  // When a context's request came: then it is due so many clocks later.
  logic [NowW-1:0] due_mem [NumCtx];
  logic [4:0]      syn_mem [NumCtx];
  logic [NowW-1:0] due, left;
  logic            hold, late;
  always_ff @(posedge clk_i) begin
    if (req_valid_i) due_mem[req_ctx_i] <= now_q + NowW'(clocks_i);
  end
  assign due  = due_mem[dir_ctx_i];
  assign left = due - now_q;
  assign late = older_q[dir_ctx_i] || left[NowW-1] || left < NowW'(Margin);
  assign hold = dir_valid_i && dir_hold_i && (clocks_i != '0) && !late;
  assign ev_late_o = dir_valid_i && dir_hold_i && (clocks_i != '0) && late;

  // The wheel: read a clock ahead.
  logic            go;
  logic [CtxW-1:0] go_ctx;
  tpt_ram_1r1w #(.Width(CtxW), .Depth(1 << TimeW)) u_wheel (
    .clk_i,
    .we_i   (hold),
    .waddr_i(due[TimeW-1:0]),
    .wdata_i(dir_ctx_i),
    .raddr_i(now_q[TimeW-1:0] + TimeW'(1)),
    .rdata_o(go_ctx)
  );
  assign go = held_q[go_ctx] && due_mem[go_ctx] == now_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q <= '0;
    end else begin
      if (go) held_q[go_ctx] <= 1'b0;
      if (hold) held_q[dir_ctx_i] <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (hold) syn_mem[dir_ctx_i] <= dir_syndrome_i;
  end

  // What passes, behind what is due.
  logic            pass_valid, pass_room;
  logic [CtxW-1:0] pass_ctx;
  logic [4:0]      pass_syn;
  logic [CtxW:0]   unused_cnt;
  tpt_fifo #(.Width(CtxW + 5), .Depth(NumCtx), .FallThrough(1'b1)) u_pass (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(dir_valid_i && !hold), .wready_o(pass_room), .wdata_i({dir_ctx_i, dir_syndrome_i}),
    .rvalid_o(pass_valid), .rready_i(!go), .rdata_o({pass_ctx, pass_syn}), .count_o(unused_cnt)
  );

  assign dir_valid_o    = go || pass_valid;
  assign dir_ctx_o      = go ? go_ctx : pass_ctx;
  assign dir_syndrome_o = go ? syn_mem[go_ctx] : pass_syn;

  `TPT_ASSERT(PassRoom_A, !(dir_valid_i && !hold) || pass_room)
  // a context is held once, and until it is due
  `TPT_ASSERT(HeldOnce_A, !dir_valid_i || !held_q[dir_ctx_i])
  `TPT_ASSERT(HeldStays_A, !req_valid_i || !held_q[req_ctx_i])

endmodule
