// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// A fence begins (the epoch changes) with a request in each stage of a client.
module cover_client (
  input logic clk_i,
  input logic rst_ni,
  input logic epoch,
  input logic enable,
  input logic reset_wish,
  input logic skid,
  input logic accepted,
  input logic in_walk,
  input logic ready_ctx,
  input logic x1,
  input logic x2,
  input logic x3,
  input logic x4,
  input logic x5,
  input logic x6,
  input logic x6_bad,
  input logic answer,
  input logic straight,
  input logic no_ctx,
  input logic old_left
);
  logic epoch_q, flip;
  always_ff @(posedge clk_i) epoch_q <= epoch;
  assign flip = epoch != epoch_q;
  `COVER(FenceWaiting_C, flip && skid)
  `COVER(FenceAccepted_C, flip && accepted)
  `COVER(FenceInWalk_C, flip && in_walk)
  `COVER(FenceReady_C, flip && ready_ctx)
  `COVER(FenceX1_C, flip && x1)
  `COVER(FenceX2_C, flip && x2)
  `COVER(FenceX3_C, flip && x3)
  `COVER(FenceX4_C, flip && x4)
  `COVER(FenceX5_C, flip && x5)
  `COVER(FenceX6_C, flip && x6)
  `COVER(FenceStraight_C, flip && straight)
  `COVER(FenceAnswer_C, flip && answer)
  `COVER(FenceOldLeft_C, flip && old_left)
  `COVER(ResetWithWalk_C, reset_wish && in_walk)
  `COVER(ResetWithAnswer_C, reset_wish && answer)
  `COVER(DisableWithWalk_C, !enable && in_walk)
  `COVER(NoContext_C, no_ctx && skid)
  `COVER(WindowRefused_C, x6 && x6_bad)
endmodule
bind tpt_client cover_client u_cover (
  .clk_i, .rst_ni, .epoch(epoch_i), .enable(enable_i), .reset_wish(reset_i), .skid(skid_valid_q),
  .accepted(t1_valid_q), .in_walk(|str_any_q), .ready_ctx(|rdy_q), .x1(x1_q.valid),
  .x2(x2_q.valid), .x3(x3_valid_q), .x4(x4_valid_q), .x5(x5_valid_q), .x6(x6_valid_q),
  .x6_bad, .answer(rsp_valid_o && !rsp_ready_i), .straight(fast), .no_ctx(starved_o),
  .old_left(!old_empty_o)
);
