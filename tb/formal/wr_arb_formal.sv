// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_wr_arb: requests hold while they wait, both users are served, and every answer goes to the
/// user whose write it is, in the order of the writes.
module wr_arb_formal import tpt_pkg::*; #(
  parameter int unsigned MaxOut = 3
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic            a_valid_i,
  input logic [63:0]     a_addr_i,
  input logic [MptW-1:0] a_data_i,
  input logic            b_valid_i,
  input logic [63:0]     b_addr_i,
  input logic [MptW-1:0] b_data_i,
  input logic            ready_i,
  input logic            done_i,
  input logic            mark_i    // follow the write that is taken now
);
  `TPT_FORMAL_RESET

  logic            a_ready, a_done, b_ready, b_done, valid;
  logic [63:0]     addr;
  logic [MptW-1:0] data;
  tpt_wr_arb #(.MaxOutstanding(MaxOut)) dut (
    .clk_i, .rst_ni, .a_valid_i, .a_ready_o(a_ready), .a_addr_i, .a_data_i, .a_done_o(a_done),
    .b_valid_i, .b_ready_o(b_ready), .b_addr_i, .b_data_i, .b_done_o(b_done),
    .valid_o(valid), .ready_i, .addr_o(addr), .data_o(data), .done_i
  );
  tpt_stream_props #(.Width(64 + MptW), .Assume(1'b1)) u_a (
    .clk_i, .rst_ni, .valid_i(a_valid_i), .ready_i(a_ready), .data_i({a_addr_i, a_data_i})
  );
  tpt_stream_props #(.Width(64 + MptW), .Assume(1'b1)) u_b (
    .clk_i, .rst_ni, .valid_i(b_valid_i), .ready_i(b_ready), .data_i({b_addr_i, b_data_i})
  );
  tpt_stream_props #(.Width(64 + MptW)) u_port (
    .clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i({addr, data})
  );

  logic       a_taken, b_taken;
  logic [7:0] open_q, a_open_q, b_open_q;
  assign a_taken = a_valid_i && a_ready;
  assign b_taken = b_valid_i && b_ready;
  `TPT_ASSERT(TakenOnce_A, (valid && ready_i) == (a_taken || b_taken) && !(a_taken && b_taken))
  `TPT_ASSERT(Unchanged_A, !a_taken || (addr == a_addr_i && data == a_data_i))
  `TPT_ASSERT(UnchangedB_A, !b_taken || (addr == b_addr_i && data == b_data_i))
  `TPT_ASSERT(OneDone_A, (a_done || b_done) == done_i && !(a_done && b_done))

  // The marked write: whose it is, and how many answers come before its own.
  logic       in_q, second_q;
  logic [7:0] ahead_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      in_q   <= 1'b0;
    end else begin
      open_q <= open_q + 8'(a_taken || b_taken) - 8'(done_i);
      if (in_q) begin
        if (done_i && ahead_q == '0) in_q <= 1'b0;
        else if (done_i) ahead_q <= ahead_q - 1'b1;
      end else if (mark_i && (a_taken || b_taken) && !(done_i && open_q == '0)) begin
        in_q     <= 1'b1;
        second_q <= b_taken;
        ahead_q  <= open_q - 8'(done_i);
      end
    end
  end
  `TPT_ASSERT(Open_A, open_q == 8'(dut.cnt_q) && open_q <= 8'(MaxOut))
  `TPT_ASSERT(Ahead_A, !in_q || ahead_q < open_q)
  `TPT_ASSERT(Stored_A, !in_q || dut.who_q[32'(ahead_q) % MaxOut] == second_q)
  `TPT_ASSERT(MyAnswer_A, !in_q || !done_i || ahead_q != '0 || (second_q ? b_done : a_done))
  `TPT_ASSERT(AtOnce_A, !done_i || open_q != '0 || (b_taken ? b_done : a_done))

  // The second user is passed over by no more than the write that is going on as it asks and one
  // more; the first one by one.
  logic [2:0] a_passed_q, b_passed_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || a_taken || !a_valid_i) a_passed_q <= '0;
    else if (b_taken) a_passed_q <= a_passed_q + 1'b1;
    if (!rst_ni || b_taken || !b_valid_i) b_passed_q <= '0;
    else if (a_taken) b_passed_q <= b_passed_q + 1'b1;
  end
  `TPT_ASSERT(FairA_A, a_passed_q <= 3'd1 && (a_passed_q == '0 || !dut.second_q))
  `TPT_ASSERT(FairB_A, b_passed_q <= 3'd1 && (b_passed_q == '0 || dut.second_q))

  `TPT_COVER(Full_C, open_q == 8'(MaxOut))
  `TPT_COVER(Mixed_C, in_q && second_q && ahead_q == 8'(MaxOut - 1))
  `TPT_COVER(AtOnce_C, done_i && open_q == '0 && b_taken)
endmodule
