// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_crc16: every bit of a word, and of the CRC before it, counts as in the CRC that is made byte
/// by byte; any one or two changed bits of an entry change the CRC.
///
/// The CRC is a parity of input bits for each output bit by construction, so it is shown for one
/// bit at a time, which the solver chooses.
module crc16_formal import tpt_pkg::*; #(
  parameter int unsigned DataW = 512,
  localparam int unsigned BitW = $clog2(DataW)
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic [BitW-1:0] a_i,
  input logic [BitW-1:0] b_i,
  input logic [3:0]      c_i
);
  `TPT_FORMAL_RESET

  logic [DataW-1:0] one, two;
  logic [15:0]      fold_one, turn_one, fold_two, turn_two, crc;
  assign one = DataW'(1) << a_i;
  assign two = (DataW'(1) << a_i) | (DataW'(1) << b_i);
  assign crc = 16'd1 << c_i;
  tpt_crc16 #(.DataW(DataW)) u_one (
    .data_i(one), .fold_o(fold_one), .crc_i(crc), .turn_o(turn_one)
  );
  tpt_crc16 #(.DataW(DataW)) u_two (
    .data_i(two), .fold_o(fold_two), .crc_i('0), .turn_o(turn_two)
  );

  // Up to 128 bits byte by byte, wider ones as words of 128 bits.
  logic [15:0] want_fold, want_turn;
  if (DataW <= 128) begin : g_bytes
    always_comb begin
      want_fold = '0;
      want_turn = crc;
      for (int unsigned n = 0; n < DataW / 8; n++) begin
        want_fold = crc16_step(want_fold, one[8*n+:8]);
        want_turn = crc16_step(want_turn, 8'd0);
      end
    end
  end else begin : g_words
    localparam int unsigned Words = DataW / 128;
    logic [Words:0][15:0]   fold, turn;
    logic [Words-1:0][15:0] word, step, unused_fold;
    assign fold[0] = '0;
    assign turn[0] = crc;
    for (genvar n = 0; n < Words; n++) begin : g_word
      tpt_crc16 #(.DataW(128)) u_fold (
        .data_i(one[128*n+:128]), .fold_o(word[n]), .crc_i(fold[n]), .turn_o(step[n])
      );
      tpt_crc16 #(.DataW(128)) u_turn (
        .data_i('0), .fold_o(unused_fold[n]), .crc_i(turn[n]), .turn_o(turn[n+1])
      );
      assign fold[n+1] = word[n] ^ step[n];
    end
    assign want_fold = fold[Words];
    assign want_turn = turn[Words];
  end
  `TPT_ASSERT(Fold_A, fold_one == want_fold)
  `TPT_ASSERT(Turn_A, turn_one == want_turn)
  `TPT_ASSERT(TurnNothing_A, turn_two == '0)
  // A changed bit of the entry, outside the CRC field, changes the CRC; another changed bit does
  // not hide it, nor does one of the CRC itself.
  `TPT_ASSERT(OneBit_A, fold_one != '0)
  `TPT_ASSERT(TwoBits_A, a_i == b_i || fold_two != '0)
  `TPT_ASSERT(BitAndCrc_A, (fold_one & (fold_one - 1'b1)) != '0)

  `TPT_COVER(Two_C, a_i != b_i && fold_two != fold_one)
  `TPT_COVER(High_C, fold_one[15] && fold_two[0])
endmodule
