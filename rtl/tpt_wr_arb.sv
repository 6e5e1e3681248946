// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Two users of a 64-byte write port whose answers come in order: first the registration engine,
/// second the completion queue.
///
/// The first user costs no clock. The second one is given the port a clock after it asks, when the
/// first one asks for nothing or has just been served, and keeps it for one write.
module tpt_wr_arb import tpt_pkg::*; #(
  /// Writes of both that may wait for their answer, 1 to 255.
  parameter int unsigned MaxOutstanding = 8
) (
  /// Clock, and synchronous active-low reset.
  input  logic            clk_i,
  input  logic            rst_ni,

  /// Users: requests stable from valid to ready; done in order, in or after the clock of ready.
  input  logic            a_valid_i,
  output logic            a_ready_o,
  input  logic [63:0]     a_addr_i,
  input  logic [MptW-1:0] a_data_i,
  output logic            a_done_o,
  input  logic            b_valid_i,
  output logic            b_ready_o,
  input  logic [63:0]     b_addr_i,
  input  logic [MptW-1:0] b_data_i,
  output logic            b_done_o,

  /// Port. The error that comes with done goes to both users.
  output logic            valid_o,
  input  logic            ready_i,
  output logic [63:0]     addr_o,
  output logic [MptW-1:0] data_o,
  input  logic            done_i
);

  if (MaxOutstanding < 1 || MaxOutstanding > 255) begin : g_bad_outstanding
    $fatal(1, "tpt_wr_arb: MaxOutstanding must be 1 to 255");
  end
  localparam int unsigned CntW = $clog2(MaxOutstanding + 2);

  logic second_q;  // the port is the second user's
  always_ff @(posedge clk_i) begin
    if (!rst_ni) second_q <= 1'b0;
    else if (second_q) second_q <= !ready_i;
    else second_q <= b_valid_i && (!a_valid_i || ready_i);
  end

  assign valid_o   = second_q ? b_valid_i : a_valid_i;
  assign addr_o    = second_q ? b_addr_i : a_addr_i;
  assign data_o    = second_q ? b_data_i : a_data_i;
  assign a_ready_o = ready_i && !second_q;
  assign b_ready_o = ready_i && second_q;

  // Whose answer comes next: a queue of one bit each, the oldest lowest.
  logic [MaxOutstanding-1:0] who_q;
  logic [CntW-1:0]           cnt_q;
  logic                      push, done_second;
  assign push        = valid_o && ready_i;
  assign done_second = (cnt_q == '0) ? second_q : who_q[0];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) cnt_q <= '0;
    else cnt_q <= cnt_q + CntW'(push) - CntW'(done_i);
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < MaxOutstanding; n++) begin
      if (done_i) who_q[n] <= (n + 1 < MaxOutstanding) ? who_q[(n + 1) % MaxOutstanding] : 1'b0;
      if (push && (cnt_q == (CntW'(n) + CntW'(done_i)))) who_q[n] <= second_q;
    end
  end
  assign a_done_o = done_i && !done_second;
  assign b_done_o = done_i && done_second;

  `TPT_ASSUME(AnswerExpected_A, !done_i || (cnt_q != '0) || push)
  `TPT_ASSUME(OutstandingBound_A, !push || (cnt_q != CntW'(MaxOutstanding)) || done_i)
  `TPT_ASSERT(SecondAsks_A, !second_q || b_valid_i)

endmodule
