// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_cmd_arb: each command is taken from one side only, goes to the engine unchanged and stays on
/// offer; neither side is passed over twice; completions go to the side that is named.
module cmd_arb_formal import tpt_pkg::*; (
  input logic clk_i,
  input logic rst_ni,
  input logic dir_cmd_valid_i,
  input cmd_t dir_cmd_i,
  input logic dir_cpl_ready_i,
  input logic que_cmd_valid_i,
  input cmd_t que_cmd_i,
  input logic que_cpl_ready_i,
  input logic cmd_ready_i,
  input logic cpl_valid_i,
  input logic cpl_src_i
);
  `TPT_FORMAL_RESET

  logic dir_cmd_ready, dir_cpl_valid, que_cmd_ready, que_cpl_valid, cmd_valid, cmd_src, cpl_ready;
  cmd_t cmd;
  tpt_cmd_arb dut (
    .clk_i, .rst_ni, .dir_cmd_valid_i, .dir_cmd_ready_o(dir_cmd_ready), .dir_cmd_i,
    .dir_cpl_valid_o(dir_cpl_valid), .dir_cpl_ready_i, .que_cmd_valid_i,
    .que_cmd_ready_o(que_cmd_ready), .que_cmd_i, .que_cpl_valid_o(que_cpl_valid),
    .que_cpl_ready_i, .cmd_valid_o(cmd_valid), .cmd_ready_i, .cmd_o(cmd), .cmd_src_o(cmd_src),
    .cpl_valid_i, .cpl_ready_o(cpl_ready), .cpl_src_i
  );
  tpt_stream_props #(.Width(CmdW), .Assume(1'b1)) u_dir (
    .clk_i, .rst_ni, .valid_i(dir_cmd_valid_i), .ready_i(dir_cmd_ready), .data_i(dir_cmd_i)
  );
  tpt_stream_props #(.Width(CmdW), .Assume(1'b1)) u_que (
    .clk_i, .rst_ni, .valid_i(que_cmd_valid_i), .ready_i(que_cmd_ready), .data_i(que_cmd_i)
  );
  tpt_stream_props #(.Width(CmdW + 1)) u_cmd (
    .clk_i, .rst_ni, .valid_i(cmd_valid), .ready_i(cmd_ready_i), .data_i({cmd, cmd_src})
  );

  logic dir_taken, que_taken, taken;
  assign dir_taken = dir_cmd_valid_i && dir_cmd_ready;
  assign que_taken = que_cmd_valid_i && que_cmd_ready;
  assign taken     = cmd_valid && cmd_ready_i;
  `TPT_ASSERT(TakenOnce_A, taken == (dir_taken || que_taken) && !(dir_taken && que_taken))
  `TPT_ASSERT(Source_A, !taken || cmd_src == que_taken)
  `TPT_ASSERT(Unchanged_A, !taken || cmd == (que_taken ? que_cmd_i : dir_cmd_i))
  `TPT_ASSERT(Completion_A, (dir_cpl_valid == (cpl_valid_i && !cpl_src_i)) &&
                            (que_cpl_valid == (cpl_valid_i && cpl_src_i)) &&
                            (cpl_ready == (cpl_src_i ? que_cpl_ready_i : dir_cpl_ready_i)))

  // Commands of the other side that were taken while one waits.
  logic [1:0] dir_passed_q, que_passed_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || dir_taken || !dir_cmd_valid_i) dir_passed_q <= '0;
    else if (que_taken) dir_passed_q <= dir_passed_q + 1'b1;
    if (!rst_ni || que_taken || !que_cmd_valid_i) que_passed_q <= '0;
    else if (dir_taken) que_passed_q <= que_passed_q + 1'b1;
  end
  // After a command of the queue the direct channel is next; the queue may be passed over by the
  // command that is taken as it asks.
  `TPT_ASSERT(DirFair_A, dir_passed_q <= 2'd1 && (dir_passed_q == '0 || !dut.que_q))
  `TPT_ASSERT(QueFair_A, que_passed_q <= 2'd2 && (que_passed_q == '0 || dut.que_q ||
                                                  que_passed_q <= 2'd1))

  `TPT_COVER(DirWaits_C, dir_passed_q == 2'd1 && dir_taken)
  `TPT_COVER(QueWaits_C, que_passed_q != '0 && que_taken)
  `TPT_COVER(Stalled_C, cmd_valid && !cmd_ready_i && cmd_src)
endmodule
