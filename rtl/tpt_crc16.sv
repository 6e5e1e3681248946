// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// CRC-16 of the MPT entry over one word: polynomial, order of bits and bytes as `crc16_step` of
/// tpt_pkg.
///
/// The CRC is linear. After a word it is `turn_o` (of the CRC before) ^ `fold_o` (of the word);
/// each bit of both is the parity of some input bits, which are computed here, so that it becomes
/// a balanced tree. No register.
module tpt_crc16 #(
  /// Width of the word, a multiple of 16.
  parameter int unsigned DataW = 64
) (
  /// Word, first byte lowest.
  input  logic [DataW-1:0] data_i,
  /// CRC of a message that is this word.
  output logic [15:0]      fold_o,
  /// CRC of what comes before, and the same behind a word of 0.
  input  logic [15:0]      crc_i,
  output logic [15:0]      turn_o
);

  if (DataW < 16 || DataW % 16 != 0) begin : g_bad_width
    $fatal(1, "tpt_crc16: DataW must be a multiple of 16");
  end

  // Bit n of the message, the first one last, adds x^(16 + n) modulo the polynomial.
  typedef logic [15:0][DataW-1:0] map_t;
  function automatic map_t make_map();
    map_t        m;
    logic [15:0] weight;
    int unsigned t;
    weight = tpt_pkg::crc16_step(16'd0, 8'h01);
    m      = '0;
    for (int unsigned n = 0; n < DataW; n++) begin
      t = DataW - 1 - n;
      for (int unsigned o = 0; o < 16; o++) m[o][8 * (t / 8) + 7 - t % 8] = weight[o];
      weight = {weight[14:0], 1'b0} ^ (weight[15] ? tpt_pkg::crc16_step(16'd0, 8'h01) : 16'd0);
    end
    return m;
  endfunction
  localparam map_t Map = make_map();

  // What was before is added to the first 16 bits of the message.
  for (genvar o = 0; o < 16; o++) begin : g_bit
    assign fold_o[o] = ^(data_i & Map[o]);
    assign turn_o[o] = ^({crc_i[7:0], crc_i[15:8]} & Map[o][15:0]);
  end

endmodule
