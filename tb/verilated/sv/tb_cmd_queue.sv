// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Flat-port wrapper of tpt_cmd_queue for its own bench: packed vectors only, beats of 16 bytes.
/// Commands and completions are the packed structs cmd_t and cpl_t of tpt_pkg.
module tb_cmd_queue import tpt_pkg::*; (
  input  logic            clk_i,
  input  logic            rst_ni,

  input  logic            enable_i,
  input  logic [51:0]     cmdq_page_i,
  input  logic [4:0]      cmdq_log_size_i,
  input  logic [51:0]     cplq_page_i,
  input  logic [4:0]      cplq_log_size_i,
  input  logic [15:0]     cmdq_tail_i,
  input  logic [15:0]     cplq_head_i,
  input  logic [31:0]     db_value_i,
  output logic            cmdq_tail_bad_o,
  output logic            cplq_head_bad_o,
  output logic            db_clear_o,

  output logic [15:0]     cmdq_head_o,
  output logic [15:0]     cplq_tail_o,
  output logic            enabled_o,
  output logic            busy_o,
  output logic            error_o,
  output logic            full_o,
  output logic            event_o,
  output logic            err_bus_o,

  output logic            cmd_valid_o,
  input  logic            cmd_ready_i,
  output logic [CmdW-1:0] cmd_o,
  input  logic            cpl_valid_i,
  output logic            cpl_ready_o,
  input  logic [CplW-1:0] cpl_i,

  output logic            rd_valid_o,
  input  logic            rd_ready_i,
  output logic [63:0]     rd_addr_o,
  input  logic            rd_beat_i,
  input  logic            rd_last_i,
  input  logic [127:0]    rd_data_i,
  input  logic            rd_err_i,

  output logic            wr_valid_o,
  input  logic            wr_ready_i,
  output logic [63:0]     wr_addr_o,
  output logic [MptW-1:0] wr_data_o,
  input  logic            wr_done_i,
  input  logic            wr_err_i
);

  tpt_cmd_queue #(.AxiDataW(128)) u_queue (
    .clk_i, .rst_ni, .enable_i,
    .cmdq_base_i(cmdq_page_i), .cmdq_log_size_i,
    .cplq_base_i(cplq_page_i), .cplq_log_size_i,
    .cmdq_tail_i, .cplq_head_i, .db_value_i,
    .cmdq_tail_bad_o, .cplq_head_bad_o, .db_clear_o,
    .cmdq_head_o, .cplq_tail_o, .enabled_o, .busy_o, .error_o, .full_o, .event_o, .err_bus_o,
    .cmd_valid_o, .cmd_ready_i, .cmd_o, .cpl_valid_i, .cpl_ready_o, .cpl_i,
    .rd_valid_o, .rd_ready_i, .rd_addr_o, .rd_beat_i, .rd_last_i, .rd_data_i, .rd_err_i,
    .wr_valid_o, .wr_ready_i, .wr_addr_o, .wr_data_o, .wr_done_i, .wr_err_i
  );

endmodule
