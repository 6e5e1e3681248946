// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

// Assertion macros. Properties are boolean expressions checked at every rising edge of clk_i
// outside reset, so that Verilator, Yosys (formal) and linters read the same text.
//
//   TPT_ASSERT(name, expr)  the block promises expr
//   TPT_ASSUME(name, expr)  the block's user promises expr (an assumption in formal runs)
//   TPT_COVER(name, expr)   expr should be reachable
//
// They are on in simulation and in formal runs (FORMAL) and vanish in synthesis.
//
// For Verilator they are immediate: inputs only change while the clock is low, so the values at the
// edge are the sampled ones, and the copies of all signals in every evaluation that concurrent
// assertions need would cost a sixth of the speed.

`ifndef TPT_ASSERT_SVH
`define TPT_ASSERT_SVH

`ifdef FORMAL
`define TPT_ASSERT(name, expr) \
  always @(posedge clk_i) if (rst_ni) begin name: assert (expr); end
`define TPT_ASSUME(name, expr) \
  always @(posedge clk_i) if (rst_ni) begin name: assume (expr); end
`define TPT_COVER(name, expr) \
  always @(posedge clk_i) if (rst_ni) begin name: cover (expr); end
`elsif SYNTHESIS
`define TPT_ASSERT(name, expr)
`define TPT_ASSUME(name, expr)
`define TPT_COVER(name, expr)
`elsif VERILATOR
`define TPT_ASSERT(name, expr) \
  always @(posedge clk_i) \
    if (rst_ni) begin name: assert (expr) else $error("%m: assertion failed"); end
`define TPT_ASSUME(name, expr) \
  always @(posedge clk_i) \
    if (rst_ni) begin name: assert (expr) else $error("%m: assumption of the user violated"); end
`define TPT_COVER(name, expr) \
  name: cover property (@(posedge clk_i) (rst_ni && (expr)));
`else
`define TPT_ASSERT(name, expr) \
  name: assert property (@(posedge clk_i) disable iff (!rst_ni) (expr)) \
    else $error("%m: assertion failed");
`define TPT_ASSUME(name, expr) \
  name: assert property (@(posedge clk_i) disable iff (!rst_ni) (expr)) \
    else $error("%m: assumption of the user violated");
`define TPT_COVER(name, expr) \
  name: cover property (@(posedge clk_i) (rst_ni && (expr)));
`endif

`endif
