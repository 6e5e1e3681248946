// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_all_done: `all` once for each round of answers, never before the last one and never later
/// than a clock after it.
module all_done_formal #(
  parameter int unsigned N = 3
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [N-1:0] done_i
);
  `TPT_FORMAL_RESET

  logic [N-1:0] had;
  logic         all;
  tpt_all_done #(.N(N)) dut (.clk_i, .rst_ni, .done_i, .done_q_o(had), .all_o(all));

  // Rounds that each party has answered, and rounds that were told, modulo 4.
  logic [N-1:0][1:0] answers_q;
  logic [1:0]        told_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      answers_q <= '0;
      told_q    <= '0;
    end else begin
      for (int unsigned n = 0; n < N; n++) answers_q[n] <= answers_q[n] + 2'(done_i[n]);
      told_q <= told_q + 2'(all);
    end
  end
  // A party is not asked again before `all`.
  `TPT_ASSUME(Asked_A, !all || done_i == '0)
  for (genvar n = 0; n < N; n++) begin : g_one
    `TPT_ASSERT(Had_A, answers_q[n] == told_q + 2'(had[n]))
  end
  `TPT_ASSERT(All_A, all == (had == '1))

  `TPT_COVER(Twice_C, told_q == 2'd2)
  `TPT_COVER(AtOnce_C, all && told_q == 2'd1)
endmodule
