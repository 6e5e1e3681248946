// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// The direct command channel and the command queue share the registration engine: commands are
/// taken in turn if both have one, completions go back to where their command came from.
///
/// The direct channel costs no clock. The queue is given the engine a clock after it asks.
module tpt_cmd_arb import tpt_pkg::*; (
  /// Clock, and synchronous active-low reset.
  input  logic clk_i,
  input  logic rst_ni,

  /// Direct channel.
  input  logic dir_cmd_valid_i,
  output logic dir_cmd_ready_o,
  input  cmd_t dir_cmd_i,
  output logic dir_cpl_valid_o,
  input  logic dir_cpl_ready_i,

  /// Command queue. It may withdraw a command.
  input  logic que_cmd_valid_i,
  output logic que_cmd_ready_o,
  input  cmd_t que_cmd_i,
  output logic que_cpl_valid_o,
  input  logic que_cpl_ready_i,

  /// Engine. Completions: the payload goes to both.
  output logic cmd_valid_o,
  input  logic cmd_ready_i,
  output cmd_t cmd_o,
  output logic cmd_src_o,
  input  logic cpl_valid_i,
  output logic cpl_ready_o,
  input  logic cpl_src_i
);

  logic que_q;  // the engine is the queue's in this clock
  logic dir_waits;
  assign dir_waits = dir_cmd_valid_i && !dir_cmd_ready_o;

  // After a command of one of them, the other goes first.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) que_q <= 1'b0;
    else if (que_q) que_q <= que_cmd_valid_i && !cmd_ready_i;
    else que_q <= que_cmd_valid_i && !dir_waits;
  end

  assign cmd_valid_o     = que_q ? que_cmd_valid_i : dir_cmd_valid_i;
  assign cmd_o           = que_q ? que_cmd_i : dir_cmd_i;
  assign cmd_src_o       = que_q;
  assign dir_cmd_ready_o = cmd_ready_i && !que_q;
  assign que_cmd_ready_o = cmd_ready_i && que_q;

  assign dir_cpl_valid_o = cpl_valid_i && !cpl_src_i;
  assign que_cpl_valid_o = cpl_valid_i && cpl_src_i;
  assign cpl_ready_o     = cpl_src_i ? que_cpl_ready_i : dir_cpl_ready_i;

  `TPT_ASSERT(OneTaker_A, !(dir_cmd_valid_i && dir_cmd_ready_o && que_cmd_valid_i &&
                            que_cmd_ready_o))
  `TPT_ASSERT(OneGiver_A, !(dir_cpl_valid_o && que_cpl_valid_o))

endmodule
