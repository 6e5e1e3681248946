// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

// What every formal top begins with. Reset in the first clock, and at any time after that; the
// solver chooses everything else.

`ifndef TPT_FORMAL_SVH
`define TPT_FORMAL_SVH

`include "tpt_assert.svh"

`define TPT_FORMAL_RESET \
  logic init_q = 1'b0; \
  always_ff @(posedge clk_i) init_q <= 1'b1; \
  always @(posedge clk_i) begin ResetFirst_A: assume (init_q || !rst_ni); end

`endif
