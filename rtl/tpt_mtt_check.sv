// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Check bits of table entries in the encoding CHECKED (see tpt_pkg and docs/formats.md): each bit
/// is the parity of some bits of place, address and flags. No register.
///
/// The check is linear: that of a line's place is made once, and what the number of an entry inside
/// its line adds is a constant.
module tpt_mtt_check
  import tpt_pkg::*;
#(
  /// Entries of a line, a power of two, 2 to 8.
  parameter int unsigned LineEnt = 2,
  localparam int unsigned LineLog = $clog2(LineEnt)
) (
  /// Place of the first entry of a line, and the check of it alone.
  input  logic [IndexW-1:0]         index_i,
  input  logic [PageIdxW-1:LineLog] line_i,
  input  logic [2:0]                lvl_i,
  output logic [CheckW-1:0]         place_o,
  /// The line, and the check of its place: which entries are not what was made for this place.
  input  logic [LineEnt-1:0][63:0]  entry_i,
  input  logic [CheckW-1:0]         place_i,
  output logic [LineEnt-1:0]        bad_o
);

  localparam mtt_map_t Map = mtt_check_map();

  logic [PlaceW-1:0] place;
  assign place = mtt_place(index_i, {line_i, {LineLog{1'b0}}}, lvl_i);
  for (genvar o = 0; o < CheckW; o++) begin : g_place
    assign place_o[o] = ^(place & Map[o][CheckedW+:PlaceW]);
  end

  for (genvar j = 0; j < LineEnt; j++) begin : g_entry
    localparam logic [PlaceW-1:0] Number = mtt_place('0, PageIdxW'(j), '0);
    logic [CheckedW-1:0] content;
    logic [CheckW-1:0]   check, found;
    assign content = {entry_i[j][12+:CheckedAddrW], entry_i[j][1:0]};
    assign found   = {entry_i[j][62:52], entry_i[j][11:2]};
    for (genvar o = 0; o < CheckW; o++) begin : g_bit
      assign check[o] = (^(content & Map[o][CheckedW-1:0])) ^
                        (^(Number & Map[o][CheckedW+:PlaceW]));
    end
    assign bad_o[j] = ((check ^ place_i) != found) || !(^entry_i[j]) || !entry_i[j][0] ||
                      (entry_i[j][12+:CheckedAddrW] == '0);
  end

endmodule
