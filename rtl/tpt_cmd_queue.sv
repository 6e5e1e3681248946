// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Command queue and completion queue: rings of 128-byte slots in host memory (docs/queues.md).
///
///   doorbell ─► read slot ─► check ─┬─► engine ─► completion ─┬─► write slot ─► event
///                                   └─ malformed, unknown op ─┘
///
/// **Indices** are slot numbers. A queue is empty if head = tail, so one slot is always empty. The
/// host writes the tail of the command queue and the head of the completion queue; a value that
/// would take back commands, or give back slots without a completion, is bad (`*_bad_o`).
///
/// **Commands** are read one at a time, in order. The head moves when a command is handed to the
/// engine or answered here. It is handed over only when the completion queue has room for all
/// completions of all commands in work: two for a command that may be answered PENDING.
///
/// **Completions** are taken from the engine in any order. Of a QUERY the second half of the slot
/// is written and answered first. The first half carries the phase: 1 in the first round, then
/// flipping. `event_o` comes after the answer to its write.
///
/// **Errors.** Malformed slots are answered StsBadSlot, operation codes above 15 StsBadOp. A memory
/// error while a slot is read stops the taking of commands; those in work are completed. A memory
/// error while a slot is written stops the completions, too: later ones are dropped. Either sets
/// `error_o`, until disabled.
///
/// **Disabling** may happen at any time: what has begun on the memory port is finished, completions
/// of commands in work are dropped when they come, and `enabled_o` and `busy_o` fall after that.
///
/// Latency: docs/queues.md.
module tpt_cmd_queue import tpt_pkg::*; #(
  /// Width of the memory port in bits: 128, 256 or 512.
  parameter int unsigned AxiDataW = 128
) (
  /// Clock, and synchronous active-low reset.
  input  logic                 clk_i,
  input  logic                 rst_ni,

  /// Settings: base addresses and sizes are constant while enabled or `enabled_o`.
  input  logic                 enable_i,
  input  logic [63:12]         cmdq_base_i,
  input  logic [4:0]           cmdq_log_size_i,  // MinLogCmdQueue to MaxLogQueue
  input  logic [63:12]         cplq_base_i,
  input  logic [4:0]           cplq_log_size_i,  // MinLogCplQueue to MaxLogQueue
  /// Doorbells: 0 while `db_clear_o`, and only changed to values that are not bad.
  input  logic [QueueIdxW-1:0] cmdq_tail_i,
  input  logic [QueueIdxW-1:0] cplq_head_i,
  /// Would this value be bad for one of them now?
  input  logic [31:0]          db_value_i,
  output logic                 cmdq_tail_bad_o,
  output logic                 cplq_head_bad_o,
  output logic                 db_clear_o,

  /// Status.
  output logic [QueueIdxW-1:0] cmdq_head_o,      // slot of the next command that is taken
  output logic [QueueIdxW-1:0] cplq_tail_o,      // behind the last completion in memory
  output logic                 enabled_o,
  output logic                 busy_o,           // memory in use, or commands in work
  output logic                 error_o,          // stopped by a memory error
  output logic                 full_o,           // a command waits for room for its completions
  /// One clock each: a completion is in memory; a memory error.
  output logic                 event_o,
  output logic                 err_bus_o,

  /// Commands to the engine, and their completions. A command that is offered may be withdrawn.
  output logic                 cmd_valid_o,
  input  logic                 cmd_ready_i,
  output cmd_t                 cmd_o,
  input  logic                 cpl_valid_i,
  output logic                 cpl_ready_o,
  input  cpl_t                 cpl_i,

  /// Read of a slot: 128 bytes, one outstanding, answered beat by beat, never stalled.
  output logic                 rd_valid_o,
  input  logic                 rd_ready_i,
  output logic [63:0]          rd_addr_o,
  input  logic                 rd_beat_i,
  input  logic                 rd_last_i,
  input  logic [AxiDataW-1:0]  rd_data_i,
  input  logic                 rd_err_i,

  /// Write of half a slot: 64 bytes; done in or after the clock of ready, in order.
  output logic                 wr_valid_o,
  input  logic                 wr_ready_i,
  output logic [63:0]          wr_addr_o,
  output logic [MptW-1:0]      wr_data_o,
  input  logic                 wr_done_i,
  input  logic                 wr_err_i
);

  if (AxiDataW != 128 && AxiDataW != 256 && AxiDataW != 512) begin : g_bad_data_w
    $fatal(1, "tpt_cmd_queue: AxiDataW must be 128, 256 or 512");
  end

  localparam int unsigned Beats = QueueSlotW / AxiDataW;
  localparam int unsigned BeatW = $clog2(Beats);
  /// Writes that wait for their answer: with those of the engine no more than the writer takes.
  localparam int unsigned MaxWrites = 3;
  /// Completions that the commands in work may still need.
  localparam int unsigned OwedW = 8;

  typedef logic [QueueIdxW-1:0] slot_t;

  localparam logic [QueueSlotW-1:0] ZeroBits = cmdq_zero_bits();

  typedef enum logic [1:0] {
    RunOff,    // not enabled
    RunOn,
    RunDrain   // disabled, not quiet yet
  } run_e;

  typedef enum logic [1:0] {
    RdIdle,    // choose the slot
    RdAddr,    // offer its address
    RdData,    // take its beats
    RdHave     // hand it over
  } read_e;

  typedef enum logic [1:0] {
    WrIdle,    // choose a completion
    WrSecond,  // offer the second half
    WrWait,    // until it is in memory
    WrFirst    // offer the first half
  } write_e;

  // Number of the last slot.
  function automatic slot_t last_slot(logic [4:0] log_size);
    slot_t m;
    for (int unsigned b = 0; b < QueueIdxW; b++) m[b] = (5'(b) < log_size);
    return m;
  endfunction

  run_e   run_q;
  read_e  read_q;
  write_e write_q;
  logic   on, quiet, rd_error_q, wr_error_q;

  // ---------------------------------------------------------------------------------------------
  // Indices
  // ---------------------------------------------------------------------------------------------
  slot_t cmd_last, cpl_last;
  slot_t head_q;             // of the command queue
  slot_t alloc_q;            // of the completion queue: the slot of the next completion
  slot_t tail_q;             // behind the last one that memory has answered
  logic  phase_q;            // of alloc_q
  logic  take, alloc, landed;

  assign cmd_last = last_slot(cmdq_log_size_i);
  assign cpl_last = last_slot(cplq_log_size_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || run_q == RunOff) begin
      head_q  <= '0;
      alloc_q <= '0;
      tail_q  <= '0;
      phase_q <= 1'b1;
    end else begin
      if (take) head_q <= (head_q + 1'b1) & cmd_last;
      if (alloc) alloc_q <= (alloc_q + 1'b1) & cpl_last;
      if (alloc && (alloc_q == cpl_last)) phase_q <= !phase_q;
      if (landed) tail_q <= (tail_q + 1'b1) & cpl_last;
    end
  end
  assign cmdq_head_o = head_q;
  assign cplq_tail_o = tail_q;

  // Doorbells. The tail of the command queue moves forward, at most to the slot before the head.
  // The head of the completion queue moves forward, at most to the tail: here the slot of a
  // completion counts as soon as its write may have been seen.
  slot_t db_value, tail_far, tail_far_new, head_left, head_left_new;
  assign db_value        = db_value_i[QueueIdxW-1:0];
  assign tail_far        = (cmdq_tail_i - head_q) & cmd_last;
  assign tail_far_new    = (db_value - head_q) & cmd_last;
  assign head_left       = (alloc_q - cplq_head_i) & cpl_last;
  assign head_left_new   = (alloc_q - db_value) & cpl_last;
  assign cmdq_tail_bad_o = !on || (db_value_i > 32'(cmd_last)) || (tail_far_new < tail_far);
  assign cplq_head_bad_o = !on || (db_value_i > 32'(cpl_last)) || (head_left_new > head_left);
  assign db_clear_o      = !on;

  // ---------------------------------------------------------------------------------------------
  // Enable
  // ---------------------------------------------------------------------------------------------
  logic [OwedW-1:0] owed_q;     // completions that the commands in work may still need
  logic [1:0]       out_q;      // writes that wait for their answer

  assign on    = (run_q == RunOn);
  assign quiet = ((read_q == RdIdle) || (read_q == RdHave)) && (write_q == WrIdle) &&
                 (out_q == '0) && (owed_q == '0);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q <= RunOff;
    end else begin
      unique case (run_q)
        RunOff:  if (enable_i) run_q <= RunOn;
        RunOn:   if (!enable_i) run_q <= RunDrain;
        default: if (quiet) run_q <= RunOff;
      endcase
    end
  end
  assign enabled_o = (run_q != RunOff);
  assign busy_o    = enabled_o && (!quiet || (read_q == RdHave));
  assign error_o   = rd_error_q || wr_error_q;

  // ---------------------------------------------------------------------------------------------
  // Reading
  // ---------------------------------------------------------------------------------------------
  cmdq_slot_t                           slot;
  logic [Beats-1:0][AxiDataW-1:0]       slot_q, zero_bits;
  logic [BeatW-1:0]                     beat_q;
  logic                                 bad_q, bad_beat, rd_err_q, rd_end, rd_bus;
  logic [63:0]                          rd_addr_q;
  logic                                 unknown, refuse, issue, answer;

  // Only bits that mean something are kept.
  assign zero_bits = ZeroBits;
  assign bad_beat  = |(rd_data_i & zero_bits[beat_q]);
  assign rd_end    = (read_q == RdData) && rd_beat_i && rd_last_i;
  assign rd_bus    = rd_end && (rd_err_i || rd_err_q);
  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < Beats; b++) begin
      if (rd_beat_i && (beat_q == BeatW'(b))) slot_q[b] <= rd_data_i & ~zero_bits[b];
    end
    if (read_q != RdAddr) rd_addr_q <= {cmdq_base_i, 12'd0} + {41'd0, head_q, 7'd0};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q   <= RdIdle;
      beat_q   <= '0;
      bad_q    <= 1'b0;
      rd_err_q <= 1'b0;
    end else begin
      unique case (read_q)
        RdIdle: begin
          bad_q    <= 1'b0;
          rd_err_q <= 1'b0;
          if (on && enable_i && !error_o && (cmdq_tail_i != head_q)) read_q <= RdAddr;
        end
        RdAddr: if (rd_ready_i) read_q <= RdData;
        RdData: begin
          if (rd_beat_i) begin
            beat_q   <= beat_q + 1'b1;
            bad_q    <= bad_q || bad_beat;
            rd_err_q <= rd_err_q || rd_err_i;
          end
          if (rd_end) read_q <= rd_bus ? RdIdle : RdHave;
        end
        default: if (take || !on || error_o) read_q <= RdIdle;
      endcase
    end
  end
  assign rd_valid_o = (read_q == RdAddr);
  assign rd_addr_o  = rd_addr_q;

  // ---------------------------------------------------------------------------------------------
  // Room for completions. What a command may need is reserved when it is taken and given back with
  // its last completion; PENDING takes a slot without giving back, which errs on the safe side.
  // ---------------------------------------------------------------------------------------------
  slot_t            room, need;
  logic             room_q;
  logic [OwedW-1:0] owed_next;

  function automatic logic [OwedW-1:0] need_of(logic [3:0] op);
    return cmd_may_pend(op) ? OwedW'(2) : OwedW'(1);
  endfunction

  assign slot    = slot_q;
  assign unknown = (slot.op[7:4] != '0);
  assign refuse  = bad_q || (slot.version != CmdqVersion) || unknown;
  assign room    = (cplq_head_i - alloc_q - 1'b1) & cpl_last;
  assign need    = slot_t'(owed_q) + (refuse ? slot_t'(1) : slot_t'(need_of(slot.op[3:0])));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) room_q <= 1'b0;
    else room_q <= (read_q == RdHave) && !take && (room >= need);
  end
  assign full_o = on && (read_q == RdHave) && !room_q && !error_o;

  assign cmd_valid_o = on && (read_q == RdHave) && room_q && !refuse && !error_o;
  assign cmd_o       = cmdq_command(slot);
  assign issue       = cmd_valid_o && cmd_ready_i;
  assign take        = issue || answer;

  logic cpl_final;
  assign cpl_final = cpl_valid_i && cpl_ready_o && (cpl_i.status != StsPending);
  always_comb begin
    owed_next = owed_q;
    if (issue) owed_next = owed_next + need_of(slot.op[3:0]);
    if (cpl_final) owed_next = owed_next - need_of(cpl_i.op);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_next;
  end

  // ---------------------------------------------------------------------------------------------
  // Writing
  // ---------------------------------------------------------------------------------------------
  cplq_slot_t       first_q, first;   // first half
  logic [63:7]      wr_addr_q;
  logic             drop, begin_cpl, query, wr_take, second_done;

  // A completion is wanted only as long as the queue works. A QUERY stays with the engine until its
  // entry has been taken.
  assign drop      = !on || wr_error_q;
  assign query     = (cpl_i.op == CmdQuery) && (cpl_i.status == StsOk);
  assign begin_cpl = (write_q == WrIdle) && cpl_valid_i && !drop && (out_q != 2'(MaxWrites));
  assign answer    = (write_q == WrIdle) && !cpl_valid_i && !drop && (out_q != 2'(MaxWrites)) &&
                     (read_q == RdHave) && room_q && refuse && !error_o;
  assign alloc     = begin_cpl || answer;
  assign wr_take   = wr_valid_o && wr_ready_i;

  assign cpl_ready_o = (write_q == WrIdle) ? (drop || (begin_cpl && !query))
                                           : ((write_q == WrSecond) && wr_ready_i);

  always_comb begin
    first           = '0;
    first.id        = cpl_i.id;
    first.op        = 8'(cpl_i.op);
    first.status    = 8'(cpl_i.status);
    first.lkey      = cpl_i.lkey;
    first.rkey      = cpl_i.rkey;
    first.index     = 32'(cpl_i.index);
    first.cmdq_head = head_q;
    first.phase     = {7'd0, phase_q};
    if (answer) begin
      first.id        = slot.id;
      first.op        = slot.op;
      first.status    = (bad_q || (slot.version != CmdqVersion)) ? 8'(StsBadSlot) : 8'(StsBadOp);
      first.lkey      = '0;
      first.rkey      = '0;
      first.index     = '0;
      first.cmdq_head = (head_q + 1'b1) & cmd_last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (write_q == WrIdle) begin
      first_q   <= first;
      wr_addr_q <= {cplq_base_i, 5'd0} + {41'd0, alloc_q};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= WrIdle;
      out_q   <= '0;
    end else begin
      unique case (write_q)
        WrIdle:   if (alloc) write_q <= (begin_cpl && query) ? WrSecond : WrFirst;
        WrSecond: if (wr_take) write_q <= WrWait;
        // the answers come in order, so its own is the last one
        WrWait:   if (out_q == '0) write_q <= wr_error_q ? WrIdle : WrFirst;
        default:  if (wr_take) write_q <= WrIdle;
      endcase
      out_q <= out_q + 2'(wr_take) - 2'(wr_done_i);
    end
  end
  assign wr_valid_o = (write_q == WrSecond) || (write_q == WrFirst);
  assign wr_addr_o  = {wr_addr_q, (write_q == WrSecond), 6'd0};
  assign wr_data_o  = (write_q == WrSecond) ? cpl_i.entry : first_q[MptW-1:0];

  // Whose answer is it?
  assign second_done = ((write_q == WrWait) && (out_q == 2'd1)) ||
                       ((write_q == WrSecond) && (out_q == 2'd0));
  assign landed      = wr_done_i && !wr_err_i && !second_done && !wr_error_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rd_error_q <= 1'b0;
      wr_error_q <= 1'b0;
      event_o    <= 1'b0;
      err_bus_o  <= 1'b0;
    end else begin
      if (run_q == RunOff) begin
        rd_error_q <= 1'b0;
        wr_error_q <= 1'b0;
      end else begin
        if (rd_bus) rd_error_q <= 1'b1;
        if (wr_done_i && wr_err_i) wr_error_q <= 1'b1;
      end
      event_o   <= landed && on;
      err_bus_o <= rd_bus || (wr_done_i && wr_err_i);
    end
  end

  logic unused_ok;
  assign unused_ok = ^first_q[QueueSlotW-1:MptW];

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSUME(SizesLegal_A, !on || ((cmdq_log_size_i >= 5'(MinLogCmdQueue)) &&
                                    (cmdq_log_size_i <= 5'(MaxLogQueue)) &&
                                    (cplq_log_size_i >= 5'(MinLogCplQueue)) &&
                                    (cplq_log_size_i <= 5'(MaxLogQueue))))
  `TPT_ASSUME(DoorbellsClear_A, (run_q != RunOff) || !enable_i ||
              ((cmdq_tail_i == '0) && (cplq_head_i == '0)))
  `TPT_ASSUME(DoorbellsInside_A, !on || ((cmdq_tail_i <= cmd_last) && (cplq_head_i <= cpl_last)))
  `TPT_ASSUME(BeatExpected_A, !rd_beat_i || (read_q == RdData))
  `TPT_ASSUME(LastBeat_A, !rd_beat_i || (rd_last_i == (beat_q == BeatW'(Beats - 1))))
  `TPT_ASSUME(AnswerExpected_A, !wr_done_i || (out_q != '0) || wr_take)
  `TPT_ASSUME(CompletionExpected_A, !cpl_valid_i || (owed_q != '0))
  // The slot of a completion is always one that the host has given back.
  `TPT_ASSERT(RoomForCompletion_A, !alloc || (room != '0))
  `TPT_ASSERT(OwedBound_A, !issue || (owed_q < OwedW'(2 ** OwedW - 4)))
  `TPT_ASSERT(WritesBound_A, !wr_take || (out_q != 2'(MaxWrites)) || wr_done_i)
  `TPT_ASSERT(NothingWhileOff_A, (run_q != RunOff) || (!rd_valid_o && !wr_valid_o && !cmd_valid_o))
`ifndef SYNTHESIS
  logic            prev_wait_q;
  logic [63:0]     prev_addr_q;
  logic [MptW-1:0] prev_data_q;
  always_ff @(posedge clk_i) begin
    prev_wait_q <= rst_ni && wr_valid_o && !wr_ready_i;
    prev_addr_q <= wr_addr_o;
    prev_data_q <= wr_data_o;
  end
  `TPT_ASSERT(WriteStable_A, !prev_wait_q || (wr_valid_o && (wr_addr_o == prev_addr_q) &&
                                              (wr_data_o == prev_data_q)))
`endif

endmodule
