// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// Fences.
module cover_fence (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       req,
  input logic       flip,
  input logic       run,
  input logic       want,
  input logic       over,
  input logic       all_empty,
  input logic [7:0] next
);
  `COVER(AskIdle_C, req && !run && !want)
  `COVER(AskRunning_C, req && run)
  `COVER(AskWanted_C, req && want)
  `COVER(AskAtFlip_C, req && flip)
  `COVER(AskAtEnd_C, req && over)
  `COVER(WaitsForOld_C, run && !all_empty)
  `COVER(NextAtOnce_C, want && over)
  `COVER(TicketWraps_C, flip && next == 8'hff)
endmodule
bind tpt_fence cover_fence u_cover (
  .clk_i, .rst_ni, .req(req_i), .flip, .run(run_q), .want(want_q), .over, .all_empty,
  .next(next_q)
);
