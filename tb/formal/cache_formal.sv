// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_cache in partitions.
///
/// * A look-up, a fill or the removal of a line changes tags, marks of use, data and the place of
///   the search for a victim in sets of its own partition only. Other passes are those of an
///   invalidation or a sweep: all they do to a set is to remove stored lines.
/// * It looks for a victim with what its own set holds, and with the place of its own partition. It
///   is repeated only if its own set was just written, or all of that is on its way.
/// * A look-up hits exactly if its own set holds its key, joins exactly if that line is on its way,
///   and gets the data of that line. The line was brought in by a look-up of its own partition.
/// * An invalidation has looked into its set of every partition before it is done.
///
/// What this rests on is shown as well: each context is in exactly one place (with the user, in one
/// queue, in one stage, in one list), lists are whole, a key is in one way only, and a line is on
/// its way exactly if its owner reads it.
///
/// The partition of each look-up is what the solver likes, and so is what the user does, but for
/// what tpt_cache asks of him. Set numbers are made as tpt_mpt_lookup and tpt_mtt_walker do.
/// Payloads may come at any time.
module cache_formal import tpt_pkg::*; #(
  parameter int unsigned NumCtx = 2,
  parameter int unsigned Ways   = 2,
  parameter int unsigned Beats  = 1,
  parameter int unsigned Guide  = 0,     // covers: what the user does is laid down in part
  localparam int unsigned Sets  = 8,
  localparam int unsigned KeyW  = 3,
  localparam int unsigned IndexW = 2,
  localparam int unsigned DataW = 2,
  localparam int unsigned CtxW  = $clog2(NumCtx),
  localparam int unsigned SetW  = $clog2(Sets),
  localparam int unsigned WayW  = (Ways > 1) ? $clog2(Ways) : 1
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              sub_valid_i,
  input logic [CtxW-1:0]   sub_ctx_i,
  input logic [PartW-1:0]  sub_part_i,
  input logic [SetW-1:0]   sub_hash_i,
  input logic [KeyW-1:0]   sub_key_i,
  input logic              sub_aux_i,
  input logic              pay_valid_i,
  input logic [CtxW-1:0]   pay_ctx_i,
  input logic              pay_bypass_i,
  input logic              pay_probe_i,
  input logic              pay_i,
  input logic              p4_known_i,
  input logic [CtxW-1:0]   fill_pre_ctx_i,
  input logic [Beats-1:0]  fill_we_i,
  input logic [CtxW-1:0]   fill_ctx_i,
  input logic [DataW/Beats-1:0] fill_data_i,
  input logic              fdone_valid_i,
  input logic [CtxW-1:0]   fdone_ctx_i,
  input logic              fdone_store_i,
  input logic              fdone_err_i,
  input logic              kill_valid_i,
  input logic [CtxW-1:0]   kill_ctx_i,
  input logic [1:0]        log_parts_i,
  input logic              inv_valid_i,
  input logic [SetW-1:0]   inv_set_i,
  input logic [KeyW-1:0]   inv_key_i,
  input logic              sweep_valid_i,
  input logic              sweep_all_i,
  input logic [IndexW-1:0] sweep_index_i,
  input logic [SetW-1:0]   watch_i        // this set is watched
);
  `TPT_FORMAL_RESET

  // The set of a look-up is in its partition.
  logic [SetW-1:0] sub_set;
  always_comb begin
    sub_set = sub_hash_i;
    sub_set[SetW-1 -: PartW] = part_top(sub_hash_i[SetW-1 -: PartW], sub_part_i, log_parts_i);
  end

  logic              ready, res_valid, res_hit, res_fill, res_miss, res_bypass, res_killed;
  logic [CtxW-1:0]   res_ctx, rd_ctx;
  logic              res_err, res_pay, rd_valid, rd_pay, rd_probe, p1_aux, p2_aux;
  logic [KeyW-1:0]   res_key, p2_key;
  logic [DataW-1:0]  res_data;
  logic              inv_done, sweep_done, ev_hit, ev_miss, ev_evict;
  tpt_cache #(
    .NumCtx(NumCtx), .Sets(Sets), .Ways(Ways), .KeyW(KeyW), .IndexW(IndexW), .PayW(1), .AuxW(1),
    .DataW(DataW), .Beats(Beats), .ErrW(1), .Parts(4)
  ) dut (
    .clk_i, .rst_ni, .ready_o(ready), .sub_valid_i, .sub_ctx_i, .sub_set_i(sub_set), .sub_key_i,
    .sub_aux_i, .pay_valid_i, .pay_ctx_i, .pay_bypass_i, .pay_probe_i, .pay_i, .p1_aux_o(p1_aux),
    .p2_key_o(p2_key), .p2_aux_o(p2_aux), .p4_known_i, .res_valid_o(res_valid),
    .res_ctx_o(res_ctx), .res_hit_o(res_hit), .res_fill_o(res_fill), .res_miss_o(res_miss),
    .res_bypass_o(res_bypass), .res_killed_o(res_killed), .res_err_o(res_err),
    .res_key_o(res_key), .res_pay_o(res_pay), .res_data_o(res_data), .rd_valid_o(rd_valid),
    .rd_ctx_o(rd_ctx), .rd_pay_o(rd_pay), .rd_probe_o(rd_probe), .fill_pre_ctx_i, .fill_we_i,
    .fill_ctx_i, .fill_data_i, .fdone_valid_i, .fdone_ctx_i, .fdone_store_i, .fdone_err_i,
    .kill_valid_i, .kill_ctx_i, .log_parts_i, .inv_valid_i, .inv_set_i, .inv_key_i,
    .inv_done_o(inv_done), .sweep_valid_i, .sweep_all_i, .sweep_index_i,
    .sweep_done_o(sweep_done), .ev_hit_o(ev_hit), .ev_miss_o(ev_miss), .ev_evict_o(ev_evict)
  );

  // ---------------------------------------------------------------------------------------------
  // The user
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    Out,     // the context is the user's
    In,
    Reads    // the user has been asked to read its line
  } use_e;
  logic [NumCtx-1:0][1:0]       use_q;
  logic [NumCtx-1:0]            ever_q;    // it has been submitted
  logic [NumCtx-1:0][PartW-1:0] part_q;    // for this partition,
  logic [NumCtx-1:0][SetW-1:0]  set_q;     // with this set
  logic [NumCtx-1:0][KeyW-1:0]  key_q;     // and this key
  logic [CtxW-1:0]              pre_q;
  always_ff @(posedge clk_i) begin
    pre_q <= fill_pre_ctx_i;
    if (!rst_ni) begin
      use_q  <= '0;
      ever_q <= '0;
    end else begin
      if (res_valid) use_q[res_ctx] <= Out;
      if (rd_valid) use_q[rd_ctx] <= Reads;
      if (fdone_valid_i) use_q[fdone_ctx_i] <= In;
      if (kill_valid_i) use_q[kill_ctx_i] <= In;
      if (sub_valid_i) begin
        use_q[sub_ctx_i]  <= In;
        ever_q[sub_ctx_i] <= 1'b1;
        part_q[sub_ctx_i] <= sub_part_i & ~(2'b11 << log_parts_i);
        set_q[sub_ctx_i]  <= sub_set;
        key_q[sub_ctx_i]  <= sub_key_i;
      end
    end
  end
  `TPT_ASSUME(SubOut_A, !sub_valid_i || use_q[sub_ctx_i] == Out)
  `TPT_ASSUME(KillOut_A, !kill_valid_i || (ready && use_q[kill_ctx_i] == Out &&
                                           ever_q[kill_ctx_i] &&
                                           !(sub_valid_i && sub_ctx_i == kill_ctx_i)))
  `TPT_ASSUME(FillAsked_A, !fdone_valid_i || use_q[fdone_ctx_i] == Reads)
  `TPT_ASSUME(BeatAsked_A, fill_we_i == '0 || use_q[fill_ctx_i] == Reads)
  `TPT_ASSUME(FillPre_A, Beats > 1 || fill_we_i == '0 || fill_ctx_i == pre_q)
  `TPT_ASSUME(FillData_A, Beats > 1 || !fdone_store_i || fill_we_i != '0)
  // Constants, and what is held until it is done.
  logic              inv_held_q, sweep_held_q, was_all_q;
  logic [SetW-1:0]   was_set_q, watch_q;
  logic [KeyW-1:0]   was_key_q;
  logic [IndexW-1:0] was_index_q;
  logic [1:0]        was_log_q;
  always_ff @(posedge clk_i) begin
    inv_held_q   <= rst_ni && inv_valid_i && !inv_done;
    sweep_held_q <= rst_ni && sweep_valid_i && !sweep_done;
    was_set_q    <= inv_set_i;
    was_key_q    <= inv_key_i;
    was_all_q    <= sweep_all_i;
    was_index_q  <= sweep_index_i;
    was_log_q    <= log_parts_i;
    watch_q      <= watch_i;
  end
  `TPT_ASSUME(InvHeld_A, !inv_held_q || (inv_valid_i && inv_set_i == was_set_q &&
                                         inv_key_i == was_key_q))
  `TPT_ASSUME(SweepHeld_A, !sweep_held_q || (sweep_valid_i && sweep_all_i == was_all_q &&
                                             sweep_index_i == was_index_q))
  always @(posedge clk_i) begin
    Watch_A: assume (!init_q || watch_i == watch_q);
    Log_A: assume (log_parts_i <= 2'd2 && (!init_q || log_parts_i == was_log_q));
  end

  function automatic logic [PartW-1:0] part_of(logic [SetW-1:0] set, logic [1:0] log_parts);
    return PartW'({2'b00, set[SetW-1 -: PartW]} << log_parts >> PartW);
  endfunction

  // ---------------------------------------------------------------------------------------------
  // What the memories hold
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    Inv   = 2'd0,
    Valid = 2'd1,
    Pend  = 2'd2
  } line_e;
  typedef struct packed {
    logic [1:0]      state;
    logic [CtxW-1:0] owner;
    logic [KeyW-1:0] key;
  } tag_t;
  typedef enum logic [2:0] {
    Look  = 3'd0,
    Fill  = 3'd1,
    Kill  = 3'd2,
    Inval = 3'd3,
    Sweep = 3'd4
  } pass_e;

  tag_t [Ways-1:0][Sets-1:0]             tags;
  logic [Ways-1:0][Sets-1:0][DataW-1:0]  data;
  logic [Sets-1:0][Ways-1:0]             used;
  for (genvar s = 0; s < Sets; s++) begin : g_see
    assign used[s] = dut.u_used.mem[s];
    for (genvar w = 0; w < Ways; w++) begin : g_see_way
      assign tags[w][s] = dut.g_way[w].u_tag.mem[s];
      for (genvar b = 0; b < Beats; b++) begin : g_see_beat
        assign data[w][s][b*DataW/Beats +: DataW/Beats] = dut.g_beat[b].u_data.mem[w * Sets + s];
      end
    end
  end
  logic [NumCtx-1:0][SetW-1:0] ram_set;
  logic [NumCtx-1:0][KeyW-1:0] ram_key;
  for (genvar c = 0; c < NumCtx; c++) begin : g_see_ctx
    assign {ram_set[c], ram_key[c]} = dut.u_key.mem[c][SetW+KeyW:1];
    `TPT_ASSERT(Submitted_A, !ever_q[c] || (ram_set[c] == set_q[c] && ram_key[c] == key_q[c] &&
                part_of(set_q[c], log_parts_i) == part_q[c]))
    if (Beats == 1) begin : g_copy
      `TPT_ASSERT(Copy_A, !ever_q[c] || dut.g_inject.u_key.mem[c] == dut.u_key.mem[c])
    end
    `TPT_ASSERT(Ever_A, ever_q[c] || use_q[c] == Out)
    `TPT_ASSERT(Use_A, use_q[c] <= Reads)
  end

  // ---------------------------------------------------------------------------------------------
  // Lists of those who wait: whose list (of an owner, woken, being woken), and the place in it
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    None,
    Own,     // in the list of owner `list_q`
    Woken,   // in a list that waits for its turn; `list_q` is its first
    Turn     // in the list whose turn it is
  } list_e;
  logic [NumCtx-1:0][1:0]      kind_q;
  logic [NumCtx-1:0][CtxW-1:0] list_q;
  logic [NumCtx-1:0][CtxW-1:0] pos_q;
  logic [CtxW-1:0]             length;   // of the list that P4 joins
  always_comb begin
    length = '0;
    for (int unsigned c = 0; c < NumCtx; c++) begin
      length = length + CtxW'(kind_q[c] == Own && list_q[c] == dut.p4_owner_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      kind_q <= '0;
    end else begin
      for (int unsigned c = 0; c < NumCtx; c++) begin
        if (dut.wlq_push && kind_q[c] == Own && list_q[c] == dut.p4_q.ctx) begin
          kind_q[c] <= Woken;
          list_q[c] <= dut.wfirst;
        end
        if (dut.hand_on && kind_q[c] == Own && list_q[c] == dut.p4_q.ctx) begin
          list_q[c] <= dut.wfirst;
          pos_q[c]  <= pos_q[c] - 1'b1;
          if (pos_q[c] == '0) kind_q[c] <= None;
        end
        if (dut.wlq_pop && kind_q[c] == Woken && list_q[c] == dut.wlq_ctx) kind_q[c] <= Turn;
        if (dut.wk_pop && kind_q[c] == Turn) begin
          pos_q[c] <= pos_q[c] - 1'b1;
          if (pos_q[c] == '0) kind_q[c] <= None;
        end
      end
      if (dut.look_join) begin
        kind_q[dut.p4_q.ctx] <= Own;
        list_q[dut.p4_q.ctx] <= dut.p4_owner_q;
        pos_q[dut.p4_q.ctx]  <= length;
      end
    end
  end
  logic [NumCtx-1:0][NumCtx-1:0] together, after;   // after[c][d]: d comes behind c
  for (genvar c = 0; c < NumCtx; c++) begin : g_list
    logic in_own, any;
    logic [NumCtx-1:0] mine;
    for (genvar d = 0; d < NumCtx; d++) begin : g_other
      assign together[c][d] = kind_q[c] != None && kind_q[c] == kind_q[d] &&
                              (kind_q[c] == Turn || list_q[c] == list_q[d]);
      assign after[c][d]    = together[c][d] && {1'b0, pos_q[d]} == {1'b0, pos_q[c]} + 1'b1;
      assign mine[d]        = kind_q[d] == Own && 32'(list_q[d]) == c;
      if (c != d) begin : g_differ
        `TPT_ASSERT(Order_A, !together[c][d] || pos_q[c] != pos_q[d])
        `TPT_ASSERT(Next_A, !after[c][d] || (dut.wmore_q[c] && 32'(dut.wnext[c]) == d))
      end
    end
    logic [NumCtx-1:0] ahead;
    always_comb begin
      for (int unsigned d = 0; d < NumCtx; d++) ahead[d] = after[d][c];
    end
    `TPT_ASSERT(Before_A, kind_q[c] == None || pos_q[c] == '0 || ahead != '0)
    `TPT_ASSERT(More_A, kind_q[c] == None || dut.wmore_q[c] == (after[c] != '0))
    `TPT_ASSERT(Any_A, dut.wany_q[c] == (mine != '0))
    `TPT_ASSERT(Head_A, kind_q[c] != Own || (pos_q[c] == '0) ==
                        (32'(dut.whead[list_q[c]]) == c))
    `TPT_ASSERT(Tail_A, kind_q[c] != Own || (after[c] == '0) ==
                        (32'(dut.wtail[list_q[c]]) == c))
    `TPT_ASSERT(Woken_A, kind_q[c] != Woken || (pos_q[c] == '0) == (32'(list_q[c]) == c))
    `TPT_ASSERT(Turn_A, kind_q[c] != Turn ||
                        (dut.wk_valid_q && (pos_q[c] == '0) == (32'(dut.wk_ctx_q) == c)))
    // who waits has no list
    `TPT_ASSERT(NoList_A, kind_q[c] == None || !dut.wany_q[c])
    `TPT_ASSERT(OwnOther_A, kind_q[c] != Own || 32'(list_q[c]) != c)
  end
  `TPT_ASSERT(TurnOf_A, !dut.wk_valid_q || (kind_q[dut.wk_ctx_q] == Turn &&
                                            pos_q[dut.wk_ctx_q] == '0))

  // ---------------------------------------------------------------------------------------------
  // Each context is in one place
  // ---------------------------------------------------------------------------------------------
  function automatic logic in_queue(logic [CtxW-1:0] slot, logic [CtxW-1:0] first,
                                    logic [CtxW:0] number);
    return {1'b0, CtxW'(slot - first)} < number;
  endfunction

  logic [NumCtx-1:0][NumCtx-1:0] new_at, rty_at, rtk_at, fil_at, kil_at, wlq_at;   // [slot][ctx]
  for (genvar i = 0; i < NumCtx; i++) begin : g_slot
    logic [CtxW-1:0] fil_ctx;
    assign fil_ctx = dut.u_filq.mem[i][CtxW+1 -: CtxW];
    for (genvar c = 0; c < NumCtx; c++) begin : g_at
      assign new_at[i][c] = in_queue(CtxW'(i), dut.u_newq.rptr_q, dut.u_newq.count_q) &&
                            32'(dut.u_newq.mem[i]) == c;
      assign rty_at[i][c] = in_queue(CtxW'(i), dut.u_rtyq.rptr_q, dut.u_rtyq.count_q) &&
                            32'(dut.u_rtyq.mem[i][CtxW-1:0]) == c;
      assign rtk_at[i][c] = rty_at[i][c] && dut.u_rtyq.mem[i][CtxW];
      assign fil_at[i][c] = in_queue(CtxW'(i), dut.u_filq.rptr_q, dut.u_filq.count_q) &&
                            32'(fil_ctx) == c;
      assign kil_at[i][c] = in_queue(CtxW'(i), dut.u_kilq.rptr_q, dut.u_kilq.count_q) &&
                            32'(dut.u_kilq.mem[i]) == c;
      assign wlq_at[i][c] = in_queue(CtxW'(i), dut.u_wlq.rptr_q, dut.u_wlq.count_q) &&
                            32'(dut.u_wlq.mem[i]) == c;
    end
  end

  logic            waits;        // a fill waits for its place in the pipeline
  logic [CtxW-1:0] wait_ctx;
  logic [4:1]      stage;        // a pass of a context is there
  logic [4:1][2:0] kind;
  logic [4:1][CtxW-1:0] ctx;
  assign kind  = {dut.p4_q.kind, dut.p3_q.kind, dut.p2_q.kind, dut.p1_q.kind};
  assign ctx   = {dut.p4_q.ctx, dut.p3_q.ctx, dut.p2_q.ctx, dut.p1_q.ctx};
  assign stage = {dut.p4_q.valid && kind[4] <= Kill, dut.p3_q.valid && kind[3] <= Kill,
                  dut.p2_q.valid && kind[2] <= Kill, dut.p1_q.valid && kind[1] <= Kill};

  logic [NumCtx-1:0] fills;      // its line is on its way
  for (genvar c = 0; c < NumCtx; c++) begin : g_place
    int unsigned places, woken;
    logic        kills;
    always_comb begin
      places   = 0;
      woken    = 0;
      kills    = 1'b0;
      fills[c] = use_q[c] == Reads || (waits && 32'(wait_ctx) == c);
      if (use_q[c] != In) places = places + 1;
      if (kind_q[c] != None) places = places + 1;
      if (waits && 32'(wait_ctx) == c) places = places + 1;
      for (int unsigned i = 1; i <= 4; i++) begin
        if (stage[i] && 32'(ctx[i]) == c) begin
          places = places + 1;
          if (kind[i] == Fill) fills[c] = 1'b1;
          if (kind[i] == Kill) kills = 1'b1;
        end
      end
      for (int unsigned i = 0; i < NumCtx; i++) begin
        if (new_at[i][c]) places = places + 1;
        if (rty_at[i][c]) places = places + 1;
        if (fil_at[i][c]) places = places + 1;
        if (kil_at[i][c]) places = places + 1;
        if (fil_at[i][c]) fills[c] = 1'b1;
        if (kil_at[i][c] || rtk_at[i][c] || new_at[i][c]) kills = 1'b1;
        if (wlq_at[i][c]) woken = woken + 1;
      end
    end
    `TPT_ASSERT(OnePlace_A, places == 1)
    `TPT_ASSERT(WokenFirst_A, woken == ((kind_q[c] == Woken && pos_q[c] == '0) ? 1 : 0))
    // who is new, or removes a line, or is the user's, has no list
    `TPT_ASSERT(ListOf_A, !dut.wany_q[c] || (!kills && use_q[c] != Out))
  end

  // The fill that waits, if lines have one beat.
  if (Beats == 1) begin : g_waits
    assign waits    = dut.g_inject.wait_q.valid && !dut.g_inject.act_q;
    assign wait_ctx = dut.g_inject.wait_q.ctx;
    `TPT_ASSERT(Act_A, !dut.g_inject.act_q || (dut.p4_fill && dut.g_inject.wait_q.valid &&
                       dut.p4_q.ctx == dut.g_inject.wait_q.ctx))
    `TPT_ASSERT(Go_A, !dut.g_inject.go_q || (dut.g_inject.wait_q.valid && !dut.g_inject.act_q))
    `TPT_ASSERT(Here_A, !dut.g_inject.here_q || (!waits && !dut.g_inject.go_q))
    `TPT_ASSERT(Place_A, !(dut.g_inject.go_q || dut.g_inject.here_q) || !dut.p3_q.valid)
    `TPT_ASSERT(WaitFill_A, !waits || (dut.g_inject.wait_q.kind == Fill &&
                dut.g_inject.wait_q.set == ram_set[dut.g_inject.wait_q.ctx] &&
                dut.g_inject.wait_key_q.key == ram_key[dut.g_inject.wait_q.ctx]))
    `TPT_ASSERT(ReadKey_A, use_q[pre_q] != Reads ||
                (dut.g_inject.read_key.set == ram_set[pre_q] &&
                 dut.g_inject.read_key.key == ram_key[pre_q]))
  end else begin : g_no_waits
    assign waits    = 1'b0;
    assign wait_ctx = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // Stages
  // ---------------------------------------------------------------------------------------------
  logic [4:1][SetW-1:0] at_set;
  assign at_set = {dut.p4_q.set, dut.p3_q.set, dut.p2_q.set, dut.p1_q.set};
  logic [4:1] control;   // a pass of an invalidation or a sweep
  assign control = {dut.p4_q.valid && kind[4] > Kill, dut.p3_q.valid && kind[3] > Kill,
                    dut.p2_q.valid && kind[2] > Kill, dut.p1_q.valid && kind[1] > Kill};
  `TPT_ASSERT(Kind_A, (!dut.p1_q.valid || kind[1] <= Sweep) &&
                      (!dut.p2_q.valid || kind[2] <= Sweep) &&
                      (!dut.p3_q.valid || kind[3] <= Sweep) &&
                      (!dut.p4_q.valid || kind[4] <= Sweep))
  `TPT_ASSERT(Control_A, $onehot0(control) && dut.ctl_busy_q == (control != '0))
  `TPT_ASSERT(P1_A, !stage[1] || (dut.p1_key.set == ram_set[ctx[1]] &&
                                  dut.p1_key.key == ram_key[ctx[1]]))
  `TPT_ASSERT(P2_A, !stage[2] || (dut.p2_q.set == ram_set[ctx[2]] &&
                                  dut.p2_key_q.key == ram_key[ctx[2]]))
  `TPT_ASSERT(P3_A, !stage[3] || (dut.p3_q.set == ram_set[ctx[3]] &&
                                  dut.p3_key_q.key == ram_key[ctx[3]]))
  `TPT_ASSERT(P4_A, !stage[4] || (dut.p4_q.set == ram_set[ctx[4]] &&
                                  dut.p4_key_q == ram_key[ctx[4]]))
  `TPT_ASSERT(P4Way_A, !dut.p4_fill || dut.p4_fway_q == dut.mshr_way[ctx[4]])
  for (genvar w = 0; w < Ways; w++) begin : g_read
    tag_t seen, now;
    assign seen = dut.tag_rdata[w];
    assign now  = tags[w][dut.p4_q.set];
    `TPT_ASSERT(P2Read_A, !dut.p2_q.valid || dut.g_way[w].u_tag.g_addr_reg.raddr_q == dut.p2_q.set)
    `TPT_ASSERT(P3Read_A, !dut.p3_q.valid || dut.p3_q.stale || seen == tags[w][dut.p3_q.set])
    `TPT_ASSERT(P4Read_A, !dut.p4_q.valid || dut.p4_q.stale || dut.p4_fill ||
                (dut.p4_hit_q[w] == (now.state == Valid && now.key == dut.p4_key_q) &&
                 dut.p4_pend_q[w] == (now.state == Pend && now.key == dut.p4_key_q)))
    `TPT_ASSERT(P4Sweep_A, !dut.p4_q.valid || dut.p4_q.stale || dut.p4_fill ||
                !dut.p4_sweep_q[w] || now.state == Valid)
    `TPT_ASSERT(P4Owner_A, !dut.p4_q.valid || dut.p4_q.stale || dut.p4_fill ||
                !dut.p4_pend_q[w] || dut.p4_owner_q == now.owner)
    `TPT_ASSERT(P4Room_A, !dut.p4_q.valid || dut.p4_q.stale || dut.p4_fill || !dut.p4_room_q ||
                32'(dut.p4_vic_q) != w || now.state != Pend)
    `TPT_ASSERT(P4Data_A, !dut.p4_look || dut.p4_q.stale || !dut.p4_hit_q[w] ||
                dut.p4_data == data[w][dut.p4_q.set])
  end
  `TPT_ASSERT(P4Vic_A, !dut.p4_q.valid || !dut.p4_room_q || 32'(dut.p4_vic_q) < Ways)

  // ---------------------------------------------------------------------------------------------
  // Lines
  // ---------------------------------------------------------------------------------------------
  for (genvar s = 0; s < Sets; s++) begin : g_set
    logic there;   // this set has been emptied since reset
    assign there = ready || s < 32'(dut.init_set_q);
    for (genvar w = 0; w < Ways; w++) begin : g_line
      tag_t line;
      assign line = tags[w][s];
      `TPT_ASSERT(State_A, !there || line.state <= Pend)
      `TPT_ASSERT(Empty_A, ready || !there || line.state == Inv)
      `TPT_ASSERT(Pending_A, !there || line.state != Pend ||
                  (fills[line.owner] && 32'(dut.mshr_way[line.owner]) == w &&
                   32'(dut.mshr_set[line.owner]) == s && ram_key[line.owner] == line.key))
      for (genvar v = 0; v < w; v++) begin : g_other
        `TPT_ASSERT(OneWay_A, !there || line.state == Inv || tags[v][s].state == Inv ||
                    tags[v][s].key != line.key)
      end
    end
  end
  `TPT_ASSERT(Init_A, ready || (use_q == '0 && !dut.p1_q.valid && !dut.p2_q.valid &&
                                !dut.p3_q.valid && !dut.p4_q.valid && kind_q == '0))
  for (genvar c = 0; c < NumCtx; c++) begin : g_fills
    tag_t line;
    assign line = tags[dut.mshr_way[c]][dut.mshr_set[c]];
    `TPT_ASSERT(Fills_A, !fills[c] || (dut.mshr_set[c] == ram_set[c] &&
                32'(dut.mshr_way[c]) < Ways && line.state == Pend && 32'(line.owner) == c))
  end

  // ---------------------------------------------------------------------------------------------
  // Partitions: what has changed in the watched set, and by whom
  // ---------------------------------------------------------------------------------------------
  logic [PartW-1:0]                 watch_part, wherefrom;
  logic                             ready_q, own_q, control_q, data_own_q;
  tag_t [Ways-1:0]                  tag_was_q;
  logic [Ways-1:0][DataW-1:0]       data_was_q;
  logic [Ways-1:0]                  used_was_q;
  logic [3:0][WayW-1:0]             vic;
  logic [WayW-1:0]                  vic_was_q;
  logic [NumCtx-1:0][SetW+WayW-1:0] mshr_was_q;
  logic [CtxW-1:0]                  actor_q;
  assign watch_part = part_of(watch_i, log_parts_i);
  assign wherefrom  = watch_i[SetW-1 -: PartW];
  assign vic        = dut.g_vic_parts.vic_from_q;
  always_ff @(posedge clk_i) begin
    ready_q    <= rst_ni && ready;
    own_q      <= stage[4] && part_q[ctx[4]] == watch_part;
    control_q  <= control[4];
    data_own_q <= fill_we_i != '0 && part_q[fill_ctx_i] == watch_part;
    actor_q    <= ctx[4];
    used_was_q <= used[watch_i];
    vic_was_q  <= vic[wherefrom];
    for (int unsigned w = 0; w < Ways; w++) begin
      tag_was_q[w]  <= tags[w][watch_i];
      data_was_q[w] <= data[w][watch_i];
    end
    for (int unsigned c = 0; c < NumCtx; c++) mshr_was_q[c] <= {dut.mshr_set[c], dut.mshr_way[c]};
  end
  for (genvar w = 0; w < Ways; w++) begin : g_respect
    tag_t now;
    assign now = tags[w][watch_i];
    `TPT_ASSERT(TagOwn_A, !ready_q || now == tag_was_q[w] || own_q ||
                (control_q && tag_was_q[w].state == Valid && now.state == Inv))
    `TPT_ASSERT(DataOwn_A, !ready_q || data[w][watch_i] == data_was_q[w] || data_own_q)
  end
  `TPT_ASSERT(UsedOwn_A, !ready_q || used[watch_i] == used_was_q || own_q)
  `TPT_ASSERT(VicOwn_A, !ready_q || vic[wherefrom] == vic_was_q || own_q)
  for (genvar c = 0; c < NumCtx; c++) begin : g_mshr
    `TPT_ASSERT(MshrOwn_A, !ready_q || {dut.mshr_set[c], dut.mshr_way[c]} == mshr_was_q[c] ||
                           32'(actor_q) == c)
  end

  // A victim is looked for from the place of its quarter.
  `TPT_ASSERT(SeesVic_A, !dut.p3_q.valid ||
                         dut.vic_from == vic[dut.p3_q.set[SetW-1 -: PartW]])
  // A pass is repeated as stale only if its own set was written in the last clocks.
  logic [3:1]           wrote_q;
  logic [3:1][SetW-1:0] wrote_set_q;
  always_ff @(posedge clk_i) begin
    wrote_q     <= {wrote_q[2:1], rst_ni && ready && dut.tag_we != '0};
    wrote_set_q <= {wrote_set_q[2:1], dut.tag_wset};
  end
  logic [4:2] stale;
  assign stale = {dut.p4_q.stale && !dut.p4_fill, dut.p3_q.stale, dut.p2_q.stale};
  for (genvar i = 2; i <= 4; i++) begin : g_stale
    logic [3:1] own;
    always_comb begin
      own = '0;
      for (int unsigned n = 1; n < i; n++) own[n] = wrote_q[n] && wrote_set_q[n] == at_set[i];
    end
    `TPT_ASSERT(StaleOwn_A, !(stage[i] || control[i]) || !stale[i] || own != '0)
  end
  // Only an invalidation spoils a line that is on its way.
  logic [NumCtx-1:0] poison_was_q;
  always_ff @(posedge clk_i) poison_was_q <= dut.poison_q;
  `TPT_ASSERT(Poison_A, !ready_q || control_q || (dut.poison_q & ~poison_was_q) == '0)

  // What a look-up finds is what its own set holds, and was brought in by its own partition.
  logic [Ways-1:0][Sets-1:0][PartW-1:0] by_q;      // the look-up that brought the line in
  logic [Ways-1:0][Sets-1:0]            filled_q;  // the line's data have been written,
  logic [Ways-1:0][Sets-1:0][PartW-1:0] of_q;      // for a look-up of this partition
  logic [Ways-1:0]                      has, coming;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) filled_q <= '0;
    else if (fill_we_i != '0) filled_q[dut.mshr_way[fill_ctx_i]][dut.mshr_set[fill_ctx_i]] <= 1'b1;
    if (fill_we_i != '0) begin
      of_q[dut.mshr_way[fill_ctx_i]][dut.mshr_set[fill_ctx_i]] <= part_q[fill_ctx_i];
    end
    for (int unsigned w = 0; w < Ways; w++) begin
      if (rd_valid && dut.tag_we[w]) by_q[w][dut.tag_wset] <= part_q[rd_ctx];
    end
  end
  always_comb begin
    for (int unsigned w = 0; w < Ways; w++) begin
      has[w]    = tags[w][set_q[ctx[4]]].state == Valid &&
                  tags[w][set_q[ctx[4]]].key == key_q[ctx[4]];
      coming[w] = tags[w][set_q[ctx[4]]].state == Pend &&
                  tags[w][set_q[ctx[4]]].key == key_q[ctx[4]];
    end
  end
  for (genvar w = 0; w < Ways; w++) begin : g_brought
    for (genvar s = 0; s < Sets; s++) begin : g_set
      `TPT_ASSERT(By_A, !ready || tags[w][s].state == Inv ||
                        by_q[w][s] == part_of(SetW'(s), log_parts_i))
      `TPT_ASSERT(Of_A, !filled_q[w][s] || of_q[w][s] == part_of(SetW'(s), log_parts_i))
    end
    `TPT_ASSERT(HitOwn_A, !res_hit || !has[w] ||
                          (by_q[w][set_q[res_ctx]] == part_q[res_ctx] &&
                           res_data == data[w][set_q[res_ctx]]))
  end
  `TPT_ASSERT(Hit_A, !dut.look_ok || res_hit == (has != '0))
  `TPT_ASSERT(Join_A, !dut.look_ok || dut.look_join == (coming != '0))
  `TPT_ASSERT(JoinOwn_A, !dut.look_join || (part_q[dut.p4_owner_q] == part_q[ctx[4]] &&
                                            key_q[dut.p4_owner_q] == key_q[ctx[4]]))
  `TPT_ASSERT(HitOnce_A, !res_hit || $onehot(has))

  // An invalidation looks into its set of each partition.
  logic [3:0] looked_q, all;
  assign all = 4'((5'd1 << (3'd1 << log_parts_i)) - 5'd1);
  logic [1:0] turn;
  assign turn = dut.g_inv_parts.inv_part_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || inv_done) looked_q <= '0;
    else if (dut.p4_inv && !dut.p4_q.stale) begin
      looked_q[part_of(dut.p4_q.set, log_parts_i)] <= 1'b1;
    end
  end
  `TPT_ASSERT(InvAll_A, !inv_done || looked_q == all)
  `TPT_ASSERT(InvTurn_A, inv_done || looked_q == 4'((5'd1 << turn) - 5'd1))
  `TPT_ASSERT(InvFirst_A, !inv_done || turn == '0)
  `TPT_ASSERT(InvRange_A, turn <= ~(2'b11 << log_parts_i))
  for (genvar i = 1; i <= 4; i++) begin : g_inv
    logic inv;
    assign inv = control[i] && kind[i] == Inval;
    `TPT_ASSERT(InvSet_A, !inv || (inv_valid_i && !inv_done && at_set[i] ==
                {part_top(inv_set_i[SetW-1 -: PartW], turn, log_parts_i),
                 inv_set_i[SetW-PartW-1:0]}))
  end
  `TPT_ASSERT(InvKey_A, !dut.p4_inv || dut.p4_key_q == inv_key_i)
  `TPT_ASSERT(InvKey3_A, !(dut.p3_q.valid && kind[3] == Inval) || dut.p3_key_q.key == inv_key_i)

  // ---------------------------------------------------------------------------------------------
  // What it is about happens
  // ---------------------------------------------------------------------------------------------
  logic [3:0] hit_in_q, miss_in_q, fill_in_q, evict_in_q, removed_in_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hit_in_q     <= '0;
      miss_in_q    <= '0;
      fill_in_q    <= '0;
      evict_in_q   <= '0;
      removed_in_q <= '0;
    end else begin
      if (res_hit) hit_in_q[part_q[res_ctx]] <= 1'b1;
      if (rd_valid) miss_in_q[part_q[rd_ctx]] <= 1'b1;
      if (res_fill) fill_in_q[part_q[res_ctx]] <= 1'b1;
      if (ev_evict) evict_in_q[part_q[rd_ctx]] <= 1'b1;
      if (dut.p4_inv && !dut.p4_q.stale && dut.p4_hit_q != '0) begin
        removed_in_q[part_of(dut.p4_q.set, log_parts_i)] <= 1'b1;
      end
    end
  end

  // An example that is laid down is found sooner. What is free in it is said by what is not.
  if (Guide != 0) begin : g_guide
    logic [NumCtx-1:0][1:0] number_q;   // look-ups of each context
    logic                   over;       // all have been made
    logic [CtxW-1:0]        clock_q;    // contexts take turns
    logic [2:0]             wait_q;     // a read takes some clocks
    always_ff @(posedge clk_i) begin
      clock_q <= clock_q + 1'b1;
      wait_q  <= (use_q[0] == Reads || use_q[1] == Reads) && !fdone_valid_i ? wait_q + 1'b1 : '0;
      if (!rst_ni) begin
        number_q <= '0;
        clock_q  <= '0;
        wait_q   <= '0;
      end else if (sub_valid_i) begin
        number_q[sub_ctx_i] <= number_q[sub_ctx_i] + 1'b1;
      end
    end
    localparam logic [1:0] Most = (Guide == 3) ? 2'd1 : 2'd3;
    assign over = number_q == {NumCtx{Most}} && use_q == '0;
    always @(posedge clk_i) begin
      NoReset_A: assume (rst_ni == init_q);
    end
    `TPT_ASSUME(LookUp_A, !pay_bypass_i && !pay_probe_i && !p4_known_i && log_parts_i == 2'd2)
    `TPT_ASSUME(Set_A, sub_hash_i == '0 && !sub_aux_i && sub_part_i ==
                       ((Guide == 2) ? 2'd1 : {sub_ctx_i[0], 1'b1}))
    `TPT_ASSUME(Key_A, sub_key_i == ((Guide == 1 && number_q[sub_ctx_i] != '0) ? 3'd6 : 3'd5))
    `TPT_ASSUME(Sub_A, sub_valid_i == (ready && use_q[sub_ctx_i] == Out &&
                                       number_q[sub_ctx_i] != Most))
    `TPT_ASSUME(Fill_A, fdone_ctx_i == pre_q && fill_ctx_i == pre_q && fill_we_i == fdone_valid_i)
    `TPT_ASSUME(Turns_A, fill_pre_ctx_i == clock_q && sub_ctx_i == clock_q)
    `TPT_ASSUME(Pay_A, pay_valid_i == sub_valid_i && pay_ctx_i == sub_ctx_i && !pay_i)
    `TPT_ASSUME(Which_A, inv_set_i == '0 && inv_key_i == 3'd5 && !sweep_all_i)
    if (Guide != 2) begin : g_apart
      `TPT_ASSUME(Fills_A, fdone_valid_i == (use_q[pre_q] == Reads) &&
                           fdone_store_i == fdone_valid_i)
      `TPT_ASSUME(After_A, over || inv_held_q || sweep_held_q ||
                           !(kill_valid_i || inv_valid_i || sweep_valid_i))
    end
    if (Guide == 1) begin : g_two
      // each has had two lines in one way, and hits the second one, of the same key
      `TPT_COVER(Two_C, (hit_in_q & miss_in_q & fill_in_q & evict_in_q) == 4'b1010 &&
                        key_q[0] == key_q[1])
    end else if (Guide == 3) begin : g_gone
      `TPT_COVER(Inv_C, removed_in_q == 4'b1010 && inv_done)
      `TPT_COVER(Killed_C, res_killed && dut.p4_hit_q != '0)
      `TPT_COVER(Swept_C, dut.p4_swp && dut.tag_we != '0 && !inv_held_q)
    end else begin : g_one
      `TPT_ASSUME(Quiet_A, !kill_valid_i && !sweep_valid_i)
      `TPT_ASSUME(Fills_A, fdone_valid_i == (use_q[pre_q] == Reads && wait_q >= 3'd5))
      `TPT_COVER(Joined_C, dut.look_join)
      `TPT_COVER(Stale_C, dut.look_retry)
      `TPT_COVER(Poisoned_C, dut.p4_fill && dut.fill_poison)
      `TPT_COVER(HandOn_C, dut.hand_on)
      `TPT_COVER(Woken_C, dut.wk_pop)
    end
  end
endmodule
