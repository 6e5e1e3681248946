// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1
// Functional cover points of the RTL's insides, for `make coverage`: bound to the blocks, so that
// what is built, proved and synthesised does not know of them. A point is counted over all instances
// of its block.

// verilator lint_off DECLFILENAME
`define COVER(name, expr) \
  name: cover property (@(posedge clk_i) (rst_ni && (expr)));

/// Queues between the blocks.
module cover_fifo #(
  parameter int unsigned CountW = 1,
  parameter int unsigned Depth  = 1
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [CountW-1:0] count,
  input logic              push,
  input logic              pop,
  input logic              clear
);
  `COVER(FifoEmpty_C, count == '0)
  `COVER(FifoOne_C, count == CountW'(1))
  `COVER(FifoFull_C, count == CountW'(Depth))
  `COVER(FifoPush_C, push && !pop)
  `COVER(FifoPop_C, pop && !push)
  `COVER(FifoBoth_C, push && pop)
  `COVER(FifoFullPop_C, pop && count == CountW'(Depth))
  `COVER(FifoClearFilled_C, clear && count != '0)
endmodule
bind tpt_fifo cover_fifo #(.CountW(AddrW + 1), .Depth(Depth)) u_cover (
  .clk_i, .rst_ni, .count(count_q), .push, .pop, .clear(clear_i)
);

/// A fence begins (the epoch changes) with a request in each stage of a client.
module cover_client (
  input logic clk_i,
  input logic rst_ni,
  input logic epoch,
  input logic enable,
  input logic reset_wish,
  input logic skid,
  input logic accepted,
  input logic in_walk,
  input logic ready_ctx,
  input logic x1,
  input logic x2,
  input logic x3,
  input logic x4,
  input logic x5,
  input logic x6,
  input logic x6_bad,
  input logic answer,
  input logic straight,
  input logic no_ctx,
  input logic old_left
);
  logic epoch_q, flip;
  always_ff @(posedge clk_i) epoch_q <= epoch;
  assign flip = epoch != epoch_q;
  `COVER(FenceWaiting_C, flip && skid)
  `COVER(FenceAccepted_C, flip && accepted)
  `COVER(FenceInWalk_C, flip && in_walk)
  `COVER(FenceReady_C, flip && ready_ctx)
  `COVER(FenceX1_C, flip && x1)
  `COVER(FenceX2_C, flip && x2)
  `COVER(FenceX3_C, flip && x3)
  `COVER(FenceX4_C, flip && x4)
  `COVER(FenceX5_C, flip && x5)
  `COVER(FenceX6_C, flip && x6)
  `COVER(FenceStraight_C, flip && straight)
  `COVER(FenceAnswer_C, flip && answer)
  `COVER(FenceOldLeft_C, flip && old_left)
  `COVER(ResetWithWalk_C, reset_wish && in_walk)
  `COVER(ResetWithAnswer_C, reset_wish && answer)
  `COVER(DisableWithWalk_C, !enable && in_walk)
  `COVER(NoContext_C, no_ctx && skid)
  `COVER(WindowRefused_C, x6 && x6_bad)
endmodule
bind tpt_client cover_client u_cover (
  .clk_i, .rst_ni, .epoch(epoch_i), .enable(enable_i), .reset_wish(reset_i), .skid(skid_valid_q),
  .accepted(t1_valid_q), .in_walk(|str_any_q), .ready_ctx(|rdy_q), .x1(x1_q.valid),
  .x2(x2_q.valid), .x3(x3_valid_q), .x4(x4_valid_q), .x5(x5_valid_q), .x6(x6_valid_q),
  .x6_bad, .answer(rsp_valid_o && !rsp_ready_i), .straight(fast), .no_ctx(starved_o),
  .old_left(!old_empty_o)
);

/// Fences.
module cover_fence (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       req,
  input logic       flip,
  input logic       run,
  input logic       want,
  input logic       over,
  input logic       all_empty,
  input logic [7:0] next
);
  `COVER(AskIdle_C, req && !run && !want)
  `COVER(AskRunning_C, req && run)
  `COVER(AskWanted_C, req && want)
  `COVER(AskAtFlip_C, req && flip)
  `COVER(AskAtEnd_C, req && over)
  `COVER(WaitsForOld_C, run && !all_empty)
  `COVER(NextAtOnce_C, want && over)
  `COVER(TicketWraps_C, flip && next == 8'hff)
endmodule
bind tpt_fence cover_fence u_cover (
  .clk_i, .rst_ni, .req(req_i), .flip, .run(run_q), .want(want_q), .over, .all_empty,
  .next(next_q)
);

/// The two caches: what a look-up finds, and what a removal meets.
module cover_cache (
  input logic clk_i,
  input logic rst_ni,
  input logic hit,
  input logic fill,
  input logic miss,
  input logic killed,
  input logic bypass,
  input logic failed,
  input logic read,
  input logic evict,
  input logic inv,
  input logic inv_done,
  input logic sweep,
  input logic sweep_all,
  input logic kill,
  input logic fdone,
  input logic fdone_store
);
  logic out_q;  // a read is on its way
  logic [15:0] reads_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) reads_q <= '0;
    else         reads_q <= reads_q + 16'(read) - 16'(fdone);
  end
  assign out_q = reads_q != '0;
  `COVER(CacheHit_C, hit)
  `COVER(CacheFill_C, fill)
  `COVER(CacheFillError_C, fill && failed)
  `COVER(CacheProbeMiss_C, miss)
  `COVER(CacheKilled_C, killed)
  `COVER(CacheBypass_C, bypass)
  `COVER(CacheEvict_C, evict)
  `COVER(CacheNotStored_C, fdone && !fdone_store)
  `COVER(CacheManyReads_C, reads_q > 16'd8)
  `COVER(CacheInvIdle_C, inv && !out_q)
  `COVER(CacheInvReading_C, inv && out_q)
  `COVER(CacheInvFill_C, inv && fdone)
  `COVER(CacheInvHit_C, inv && hit)
  `COVER(CacheInvDoneReading_C, inv_done && out_q)
  `COVER(CacheSweepOne_C, sweep && !sweep_all)
  `COVER(CacheSweepAll_C, sweep && sweep_all)
  `COVER(CacheSweepReading_C, sweep && out_q)
  `COVER(CacheSweepFill_C, sweep && fdone)
  `COVER(CacheSweepHit_C, sweep && hit)
  `COVER(CacheKill_C, kill)
  `COVER(CacheKillReading_C, kill && out_q)
endmodule
bind tpt_cache cover_cache u_cover (
  .clk_i, .rst_ni, .hit(res_valid_o && res_hit_o), .fill(res_valid_o && res_fill_o),
  .miss(res_valid_o && res_miss_o), .killed(res_valid_o && res_killed_o),
  .bypass(res_valid_o && res_bypass_o), .failed(res_err_o != '0), .read(rd_valid_o),
  .evict(ev_evict_o), .inv(inv_valid_i), .inv_done(inv_done_o), .sweep(sweep_valid_i),
  .sweep_all(sweep_all_i), .kill(kill_valid_i), .fdone(fdone_valid_i),
  .fdone_store(fdone_store_i)
);

/// Slots of page faults.
module cover_page_fault #(
  parameter int unsigned Slots   = 1,
  parameter int unsigned Clients = 1
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic [Slots-1:0]   busy,
  input logic [Slots-1:0]   waiting,
  input logic [Slots-1:0]   owed,
  input logic               put,
  input logic               again,
  input logic               told,
  input logic               go,
  input logic               go_ready,
  input logic               refuse,
  input logic               absent,
  input logic               ans,
  input logic               ans_ok,
  input logic               room,
  input logic [Clients-1:0] stop,
  input logic               killed
);
  `COVER(SlotPut_C, put)
  `COVER(SlotPutAgain_C, put && again)
  `COVER(SlotPutTold_C, put && told)
  `COVER(SlotsFull_C, &busy && !room)
  `COVER(SlotsFullAsked_C, &busy && owed != '0)
  `COVER(SlotGo_C, go && go_ready && !refuse)
  `COVER(SlotGoWaits_C, go && !go_ready)
  `COVER(SlotRefused_C, go && refuse && absent)
  `COVER(SlotRetry_C, go && refuse && !absent)
  `COVER(SlotAnswerWaiting_C, ans && ans_ok && waiting != '0)
  `COVER(SlotAnswerWrong_C, ans && !ans_ok)
  `COVER(SlotAnswerAtPut_C, ans && put)
  `COVER(SlotStop_C, |stop && waiting != '0)
  `COVER(SlotStopAtPut_C, |stop && put)
  `COVER(SlotKilled_C, killed)
endmodule
bind tpt_page_fault cover_page_fault #(.Slots(Slots), .Clients(Clients)) u_cover (
  .clk_i, .rst_ni, .busy(~free), .waiting(wait_q), .owed(owed_q), .put(put_valid_i),
  .again(put_again_i), .told(put_told_i), .go(go_valid_o), .go_ready(go_ready_i),
  .refuse(go_refuse_o), .absent(go_absent_o), .ans(ans_valid_i), .ans_ok(ans_ok_o), .room(room_o),
  .stop(stop_i), .killed(killed_valid_i && killed_mine_o)
);

/// The queues in host memory.
module cover_cmd_queue import tpt_pkg::*; (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic [1:0]           run,      // 0 off, 1 on, 2 drain
  input logic [QueueIdxW-1:0] head,
  input logic [QueueIdxW-1:0] tail,
  input logic [QueueIdxW-1:0] cpl_head,
  input logic [QueueIdxW-1:0] cpl_tail,
  input logic                 take,
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
  `COVER(QueueWraps_C, take && head < head_q)
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
  .cpl_tail(cplq_tail_o), .take(cmd_valid_o && cmd_ready_i), .full(full_o), .error(error_o),
  .read_wait(rd_valid_o && !rd_ready_i), .write_wait(wr_valid_o && !wr_ready_i),
  .write_done(wr_done_i), .tail_bad(cmdq_tail_bad_o), .head_bad(cplq_head_bad_o),
  .command_wait(cmd_valid_o && !cmd_ready_i), .completion(cpl_valid_i && cpl_ready_o)
);

/// The memory port.
module cover_axi_rd (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       ar_wait,
  input logic       r,
  input logic       r_last,
  input logic [1:0] r_resp
);
  `COVER(ReadWaits_C, ar_wait)
  `COVER(ReadOk_C, r && r_last && r_resp == 2'd0)
  `COVER(ReadSlvErr_C, r && r_resp == 2'd2)
  `COVER(ReadDecErr_C, r && r_resp == 2'd3)
  `COVER(ReadBurst_C, r && !r_last)
endmodule
bind tpt_axi_rd cover_axi_rd u_cover (
  .clk_i, .rst_ni, .ar_wait(m_axi_arvalid_o && !m_axi_arready_i),
  .r(m_axi_rvalid_i && m_axi_rready_o), .r_last(m_axi_rlast_i), .r_resp(m_axi_rresp_i)
);
