// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// A counter with an assertion that its user can make fail: shows that a failed assertion fails
/// the test, with its clock and its text, and nothing else.
module tb_assert (
  input  logic        clk_i,
  input  logic        rst_ni,
  /// Added to the count in every clock.
  input  logic [7:0]  step_i,
  output logic [95:0] count_o
);

  logic [95:0] count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_q + {88'd0, step_i};
  end

  assign count_o = count_q;

  `TPT_ASSERT(StepNot13, step_i != 8'd13)

endmodule
