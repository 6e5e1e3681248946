// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_hostwin: a segment passes exactly if no window is in force, or each of its pages lies in one
/// and the same window.
module hostwin_formal #(
  parameter int unsigned NumWindows = 4
) (
  input logic                          clk_i,
  input logic                          rst_ni,
  input logic [NumWindows-1:0]         enable_i,
  input logic [NumWindows-1:0][51:0]   base_i,
  input logic [NumWindows-1:0][51:0]   limit_i,
  input logic [51:0]                   first_i,
  input logic [51:0]                   last_i,
  input logic [51:0]                   page_i    // a page of the segment
);
  `TPT_FORMAL_RESET

  logic ok;
  tpt_hostwin #(.NumWindows(NumWindows)) dut (
    .enable_i, .base_i, .limit_i, .first_i, .last_i, .ok_o(ok)
  );
  logic [NumWindows-1:0] page_in, whole;
  always_comb begin
    for (int unsigned w = 0; w < NumWindows; w++) begin
      page_in[w] = enable_i[w] && !(page_i < base_i[w]) && !(limit_i[w] < page_i);
      whole[w]   = enable_i[w] && !(first_i < base_i[w]) && !(limit_i[w] < last_i);
    end
  end
  `TPT_ASSUME(Segment_A, first_i <= last_i && first_i <= page_i && page_i <= last_i)
  // No page outside the windows ever passes.
  `TPT_ASSERT(PageInside_A, !ok || enable_i == '0 || page_in != '0)
  `TPT_ASSERT(Exact_A, ok == (enable_i == '0 || whole != '0))

  `TPT_COVER(Inside_C, ok && enable_i != '0)
  `TPT_COVER(Outside_C, !ok)
  `TPT_COVER(Between_C, !ok && page_in != '0)
endmodule
