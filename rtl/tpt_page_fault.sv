// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Slots for page faults of one walker: walks that met an absent entry of an on-demand region.
///
/// A walk that is put in here must have its line dropped from the cache first (`killed`). Then
///
/// * if the line had been in the cache, it goes back to the walker at once (*again*): memory may
///   say something newer;
/// * else it waits for the answer of the host, and goes back to the walker, or is sent back to be
///   refused. `stop_i` of its client sends it back without an answer, to be refused as RETRY;
/// * or it has been refused already, and only the answer is waited for (*told*).
///
/// Whether a walk is put in is known late in a clock. So it is written into the free slot whenever
/// there may be one (`load`), and the slot takes note of it a clock after `put`.
///
/// A slot is free when it has no walk and no answer is owed. A fault that is told always has a
/// slot, so each one is answered once.
///
/// Slots can be shared out among partitions: with 2 or 4 of them in use, slot s is one of partition
/// s modulo that number, and a walk finds room in the slots of its partition only. If there are
/// fewer slots than partitions in use, partitions that are equal modulo Slots have one together.
///
///     put ──► killing ──killed──► waiting ──answer──► going ──go──► (free)
///                  │ again ─────────────────────────►   │
///                  └────────────── stop_i ──────────► stopping ──go──► owed or free
module tpt_page_fault
  import tpt_pkg::*;
