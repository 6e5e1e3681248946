// SPDX-License-Identifier: Apache-2.0
// Cells of the ECP5 for `techmap`, in place of those models of Yosys that would make a large model:
// a look-up table is one shift of a constant instead of a chain of multiplexers, a distributed RAM
// is not filled when it starts, since the RTL's are not either.
module LUT4(input A, B, C, D, output Z);
  parameter [15:0] INIT = 0;
  \$lut #(.WIDTH(4), .LUT(INIT)) _TECHMAP_REPLACE_ (.A({D, C, B, A}), .Y(Z));
endmodule

module LUT2(input A, B, output Z);
  parameter [3:0] INIT = 0;
  \$lut #(.WIDTH(2), .LUT(INIT)) _TECHMAP_REPLACE_ (.A({B, A}), .Y(Z));
endmodule

module TRELLIS_DPR16X4(
  input [3:0] DI, WAD, RAD, input WRE, WCK, output [3:0] DO
);
  parameter WCKMUX = "WCK";
  parameter WREMUX = "WRE";
  parameter [63:0] INITVAL = 0;
  reg [3:0] mem [0:15];
  always @(posedge WCK) if (WRE) mem[WAD] <= DI;
  assign DO = mem[RAD];
  generate
    if (WCKMUX != "WCK" || WREMUX != "WRE") wire _TECHMAP_FAIL_ = 1;
  endgenerate
endmodule
