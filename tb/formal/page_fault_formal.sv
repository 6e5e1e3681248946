// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_page_fault: a walk that is put in comes out once, as it is, in the way that the host's
/// answer or a stop decides; each fault that is told is owed one answer and takes one; no slot is
/// lost. With partitions a walk is put only into a slot of its own one, and whether there is room
/// for it depends on nothing but what its own slots hold: no other partition can take it away.
module page_fault_formal import tpt_pkg::*; #(
  parameter int unsigned Slots   = 2,
  parameter int unsigned Parts   = 1,
  localparam int unsigned CtxW   = 3,
  localparam int unsigned WorkW  = 4,
  localparam int unsigned SlotW  = (Slots > 1) ? $clog2(Slots) : 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [1:0]       log_parts_i,
  input logic [PartW-1:0] load_part_i,
  input logic             put_valid_i,
  input logic             put_again_i,
  input logic             put_told_i,
  input logic             load_valid_i,
  input logic [CtxW-1:0]  load_ctx_i,
  input logic [WorkW-1:0] load_work_i,
  input logic             killed_valid_i,
  input logic [CtxW-1:0]  killed_ctx_i,
  input logic             go_ready_i,
  input logic [1:0]       stop_i,
  input logic             taken_valid_i,
  input logic [SlotW-1:0] taken_slot_i,
  input logic             ans_valid_i,
  input logic [SlotW-1:0] ans_slot_i,
  input logic             ans_refuse_i,
  input logic             clear_i
);
  `TPT_FORMAL_RESET

  logic             room, killed_mine, go_valid, go_refuse, go_absent, ans_ok;
  logic [SlotW-1:0] slot;
  logic [CtxW-1:0]  go_ctx;
  logic [WorkW-1:0] go_work;
  tpt_page_fault #(
    .Slots(Slots), .WorkW(WorkW), .CtxW(CtxW), .Clients(2), .Parts(Parts)
  ) dut (
    .clk_i, .rst_ni, .log_parts_i, .load_part_i, .room_o(room), .slot_o(slot), .put_valid_i,
    .put_again_i, .put_told_i, .load_valid_i, .load_ctx_i, .load_work_i, .killed_valid_i,
    .killed_ctx_i, .killed_mine_o(killed_mine),
    .go_valid_o(go_valid), .go_ready_i, .go_refuse_o(go_refuse), .go_absent_o(go_absent),
    .go_ctx_o(go_ctx), .go_work_o(go_work), .stop_i, .taken_valid_i, .taken_slot_i, .ans_valid_i,
    .ans_slot_i, .ans_refuse_i, .ans_ok_o(ans_ok), .clear_i
  );

  // Partitions in use: constant, at most as many as there can be.
  logic [1:0] log_parts_q;
  always_ff @(posedge clk_i) log_parts_q <= log_parts_i;
  always @(posedge clk_i) begin
    Parts_A: assume (!init_q || log_parts_i == log_parts_q);
    PartsMost_A: assume ((1 << log_parts_i) <= Parts);
    PartOne_A: assume (32'(load_part_i) < (1 << log_parts_i));
  end
  // Groups of slots: as many as partitions, or one for each slot.
  function automatic logic together(int unsigned slot_number, int unsigned part);
    int unsigned groups;
    groups = 32'd1 << log_parts_i;
    if (groups > Slots) groups = Slots;
    return slot_number % groups == part % groups;
  endfunction

  // What the user keeps: puts only with room, a context in one slot at most, notes each fault once.
  logic [Slots-1:0]            in_q, killed_q, owed_q, noted_q;
  logic [Slots-1:0][CtxW-1:0]  ctx_q;
  logic [Slots-1:0][WorkW-1:0] work_q;
  logic [Slots-1:0][PartW-1:0] part_q;
  logic [Slots-1:0]            same;
  always_comb begin
    for (int unsigned s = 0; s < Slots; s++) same[s] = in_q[s] && ctx_q[s] == load_ctx_i;
  end
  // What was put a clock ago: the slot takes note of it now.
  logic             late_q, late_again_q, late_told_q;
  logic [SlotW-1:0] late_slot_q;
  logic [CtxW-1:0]  late_ctx_q;
  logic [WorkW-1:0] late_work_q;
  logic [PartW-1:0] late_part_q;
  always_ff @(posedge clk_i) begin
    late_q       <= rst_ni && put_valid_i;
    late_again_q <= put_again_i;
    late_told_q  <= put_told_i;
    late_slot_q  <= slot;
    late_ctx_q   <= load_ctx_i;
    late_work_q  <= load_work_i;
    late_part_q  <= load_part_i;
  end
  `TPT_ASSERT(Late_A, dut.put_q == late_q && (!late_q || (dut.put_slot_q == late_slot_q &&
                      dut.again_q == late_again_q && dut.told_q == late_told_q &&
                      dut.free[late_slot_q] && dut.ctx_q[late_slot_q] == late_ctx_q &&
                      dut.u_work.mem[late_slot_q] == late_work_q)))
  `TPT_ASSERT(LateOther_A, !late_q || !room || slot != late_slot_q)
  logic [Slots-1:0] late_same;
  always_comb begin
    for (int unsigned s = 0; s < Slots; s++) late_same[s] = in_q[s] && ctx_q[s] == late_ctx_q;
  end
  `TPT_ASSERT(LateOnce_A, !late_q || late_told_q || late_same == '0)
  `TPT_ASSUME(PutRoom_A, !put_valid_i || (room && load_valid_i))
  `TPT_ASSUME(PutOnce_A, !put_valid_i || (same == '0 && !(put_again_i && put_told_i) &&
                                          !(late_q && late_ctx_q == load_ctx_i)))
  // The line of a walk is gone some clocks after it was put in.
  `TPT_ASSUME(KilledLater_A, !killed_valid_i || !late_q || killed_ctx_i != late_ctx_q)
  `TPT_ASSUME(Noted_A, !taken_valid_i || (32'(taken_slot_i) < Slots && owed_q[taken_slot_i] &&
                                          !noted_q[taken_slot_i]))
  `TPT_ASSUME(Clear_A, !clear_i || (in_q == '0 && !put_valid_i && !late_q && !taken_valid_i &&
                                      !ans_valid_i))
  `TPT_ASSUME(Answer_A, !ans_valid_i || 32'(ans_slot_i) < Slots)

  logic go;
  logic answered;
  assign go       = go_valid && go_ready_i;
  assign answered = ans_valid_i && noted_q[ans_slot_i];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_q    <= '0;
      owed_q  <= '0;
      noted_q <= '0;
    end else begin
      if (go) in_q[dut.go_slot_q] <= 1'b0;
      for (int unsigned s = 0; s < Slots; s++) begin
        if (killed_valid_i && in_q[s] && ctx_q[s] == killed_ctx_i) killed_q[s] <= 1'b1;
      end
      if (taken_valid_i) noted_q[taken_slot_i] <= 1'b1;
      if (answered) begin
        owed_q[ans_slot_i]  <= 1'b0;
        noted_q[ans_slot_i] <= 1'b0;
      end
      if (late_q) begin
        in_q[late_slot_q]     <= !late_told_q;
        killed_q[late_slot_q] <= 1'b0;
        owed_q[late_slot_q]   <= !late_again_q;
        ctx_q[late_slot_q]    <= late_ctx_q;
        work_q[late_slot_q]   <= late_work_q;
        part_q[late_slot_q]   <= late_part_q;
      end
      if (clear_i) begin
        owed_q  <= '0;
        noted_q <= '0;
      end
    end
  end

  for (genvar s = 0; s < Slots; s++) begin : g_slot
    // A walk is in exactly one state as long as it is inside; a slot without one holds none.
    `TPT_ASSERT(In_A, in_q[s] == (dut.wait_q[s] || dut.go_q[s] || dut.stop_q[s]))
    `TPT_ASSERT(One_A, 2'(dut.wait_q[s]) + 2'(dut.go_q[s]) + 2'(dut.stop_q[s]) <= 2'd1)
    `TPT_ASSERT(Killed_A, !in_q[s] || dut.kill_q[s] == !killed_q[s])
    `TPT_ASSERT(KillIn_A, in_q[s] || !dut.kill_q[s])
    `TPT_ASSERT(Ctx_A, !in_q[s] || (dut.ctx_q[s] == ctx_q[s] && dut.u_work.mem[s] == work_q[s]))
    `TPT_ASSERT(Owed_A, dut.owed_q[s] == owed_q[s])
    `TPT_ASSERT(Noted_A, dut.taken_q[s] == noted_q[s] && (!noted_q[s] || owed_q[s]))
    // With no partitions in use slots are everybody's.
    `TPT_ASSERT(Mine_A, !(in_q[s] || owed_q[s]) || together(s, 32'(part_q[s])))
    for (genvar t = 0; t < s; t++) begin : g_other
      `TPT_ASSERT(Once_A, !in_q[s] || !in_q[t] || ctx_q[s] != ctx_q[t])
    end
    // Progress: what may go back does, while the walker takes what comes.
    logic [5:0] age_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || !go_ready_i || !dut.back[s]) age_q <= '0;
      else age_q <= age_q + 6'd1;
    end
    if (s == 0) begin : g_first
      // the lowest slot goes first: it waits for the one that is chosen, and for itself
      logic [5:0] left;
      assign left = !go_valid ? 6'd2 : (dut.go_slot_q == '0) ? 6'd1 : 6'd3;
      `TPT_ASSERT(Goes_A, !dut.back[s] || age_q + left <= 6'd3)
    end
    `TPT_COVER(Refused_C, go && go_refuse && go_absent && 32'(dut.go_slot_q) == s)
    `TPT_COVER(Stopped_C, go && go_refuse && !go_absent && 32'(dut.go_slot_q) == s && owed_q[s])
  end
  // A slot is lost to nobody: it is free when no walk is inside and nothing is owed.
  `TPT_ASSERT(Free_A, dut.free == ~(in_q | owed_q))
  `TPT_ASSERT(GoThere_A, !go_valid || 32'(dut.go_slot_q) < Slots)
  `TPT_ASSERT(GoIn_A, !go_valid || (in_q[dut.go_slot_q] && killed_q[dut.go_slot_q] &&
                                    dut.back[dut.go_slot_q]))
  `TPT_ASSERT(GoAs_A, !go_valid || (go_ctx == ctx_q[dut.go_slot_q] &&
                                    go_work == work_q[dut.go_slot_q]))
  `TPT_ASSERT(WorkRead_A, !go_valid || dut.u_work.g_no_out_reg.rdata_q ==
                          work_q[dut.go_slot_q])
  // Only the host lets an absent page go on, or refuses it.
  logic ok_q;
  always_ff @(posedge clk_i) ok_q <= rst_ni && answered;
  `TPT_ASSERT(AnswerOnce_A, ans_ok == ok_q)
  `TPT_ASSERT(LateMine_A, !late_q || together(32'(late_slot_q), 32'(late_part_q)))
  // Room: of each partition exactly when a clock ago one of its own slots was left. Nothing else
  // comes in.
  for (genvar p = 0; p < Parts; p++) begin : g_part
    logic             left_q;
    logic [Slots-1:0] left;
    always_comb begin
      for (int unsigned s = 0; s < Slots; s++) begin
        left[s] = together(s, p) && !in_q[s] && !owed_q[s] &&
                  !(late_q && 32'(late_slot_q) == s) && !(put_valid_i && 32'(slot) == s);
      end
    end
    always_ff @(posedge clk_i) left_q <= rst_ni && left != '0;
    `TPT_ASSERT(RoomOwn_A, dut.room_q[p] == left_q)
    `TPT_ASSERT(SlotOwn_A, !dut.room_q[p] || together(32'(dut.slot_q[p]), p))
  end
  `TPT_ASSERT(Room_A, !room || (dut.free[slot] && 32'(slot) < Slots))

  `TPT_COVER(Full_C, (in_q | owed_q) == '1)
  `TPT_COVER(Again_C, go && !go_refuse && !owed_q[dut.go_slot_q])
  if (Parts > 1 && Slots > 1) begin : g_part_covers
    `TPT_COVER(OtherFull_C, log_parts_i == 2'd1 && !dut.room_q[0] && dut.room_q[1] &&
                            load_part_i == PartW'(1) && put_valid_i)
  end
  `TPT_COVER(LateAnswer_C, answered && !in_q[ans_slot_i])
endmodule
