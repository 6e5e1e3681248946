// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_assert.svh"

/// Property of a valid/ready channel: what is offered stays on offer, unchanged, until it is taken.
module tpt_stream_props #(
  /// Width of the payload in bits.
  parameter int unsigned Width  = 1,
  /// The property is an assumption about the environment instead of a promise of the block.
  parameter bit          Assume = 1'b0
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] data_i
);

  logic             wait_q;
  logic [Width-1:0] data_q;
  always_ff @(posedge clk_i) begin
    wait_q <= rst_ni && valid_i && !ready_i;
    data_q <= data_i;
  end

  if (Assume) begin : g_assume
    `TPT_ASSUME(Hold_A, !wait_q || (valid_i && data_i == data_q))
  end else begin : g_assert
    `TPT_ASSERT(Hold_A, !wait_q || (valid_i && data_i == data_q))
  end

endmodule
