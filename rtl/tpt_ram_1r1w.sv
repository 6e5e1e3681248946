// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Synchronous RAM with one write and one read port, the only place where block RAM is inferred.
///
/// Read latency is 1 clock, or 2 with `OutReg` (the output register of the block RAM). A read of
/// the address written in the same clock returns the old word. Contents are not reset.
module tpt_ram_1r1w #(
  /// Word width in bits.
  parameter int unsigned Width  = 32,
  /// Number of words, at least 2.
  parameter int unsigned Depth  = 512,
  /// Use the output register.
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
  logic [Width-1:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
    rdata_q <= mem[raddr_i];
  end

  if (OutReg) begin : g_out_reg
    logic [Width-1:0] out_q;
    always_ff @(posedge clk_i) out_q <= rdata_q;
    assign rdata_o = out_q;
  end else begin : g_no_out_reg
    assign rdata_o = rdata_q;
  end

endmodule
