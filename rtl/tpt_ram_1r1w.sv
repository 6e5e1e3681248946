// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Synchronous RAM with one write and one read port, the only place where block RAM is inferred.
///
/// Read latency is 1 clock, or 2 with `OutReg` (the output register of the block RAM). A read of
/// the address written in the same clock returns the old word; with `OutReg` it depends on the
/// depth whether a write in the clock behind that one is seen. Contents are not reset.
module tpt_ram_1r1w #(
  /// Word width in bits.
  parameter int unsigned Width  = 32,
  /// Number of words, at least 2.
  parameter int unsigned Depth  = 512,
  /// Use the output register. RAMs of at most 64 words register the address instead of the word.
  parameter bit          OutReg = 1'b0,
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic             clk_i,
  // write
  input  logic             we_i,
  input  logic [AddrW-1:0] waddr_i,
  input  logic [Width-1:0] wdata_i,
  // read
  input  logic [AddrW-1:0] raddr_i,
  output logic [Width-1:0] rdata_o
);

  if (Depth < 2) begin : g_bad_depth
    $fatal(1, "tpt_ram_1r1w: Depth must be at least 2");
  end

  logic [Width-1:0] mem [Depth];

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
  end

  if (OutReg && Depth <= 64) begin : g_addr_reg
    // Distributed RAM: a register of the address is narrower than one of the word.
    logic [AddrW-1:0] raddr_q;
    logic [Width-1:0] out_q;
    always_ff @(posedge clk_i) begin
      raddr_q <= raddr_i;
      out_q   <= mem[raddr_q];
    end
    assign rdata_o = out_q;
  end else if (OutReg) begin : g_out_reg
    logic [Width-1:0] rdata_q, out_q;
    always_ff @(posedge clk_i) begin
      rdata_q <= mem[raddr_i];
      out_q   <= rdata_q;
    end
    assign rdata_o = out_q;
  end else begin : g_no_out_reg
    logic [Width-1:0] rdata_q;
    always_ff @(posedge clk_i) rdata_q <= mem[raddr_i];
    assign rdata_o = rdata_q;
  end

endmodule
