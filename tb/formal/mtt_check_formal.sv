// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_mtt_check: an entry that is right for its place is not right any more with one or two
/// changed bits, nor at a place whose number differs in one or two bits.
///
/// The check is linear, so a good entry and its place are left out of the difference: `diff` is
/// what was changed, and the check of the difference of places stands for `place_i`.
module mtt_check_formal import tpt_pkg::*; #(
  parameter int unsigned LineEnt = 2,
  localparam int unsigned LineLog = $clog2(LineEnt)
) (
  input logic                       clk_i,
  input logic                       rst_ni,
  input logic [6:0]                 a_i,
  input logic [6:0]                 b_i,
  input logic [LineEnt-1:0][63:0]   entry_i,
  input logic [CheckW-1:0]          place_check_i
);
  `TPT_FORMAL_RESET

  // Bits 63:0: of the entry; from 64 on: of its place.
  localparam int unsigned AllW = 64 + PlaceW;
  logic [AllW-1:0] diff;
  assign diff = (AllW'(1) << a_i) | (AllW'(1) << b_i);

  // The sum that is compared, for the difference: what the check adds of content and place.
  logic [CheckW-1:0]   sum, found;
  logic [CheckedW-1:0] content;
  logic [PlaceW-1:0]   place;
  localparam mtt_map_t Map = mtt_check_map();
  always_comb begin
    content = {diff[12+:CheckedAddrW], diff[1:0]};
    found   = {diff[62:52], diff[11:2]};
    place   = diff[64+:PlaceW];
    for (int unsigned o = 0; o < CheckW; o++) begin
      sum[o] = (^(content & Map[o][CheckedW-1:0])) ^ (^(place & Map[o][CheckedW+:PlaceW]));
    end
  end
  `TPT_ASSUME(Inside_A, 32'(a_i) < AllW && 32'(b_i) < AllW)
  `TPT_ASSERT(Detected_A, sum != found || (^diff[63:0]))

  // The block judges with that sum: entry, place and what follows from them.
  logic [CheckW-1:0]               place_out;
  logic [LineEnt-1:0]              bad;
  logic [IndexW-1:0]               index;
  logic [PageIdxW-1:LineLog]       line;
  logic [2:0]                      lvl;
  logic [LineLog-1:0]              unused_number;
  // one bit of the place at a time
  assign {index, line, unused_number, lvl} = PlaceW'(1) << (a_i % 7'(PlaceW));
  tpt_mtt_check #(.LineEnt(LineEnt)) dut (
    .index_i(index), .line_i(line), .lvl_i(lvl), .place_o(place_out),
    .entry_i, .place_i(place_check_i), .bad_o(bad)
  );
  logic [CheckW-1:0] want_place;
  logic [PlaceW-1:0] dut_place;
  assign dut_place = mtt_place(index, {line, {LineLog{1'b0}}}, lvl);
  always_comb begin
    for (int unsigned o = 0; o < CheckW; o++) begin
      want_place[o] = ^(dut_place & Map[o][CheckedW+:PlaceW]);
    end
  end
  `TPT_ASSERT(Place_A, place_out == want_place)
  // Two different numbers in a line cannot both be right, and what is not present, has an even
  // parity or no address is never good.
  for (genvar j = 0; j < LineEnt; j++) begin : g_entry
    `TPT_ASSERT(Good_A, bad[j] || (entry_i[j][0] && (^entry_i[j]) &&
                                   entry_i[j][12+:CheckedAddrW] != '0))
    `TPT_COVER(Good_C, !bad[j])
    for (genvar k = 0; k < j; k++) begin : g_other
      `TPT_ASSERT(Moved_A, entry_i[j] != entry_i[k] || bad[j] || bad[k])
    end
  end
  `TPT_COVER(Two_C, a_i != b_i && sum != found)
endmodule
