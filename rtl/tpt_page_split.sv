// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// One page of a chunk as a physical segment: its first byte and its length.
///
/// The bytes `off_i` to `off_i + rem_i - 1` of the chunk's pages are wanted; page `page_i` is one
/// that has some of them, and `frame_i` is aligned to its size.
///
/// Latency: 2 clocks. Throughput: one page per clock, no stall.
module tpt_page_split import tpt_pkg::*; #(
  /// Width of the number of a page in its chunk.
  parameter int unsigned PageW = 2,
  /// The page of the last byte is told (for host windows).
  parameter bit          TellLast = 1'b1
) (
  input  logic                  clk_i,
  /// Page address, and number of the page in its chunk.
  input  logic [FrameW-1:0]     frame_i,
  input  logic [PageW-1:0]      page_i,
  input  logic [5:0]            log_page_i,
  /// Offset in page 0, and bytes from there.
  input  logic [MaxLogPage-1:0] off_i,
  input  logic [31:0]           rem_i,
  /// First byte, bytes, and bits 63:12 of the address of the last byte.
  output logic [63:0]           pa_o,
  output logic [31:0]           len_o,
  output logic [FrameW-1:0]     last_o,
  /// Bits 63:12 of the address behind the page, with the carry.
  output logic [FrameW:0]       next_o
);

  logic                  zero_q;
  logic [FrameW-1:0]     frame_q;
  logic [MaxLogPage-1:0] off_q;
  logic [MaxLogPage:0]   size_q;     // page size
  logic [47:0]           skip_q;     // bytes of the pages before this one
  logic [31:0]           rem_q;
  logic [47:0]           left_q, lim_q;
  logic                  short_seg;  // the segment ends before its page

  always_ff @(posedge clk_i) begin
    zero_q  <= page_i == '0;
    frame_q <= frame_i;
    off_q   <= off_i;
    size_q  <= (MaxLogPage + 1)'(1) << log_page_i;
    skip_q  <= 48'(page_i) << log_page_i;
    rem_q   <= rem_i;

    pa_o    <= {frame_q, 12'b0} | (zero_q ? 64'(off_q) : '0);
    left_q  <= zero_q ? 48'(rem_q) : 48'(rem_q) + 48'(off_q) - skip_q;
    lim_q   <= zero_q ? 48'(size_q) - 48'(off_q) : 48'(size_q);
    next_o  <= {1'b0, frame_q} + (FrameW + 1)'(size_q >> 12);
  end

  assign short_seg = left_q < lim_q;
  assign len_o     = short_seg ? left_q[31:0] : lim_q[31:0];

  if (TellLast) begin : g_last
    logic [47:0]           end_q;    // last byte of what is left, from the start of the page
    logic [MaxLogPage-1:0] mask_q;   // last byte of the page
    logic [MaxLogPage-1:0] last;
    always_ff @(posedge clk_i) begin
      end_q  <= 48'(rem_q) + 48'(off_q) - skip_q - 48'd1;
      mask_q <= MaxLogPage'(size_q - 1'b1);
    end
    assign last   = short_seg ? end_q[MaxLogPage-1:0] : mask_q;
    assign last_o = (pa_o[63:12] & ~FrameW'(mask_q[MaxLogPage-1:12])) |
                    FrameW'(last[MaxLogPage-1:12]);
    logic unused_bits;
    assign unused_bits = ^{end_q[47:MaxLogPage], last[11:0], mask_q[11:0]};
  end else begin : g_no_last
    assign last_o = '0;
  end

endmodule
