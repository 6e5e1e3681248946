// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// Queues between the blocks.
module cover_fifo #(
  parameter int unsigned CountW = 1,
  parameter int unsigned Depth  = 1
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [CountW-1:0] count,
  input logic              push,
  input logic              pop,
  input logic              clear
);
  `COVER(FifoEmpty_C, count == '0)
  `COVER(FifoOne_C, count == CountW'(1))
  `COVER(FifoFull_C, count == CountW'(Depth))
  `COVER(FifoPush_C, push && !pop)
  `COVER(FifoPop_C, pop && !push)
  `COVER(FifoBoth_C, push && pop)
  `COVER(FifoFullPop_C, pop && count == CountW'(Depth))
  `COVER(FifoClearFilled_C, clear && count != '0)
endmodule
bind tpt_fifo cover_fifo #(.CountW(AddrW + 1), .Depth(Depth)) u_cover (
  .clk_i, .rst_ni, .count(count_q), .push, .pop, .clear(clear_i)
);