#(
  /// Slots, 1 to 32; with partitions a power of two.
  parameter int unsigned Slots   = 4,
  /// Width of a walk, and of its context. The top bits of the context are its client.
  parameter int unsigned WorkW   = 64,
  parameter int unsigned CtxW    = 4,
  /// Clients, a power of two.
  parameter int unsigned Clients = 2,
  /// Most partitions: 1 (none), or 4.
  parameter int unsigned Parts   = 1,
  localparam int unsigned SlotW   = (Slots > 1) ? $clog2(Slots) : 1,
  localparam int unsigned ClientW = (Clients > 1) ? $clog2(Clients) : 1
) (
  input  logic               clk_i,
  input  logic               rst_ni,

  // log2 of the partitions in use; constant while a walk is inside or an answer is owed
  input  logic [1:0]         log_parts_i,
  // Partition of the walk that may be put in: there is a free slot for it, and which.
  input  logic [PartW-1:0]   load_part_i,
  output logic               room_o,
  output logic [SlotW-1:0]   slot_o,
  // A walk that may be put into it, and in the same clock whether it is. `again`: back to the
  // walker when its line is gone; `told`: no walk, only the answer is owed.
  input  logic               load_valid_i,
  input  logic [CtxW-1:0]    load_ctx_i,
  input  logic [WorkW-1:0]   load_work_i,
  input  logic               put_valid_i,    // implies load_valid_i
  input  logic               put_again_i,
  input  logic               put_told_i,
  // The line of this context's walk has been dropped; whether the walk is in a slot.
  input  logic               killed_valid_i,
  input  logic [CtxW-1:0]    killed_ctx_i,
  output logic               killed_mine_o,
  // A walk back to the walker, to go on or to be refused.
  output logic               go_valid_o,
  input  logic               go_ready_i,
  output logic               go_refuse_o,
  output logic               go_absent_o,    // refused by the host; else RETRY
  output logic [CtxW-1:0]    go_ctx_o,
  output logic [WorkW-1:0]   go_work_o,
  // Walks of this client must not wait.
  input  logic [Clients-1:0] stop_i,
  // The host has taken note of the fault of this slot. Not before that it can answer it.
  input  logic               taken_valid_i,
  input  logic [SlotW-1:0]   taken_slot_i,
  // Answer of the host; the clock after, whether one was owed.
  input  logic               ans_valid_i,
  input  logic [SlotW-1:0]   ans_slot_i,
  input  logic               ans_refuse_i,
  output logic               ans_ok_o,
  // Forget what is owed (no walk is inside).
  input  logic               clear_i
);

  if (Slots < 1 || Slots > 32) begin : g_bad_slots
    $fatal(1, "tpt_page_fault: Slots must be 1 to 32");
  end
  if (Parts != 1 && (Parts != 4 || (Slots & (Slots - 1)) != 0)) begin : g_bad_parts
    $fatal(1, "tpt_page_fault: Parts must be 1, or 4 with a power of two of slots");
  end

  logic [Slots-1:0]           kill_q, wait_q, go_q, stop_q, owed_q, absent_q, taken_q;
  logic [Slots-1:0][CtxW-1:0] ctx_q;
  logic [Slots-1:0]           free, back, put, killed, answer, take, stop;

  function automatic logic [SlotW-1:0] lowest(logic [Slots-1:0] set);
    logic [SlotW-1:0] n;
    n = '0;
    for (int s = int'(Slots) - 1; s >= 0; s--) begin
      if (set[s]) n = SlotW'(s);
    end
    return n;
  endfunction

  // Slots of each partition: those whose number is equal to its own in the lowest bits.
  logic [Parts-1:0][Slots-1:0] own;
  always_comb begin
    for (int unsigned p = 0; p < Parts; p++) begin
      for (int unsigned s = 0; s < Slots; s++) begin
        logic [PartW-1:0] unlike;
        unlike    = PartW'(s ^ p) & PartW'(Slots - 1);
        own[p][s] = (unlike & ~({PartW{1'b1}} << log_parts_i)) == '0;
      end
    end
  end

  // The free slot of each partition is chosen a clock ahead, for both cases of what is late.
  logic [Parts-1:0]            room_q;
  logic [Parts-1:0][SlotW-1:0] slot_q;
  logic             room, put_q, again_q, told_q;
  logic [SlotW-1:0] slot, put_slot_q;
  logic [Slots-1:0] left, left_put;
  assign left     = free & ~put;
  assign left_put = left & ~(Slots'(1) << slot);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      room_q <= '0;
      put_q  <= 1'b0;
    end else begin
      for (int unsigned p = 0; p < Parts; p++) begin
        room_q[p] <= put_valid_i ? (|(left_put & own[p])) : (|(left & own[p]));
      end
      put_q <= put_valid_i;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Parts; p++) begin
      slot_q[p] <= put_valid_i ? lowest(left_put & own[p]) : lowest(left & own[p]);
    end
    put_slot_q <= slot;
    again_q    <= put_again_i;
    told_q     <= put_told_i;
  end
  if (Parts > 1) begin : g_parts
    assign room = room_q[load_part_i];
    assign slot = slot_q[load_part_i];
  end else begin : g_one_part
    assign room = room_q[0];
    assign slot = slot_q[0];
    logic unused_part;
    assign unused_part = ^load_part_i;
  end
  assign room_o = room;
  assign slot_o = slot;

  // Back to the walker: its work is read in the clock in which it is chosen.
  logic             go_valid_q;
  logic [SlotW-1:0] go_slot_q, go_slot;
  assign go_slot = lowest(back);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) go_valid_q <= 1'b0;
    else if (!go_valid_q || go_ready_i) go_valid_q <= (|back) && !go_valid_q;
  end
  always_ff @(posedge clk_i) begin
    if (!go_valid_q) go_slot_q <= go_slot;
  end
  tpt_ram_1r1w #(.Width(WorkW), .Depth(1 << SlotW)) u_work (
    .clk_i,
    .we_i   (load_valid_i && room),
    .waddr_i(slot),
    .wdata_i(load_work_i),
    .raddr_i(go_valid_q ? go_slot_q : go_slot),
    .rdata_o(go_work_o)
  );
  assign go_valid_o  = go_valid_q;
  assign go_refuse_o = stop_q[go_slot_q];
  assign go_absent_o = absent_q[go_slot_q];
  assign go_ctx_o    = ctx_q[go_slot_q];

  logic [Slots-1:0] mine;
  assign killed_mine_o = |mine;

  always_comb begin
    for (int unsigned s = 0; s < Slots; s++) begin
      logic client_stop;
      client_stop = (Clients == 1) ? stop_i[0] : stop_i[ctx_q[s][CtxW-1-:ClientW]];
      free[s]   = !kill_q[s] && !wait_q[s] && !go_q[s] && !stop_q[s] && !owed_q[s];
      put[s]    = put_q && put_slot_q == SlotW'(s);
      mine[s]   = kill_q[s] && ctx_q[s] == killed_ctx_i;
      killed[s] = killed_valid_i && mine[s];
      answer[s] = ans_valid_i && ans_slot_i == SlotW'(s) && taken_q[s];
      back[s]   = (go_q[s] || stop_q[s]) && !kill_q[s] && !wait_q[s];
      take[s]   = go_valid_q && go_ready_i && go_slot_q == SlotW'(s);
      stop[s]   = client_stop && wait_q[s] && !go_q[s];
    end
  end

  // `kill` the line is being dropped; `wait` for the host; `go` goes on; `stop` is to be refused.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {kill_q, wait_q, go_q, stop_q, owed_q, absent_q, taken_q} <= '0;
      ans_ok_o <= 1'b0;
    end else begin
      ans_ok_o <= |answer;
      for (int unsigned s = 0; s < Slots; s++) begin
        if (put[s]) begin
          kill_q[s]   <= !told_q;
          wait_q[s]   <= !told_q && !again_q;
          go_q[s]     <= again_q;
          owed_q[s]   <= !again_q;
          absent_q[s] <= 1'b0;
        end
        if (taken_valid_i && taken_slot_i == SlotW'(s)) taken_q[s] <= 1'b1;
        if (killed[s]) kill_q[s] <= 1'b0;
        if (stop[s]) begin
          wait_q[s] <= 1'b0;
          stop_q[s] <= 1'b1;
        end
        if (answer[s]) begin
          owed_q[s]  <= 1'b0;
          taken_q[s] <= 1'b0;
          // a walk that was stopped in this clock stays so
          if (wait_q[s] && !stop[s]) begin
            wait_q[s]   <= 1'b0;
            go_q[s]     <= !ans_refuse_i;
            stop_q[s]   <= ans_refuse_i;
            absent_q[s] <= ans_refuse_i;
          end
        end
        if (take[s]) begin
          go_q[s]   <= 1'b0;
          stop_q[s] <= 1'b0;
        end
      end
      if (clear_i) {owed_q, taken_q} <= '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load_valid_i && room) ctx_q[slot] <= load_ctx_i;
  end

  `TPT_ASSERT(PutFree_A, !put_valid_i || (load_valid_i && room))
  for (genvar p = 0; p < Parts; p++) begin : g_part_asserts
    `TPT_ASSERT(RoomFree_A, !room_q[p] || (free[slot_q[p]] && !put[slot_q[p]]))
  end
  `TPT_ASSERT(OneState_A, (go_q & stop_q) == '0 && (wait_q & (go_q | stop_q)) == '0)
  `TPT_ASSERT(MineOnce_A, (mine & (mine - 1'b1)) == '0 || !killed_valid_i)
  `TPT_ASSERT(TakenIsOwed_A, (taken_q & ~owed_q) == '0 &&
              (!taken_valid_i || (owed_q[taken_slot_i] && !taken_q[taken_slot_i])))
  `TPT_ASSERT(WaitIsOwed_A, (wait_q & ~owed_q) == '0)
  `TPT_ASSERT(ClearIdle_A, !clear_i || (kill_q | wait_q | go_q | stop_q) == '0)

endmodule
