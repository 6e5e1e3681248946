// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_refusal_timer: every verdict that goes in comes out once, with its syndrome. One that is
/// held comes out exactly `clocks_i` clocks after the request of its context came. What is not held
/// comes out in its order, at once unless one that is due takes the clock. A verdict that should be
/// held is late, passes and is told exactly if less than three clocks are left, however long ago
/// its request came.
///
/// The wheel is made small. Assumed: requests and verdicts take turns for each context, and a
/// context has its next request after its verdict has come out.
module refusal_timer_formal #(
  parameter int unsigned NumCtx = 2,
  parameter int unsigned TimeW  = 3,
  localparam int unsigned CtxW  = $clog2(NumCtx),
  localparam int unsigned AgeW  = TimeW + 3,
  // numbers as wide as an age and a bit more
  localparam logic [AgeW:0] One   = 1,
  localparam logic [AgeW:0] Two   = 2,
  localparam logic [AgeW:0] Three = 3,
  localparam logic [AgeW:0] Round = 1 << TimeW
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [TimeW-1:0] clocks_i,
  input logic             req_valid_i,
  input logic [CtxW-1:0]  req_ctx_i,
  input logic             dir_valid_i,
  input logic [CtxW-1:0]  dir_ctx_i,
  input logic [4:0]       dir_syndrome_i,
  input logic             dir_hold_i
);
  `TPT_FORMAL_RESET

  logic            valid, late;
  logic [CtxW-1:0] ctx;
  logic [4:0]      syndrome;
  tpt_refusal_timer #(.NumCtx(NumCtx), .TimeW(TimeW)) dut (
    .clk_i, .rst_ni, .clocks_i, .req_valid_i, .req_ctx_i, .dir_valid_i, .dir_ctx_i,
    .dir_syndrome_i, .dir_hold_i, .dir_valid_o(valid), .dir_ctx_o(ctx),
    .dir_syndrome_o(syndrome), .ev_late_o(late)
  );

  // Each context: nothing inside, a request, a verdict that is held, or one that passes.
  typedef enum logic [1:0] {
    None,
    Asked,
    Held,
    Passes
  } state_e;
  logic [NumCtx-1:0][1:0]      state_q;
  logic [NumCtx-1:0][AgeW-1:0] age_q;    // clocks since its request, stays at its end
  logic [NumCtx-1:0][4:0]      syn_q;
  logic [NumCtx-1:0][CtxW-1:0] pos_q;    // of those that pass: how many are ahead
  logic                        hold;     // by the rule: three clocks are left
  logic                        due;      // one that is held has to come out now
  logic [CtxW:0]               number;   // of those that pass
  assign hold = dir_valid_i && dir_hold_i && clocks_i != '0 &&
                {1'b0, age_q[dir_ctx_i]} + Three <= (AgeW + 1)'(clocks_i);
  always_comb begin
    due    = 1'b0;
    number = '0;
    for (int unsigned c = 0; c < NumCtx; c++) begin
      if (state_q[c] == Held && age_q[c] == AgeW'(clocks_i)) due = 1'b1;
      if (state_q[c] == Passes) number = number + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= '0;
    end else begin
      for (int unsigned c = 0; c < NumCtx; c++) begin
        if (age_q[c] != '1) age_q[c] <= age_q[c] + 1'b1;
        if (state_q[c] == Passes && !due) pos_q[c] <= pos_q[c] - 1'b1;
      end
      if (dir_valid_i) begin
        state_q[dir_ctx_i] <= hold ? Held : Passes;
        syn_q[dir_ctx_i]   <= dir_syndrome_i;
        pos_q[dir_ctx_i]   <= CtxW'(number - (CtxW + 1)'(!due && number != '0));
      end
      if (valid) state_q[ctx] <= None;
      if (req_valid_i) begin
        state_q[req_ctx_i] <= Asked;
        age_q[req_ctx_i]   <= AgeW'(1);
      end
    end
  end
  `TPT_ASSUME(ReqFree_A, !req_valid_i || state_q[req_ctx_i] == None)
  `TPT_ASSUME(DirAsked_A, !dir_valid_i || state_q[dir_ctx_i] == Asked)
  logic [TimeW-1:0] was_clocks_q;
  always_ff @(posedge clk_i) was_clocks_q <= clocks_i;
  `TPT_ASSUME(Clocks_A, state_q == '0 || clocks_i == was_clocks_q)

  // Out come only verdicts that are inside, or go in now, as they went in.
  `TPT_ASSERT(OutOnce_A, !valid || state_q[ctx] == Held || state_q[ctx] == Passes ||
                         (dir_valid_i && dir_ctx_i == ctx && !hold))
  `TPT_ASSERT(OutSyndrome_A, !valid || syndrome ==
                             ((dir_valid_i && dir_ctx_i == ctx) ? dir_syndrome_i : syn_q[ctx]))
  // A held one comes out at its clock, neither earlier nor later.
  for (genvar c = 0; c < NumCtx; c++) begin : g_ctx
    logic out;
    assign out = valid && 32'(ctx) == c;
    `TPT_ASSERT(AtTime_A, state_q[c] != Held || out == (age_q[c] == AgeW'(clocks_i)))
    `TPT_ASSERT(NotOver_A, state_q[c] != Held || age_q[c] <= AgeW'(clocks_i))
    // One that passes goes unless one that is due takes the clock, or others are ahead.
    `TPT_ASSERT(InOrder_A, state_q[c] != Passes || out == (!due && pos_q[c] == '0))
    `TPT_ASSERT(Stored_A, state_q[c] != Passes || ({1'b0, pos_q[c]} < number &&
                dut.u_pass.mem[CtxW'(dut.u_pass.rptr_q + pos_q[c])] == {CtxW'(c), syn_q[c]}))
    `TPT_ASSERT(Age_A, state_q[c] == None || age_q[c] != '0)
    `TPT_ASSERT(HeldQ_A, dut.held_q[c] == (state_q[c] == Held))
    `TPT_ASSERT(HeldSyn_A, state_q[c] != Held || dut.syn_mem[c] == syn_q[c])
    // The marks of age, and what follows for the time.
    logic [AgeW:0] low, age;
    assign low = (AgeW + 1)'(dut.now_q[TimeW-1:0]);
    assign age = {1'b0, age_q[c]};
    `TPT_ASSERT(Young_A, state_q[c] == None || dut.old_q[c] || age <= low + One)
    `TPT_ASSERT(Old_A, state_q[c] == None || !dut.old_q[c] || dut.older_q[c] ||
                       (age >= low + Two && age <= low + One + Round))
    `TPT_ASSERT(Older_A, state_q[c] == None || !dut.older_q[c] ||
                         (dut.old_q[c] && age >= low + Two + Round))
    `TPT_ASSERT(Due_A, state_q[c] == None || dut.older_q[c] ||
                       (TimeW + 2)'(dut.due_mem[c] - dut.now_q) ==
                       (TimeW + 2)'(clocks_i) - (TimeW + 2)'(age_q[c]))
    `TPT_ASSERT(Wheel_A, state_q[c] != Held || age_q[c] >= AgeW'(clocks_i) ||
                         32'(dut.u_wheel.mem[dut.due_mem[c][TimeW-1:0]]) == c)
    `TPT_ASSERT(Read_A, state_q[c] != Held || age_q[c] != AgeW'(clocks_i) || 32'(dut.go_ctx) == c)
    for (genvar d = 0; d < c; d++) begin : g_other
      // so their places in the wheel differ
      `TPT_ASSERT(OneDue_A, state_q[c] == None || state_q[d] == None || dut.older_q[c] ||
                            dut.older_q[d] || dut.due_mem[c] != dut.due_mem[d])
      `TPT_ASSERT(OneReq_A, state_q[c] == None || state_q[d] == None || age_q[c] != age_q[d] ||
                            age_q[c] == '1)
      `TPT_ASSERT(Differ_A, state_q[c] != Passes || state_q[d] != Passes || pos_q[c] != pos_q[d])
    end
  end
  `TPT_ASSERT(ThroughNow_A, !dir_valid_i || hold || due || number != '0 ||
                            (valid && ctx == dir_ctx_i))
  `TPT_ASSERT(Number_A, dut.u_pass.count_q == number)
  `TPT_ASSERT(Clocks2_A, dut.go == due)

  // Late exactly if less than three clocks are left.
  `TPT_ASSERT(Late_A, late == (dir_valid_i && dir_hold_i && clocks_i != '0 && !hold))
  `TPT_ASSERT(Long_A, !dir_valid_i || !dir_hold_i || clocks_i == '0 ||
                      {1'b0, age_q[dir_ctx_i]} <= Round || late)

  `TPT_COVER(Held_C, state_q[0] == Held && state_q[1] == Held && due)
  `TPT_COVER(Longest_C, due && clocks_i == '1)
  `TPT_COVER(Waits_C, due && state_q[0] == Passes && state_q[1] == Held)
  `TPT_COVER(Late_C, late && !due && {1'b0, age_q[dir_ctx_i]} + Two == (AgeW + 1)'(clocks_i))
  `TPT_COVER(Older_C, late && dut.older_q[dir_ctx_i])
  `TPT_COVER(Through_C, valid && number == '0 && !due && state_q[1] == Held)
endmodule
