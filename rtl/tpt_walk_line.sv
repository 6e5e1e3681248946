// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// A step of the walk: where the line of an entry is, how many pages the line of a leaf has for the
/// request, and what comes behind them. No register.
module tpt_walk_line import tpt_pkg::*; #(
  /// log2 of the entries of a line.
  parameter int unsigned LineLog = 1,
  localparam int unsigned LineEnt = 2 ** LineLog
) (
  /// Number of the entry at its level, of the whole region; the level, 1 is the leaf.
  input  logic [PageIdxW-1:0] eidx_i,
  input  logic [2:0]          lvl_i,
  /// log2(table page) - 12, and bits 63:12 of its address (top level: of the root).
  input  logic [2:0]          log_tpage_i,
  input  logic [FrameW-1:0]   base_i,
  /// Position of the request, and the size of its pages.
  input  pos_t                pos_i,
  input  logic [5:0]          log_page_i,

  /// Bits of the line's address: at the top level, in a table page, inside the table page alone.
  output logic [63:LineLog+3] root_o,
  output logic [63:LineLog+3] page_o,
  output logic [63:LineLog+3] place_o,
  /// Entries of the line that the walk needs; the request ends with them.
  output logic [LineLog:0]    num_o,
  output logic                end_o,
  /// Position behind them.
  output pos_t                next_o
);

  // Entries of the smallest table page: 2^9.
  localparam int unsigned TabLog = MinLogTPage - 3;
  localparam int unsigned LineW  = PageIdxW - LineLog;

  // Number of the entry inside its table page, in lines; table pages are aligned to their size, so
  // only a flat array needs a sum.
  logic [LineW-1:0] mask, offs;
  logic [LineLog:0] room;
  assign mask    = ~({LineW{1'b1}} << (6'(log_tpage_i) + 6'(TabLog - LineLog)));
  assign offs    = eidx_i[PageIdxW-1:LineLog];
  assign root_o  = {base_i, {(9 - LineLog){1'b0}}} + (61 - LineLog)'(offs);
  assign page_o  = {base_i, {(9 - LineLog){1'b0}}} | (61 - LineLog)'(offs & mask);
  assign place_o = (61 - LineLog)'(offs & mask);
  assign room    = (LineLog + 1)'(LineEnt) - (LineLog + 1)'(eidx_i[LineLog-1:0]);
  assign end_o   = pos_i.np <= 20'(room);
  assign num_o   = lvl_i != 3'd1 ? (LineLog + 1)'(1) : end_o ? pos_i.np[LineLog:0] : room;

  // What comes behind this chunk. The bytes of the chunk are modulo 2^32: they only matter if it
  // does not reach the end, and then it is shorter than the request, which is at most 2^31 bytes.
  logic [31:0] bytes;
  assign bytes = (log_page_i[5] ? '0 : 32'(room) << log_page_i[4:0]) - pos_i.off[31:0];
  always_comb begin
    next_o.idx = pos_i.idx + PageIdxW'(room);
    next_o.np  = pos_i.np - 20'(room);
    next_o.off = '0;
    next_o.rem = pos_i.rem - bytes;
  end

endmodule
