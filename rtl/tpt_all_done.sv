// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Several parties that each answer one request with one clock of done: when have all of them?
///
/// A party whose `done_q_o` is set has answered and must not be asked again until `all_o`, which is
/// high in the clock after the last answer and begins anew.
module tpt_all_done #(
  /// Number of parties.
  parameter int unsigned N = 2
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  /// One clock each.
  input  logic [N-1:0] done_i,
  /// Who has answered in an earlier clock.
  output logic [N-1:0] done_q_o,
  /// All have answered, one clock.
  output logic         all_o
);

  assign all_o = &done_q_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || all_o) done_q_o <= '0;
    else done_q_o <= done_q_o | done_i;
  end

  `TPT_ASSUME(DoneOnce_A, (done_i & done_q_o) == '0)

endmodule
