// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// First-in first-out queue in distributed RAM. The head is visible without a clock of delay.
///
/// `wready_o` and `rvalid_o` come from registers only. Writing while full or reading while empty
/// is an error of the user and is asserted.
module tpt_fifo #(
  /// Word width in bits.
  parameter int unsigned Width = 8,
  /// Number of words, a power of two, at least 2.
  parameter int unsigned Depth = 16,
  /// A word that finds the queue empty is on offer in the clock in which it is written.
  parameter bit          FallThrough = 1'b0,
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// Drop everything.
  input  logic             clear_i,
  // write
  input  logic             wvalid_i,
  output logic             wready_o,
  input  logic [Width-1:0] wdata_i,
  // read
  output logic             rvalid_o,
  input  logic             rready_i,
  output logic [Width-1:0] rdata_o,
  /// Words stored.
  output logic [AddrW:0]   count_o
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : g_bad_depth
    $fatal(1, "tpt_fifo: Depth must be a power of two, at least 2");
  end

  logic [Width-1:0] mem [Depth];
  logic [AddrW-1:0] wptr_q, rptr_q;
  logic [AddrW:0]   count_q;
  logic             push, pop;

  assign wready_o = !count_q[AddrW];
  assign count_o  = count_q;
  if (FallThrough) begin : g_fall_through
    logic empty;
    assign empty    = count_q == '0;
    assign rvalid_o = !empty || wvalid_i;
    assign rdata_o  = empty ? wdata_i : mem[rptr_q];
    assign push     = wvalid_i && wready_o && !(empty && rready_i);
    assign pop      = !empty && rready_i;
  end else begin : g_stored
    assign rvalid_o = count_q != '0;
    assign rdata_o  = mem[rptr_q];
    assign push     = wvalid_i && wready_o;
    assign pop      = rvalid_o && rready_i;
  end

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q] <= wdata_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      wptr_q  <= '0;
      rptr_q  <= '0;
      count_q <= '0;
    end else begin
      if (push) wptr_q <= wptr_q + 1'b1;
      if (pop) rptr_q <= rptr_q + 1'b1;
      // both sums are there before it is known which one is wanted
      if (push && !pop) count_q <= count_q + 1'b1;
      if (pop && !push) count_q <= count_q - 1'b1;
    end
  end

  `TPT_ASSERT(CountInRange_A, count_q <= (AddrW + 1)'(Depth))
  `TPT_ASSERT(PtrMatchesCount_A, AddrW'(wptr_q - rptr_q) == count_q[AddrW-1:0])

endmodule
