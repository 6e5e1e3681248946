// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Host windows: does a segment of physical memory lie in one of them, whole? If none is in force,
/// every segment does.
///
/// Addresses are pages of 4 KiB, both ends of a window included. The windows do not change while
/// requests are inside. No register.
module tpt_hostwin import tpt_pkg::*; #(
  /// Number of windows.
  parameter int unsigned NumWindows = 4
) (
  /// Windows in force, and their first and last pages.
  input  logic [NumWindows-1:0]             enable_i,
  input  logic [NumWindows-1:0][FrameW-1:0] base_i,
  input  logic [NumWindows-1:0][FrameW-1:0] limit_i,
  /// First and last page of the segment.
  input  logic [FrameW-1:0]                 first_i,
  input  logic [FrameW-1:0]                 last_i,
  output logic                              ok_o
);

  logic [NumWindows-1:0] fits;
  for (genvar w = 0; w < NumWindows; w++) begin : g_window
    assign fits[w] = enable_i[w] && first_i >= base_i[w] && last_i <= limit_i[w];
  end
  assign ok_o = (enable_i == '0) || (|fits);

endmodule
