// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "cover.svh"

/// The queues in host memory.
module cover_cmd_queue import tpt_pkg::*; (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic [1:0]           run,      // 0 off, 1 on, 2 drain
  input logic [QueueIdxW-1:0] head,
  input logic [QueueIdxW-1:0] tail,
  input logic [QueueIdxW-1:0] cpl_head,
  input logic [QueueIdxW-1:0] cpl_tail,
  input logic                 full,
  input logic                 error,
  input logic                 read_wait,
  input logic                 write_wait,
  input logic                 write_done,
  input logic                 tail_bad,
  input logic                 head_bad,
  input logic                 command_wait,
  input logic                 completion
);
  logic [QueueIdxW-1:0] head_q, cpl_tail_q;
  always_ff @(posedge clk_i) begin
    head_q     <= head;
    cpl_tail_q <= cpl_tail;
  end
  `COVER(QueueOff_C, run == 2'd0)
  `COVER(QueueEmpty_C, run == 2'd1 && head == tail)
  `COVER(QueueFilled_C, run == 2'd1 && head != tail)
  `COVER(QueueDrain_C, run == 2'd2)
  `COVER(QueueDrainFilled_C, run == 2'd2 && head != tail)
  `COVER(QueueDrainWrite_C, run == 2'd2 && write_wait)
  `COVER(QueueHeadWraps_C, run == 2'd1 && head == '0 && head_q != '0)
  `COVER(QueueTailWraps_C, run == 2'd1 && cpl_tail == '0 && cpl_tail_q != '0)
  `COVER(QueueNoRoom_C, full)
  `COVER(QueueNoRoomWrite_C, full && write_done)
  `COVER(QueueError_C, error)
  `COVER(QueueErrorFilled_C, error && head != tail)
  `COVER(QueueReadWaits_C, read_wait)
  `COVER(QueueWriteWaits_C, write_wait)
  `COVER(QueueTailBad_C, tail_bad)
  `COVER(QueueHeadBad_C, head_bad)
  `COVER(QueueCommandWaits_C, command_wait)
  `COVER(QueueCompletion_C, completion)
  `COVER(QueueUnread_C, cpl_head != cpl_tail)
endmodule
bind tpt_cmd_queue cover_cmd_queue u_cover (
  .clk_i, .rst_ni, .run(run_q), .head(cmdq_head_o), .tail(cmdq_tail_i), .cpl_head(cplq_head_i),
  .cpl_tail(cplq_tail_o), .full(full_o), .error(error_o),
  .read_wait(rd_valid_o && !rd_ready_i), .write_wait(wr_valid_o && !wr_ready_i),
  .write_done(wr_done_i), .tail_bad(cmdq_tail_bad_o), .head_bad(cplq_head_bad_o),
  .command_wait(cmd_valid_o && !cmd_ready_i), .completion(cpl_valid_i && cpl_ready_o)
);
