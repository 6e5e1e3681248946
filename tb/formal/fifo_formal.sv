// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_fifo: a word that the solver chooses as it is written comes out behind the words that were
/// stored before it and nothing else, unchanged.
module fifo_formal #(
  parameter int unsigned Depth       = 4,
  parameter bit          FallThrough = 1'b0,
  localparam int unsigned AddrW      = $clog2(Depth)
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       clear_i,
  input logic       wvalid_i,
  input logic [3:0] wdata_i,
  input logic       rready_i,
  input logic       mark_i    // follow the word that is written now
);
  `TPT_FORMAL_RESET

  logic           wready, rvalid;
  logic [3:0]     rdata;
  logic [AddrW:0] count;
  tpt_fifo #(.Width(4), .Depth(Depth), .FallThrough(FallThrough)) dut (
    .clk_i, .rst_ni, .clear_i, .wvalid_i, .wready_o(wready), .wdata_i, .rvalid_o(rvalid),
    .rready_i, .rdata_o(rdata), .count_o(count)
  );

  logic push, pop;
  assign push = wvalid_i && wready;
  assign pop  = rvalid && rready_i;

  // The marked word: is inside, its value, the words in front of it.
  logic           in_q;
  logic [3:0]     value_q;
  logic [AddrW:0] ahead_q, number_q;
  logic           through;   // written and read in the same clock
  assign through = FallThrough && number_q == '0 && pop;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      in_q     <= 1'b0;
      number_q <= '0;
    end else begin
      number_q <= number_q + (AddrW + 1)'(push) - (AddrW + 1)'(pop);
      if (in_q) begin
        if (pop && ahead_q == '0) in_q <= 1'b0;
        else if (pop) ahead_q <= ahead_q - 1'b1;
      end else if (mark_i && push && !through) begin
        in_q    <= 1'b1;
        value_q <= wdata_i;
        ahead_q <= number_q - (AddrW + 1)'(pop);
      end
    end
  end

  `TPT_ASSERT(Number_A, number_q == count)
  `TPT_ASSERT(Ready_A, wready == (number_q != (AddrW + 1)'(Depth)))
  `TPT_ASSERT(Valid_A, rvalid == (number_q != '0 || (FallThrough && wvalid_i)))
  `TPT_ASSERT(Inside_A, !in_q || ahead_q < number_q)
  `TPT_ASSERT(Order_A, !in_q || ahead_q != '0 || (rvalid && rdata == value_q))
  `TPT_ASSERT(Stored_A, !in_q || dut.mem[AddrW'(dut.rptr_q + AddrW'(ahead_q))] == value_q)
  `TPT_ASSERT(Through_A, !FallThrough || number_q != '0 || !wvalid_i || rdata == wdata_i)

  `TPT_COVER(Full_C, number_q == (AddrW + 1)'(Depth))
  `TPT_COVER(LastOut_C, in_q && pop && ahead_q == '0 && number_q == (AddrW + 1)'(Depth))
  `TPT_COVER(Both_C, push && pop && number_q != '0)
  `TPT_COVER(Wrapped_C, dut.wptr_q < dut.rptr_q)
endmodule
