// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Functional cover points of the RTL's insides, for `make coverage`: bound to the blocks, so that
// what is built, proved and synthesised does not know of them. A point is counted over all
// instances of its block.

`ifndef TPT_COVER_SVH
`define TPT_COVER_SVH

`define COVER(name, expr) \
  name: cover property (@(posedge clk_i) (rst_ni && (expr)));

`endif
