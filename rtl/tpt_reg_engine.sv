// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Registration engine: executes the commands (REG_MR, DEREG_MR, REREG_MR, QUERY), owns the MPT in
/// memory, the allocation of indices and the making of keys, and clears the table at enable.
///
/// One command is in work at a time, in order. What has to wait for a fence goes to a queue, and
/// the engine goes on; the rest of such a command (its *tail*) is done when its fence is over, with
/// priority over new commands.
///
///   REG    arguments ─► index ─► [read FREE entry] ─► keys ─► [sweep] ─► write VALID ─► completion
///   QUERY  key ─► read, check ─► completion with the entry
///   DEREG  key ─► read, check ─► write INVALID ─► queue ··· fence ···
///                              tail: write FREE ─► link into the free list ─► completion
///   REREG  key ─► read, check ─► arguments ─► keys ─► write new, INVALID ─► queue ··· fence ···
///                              tail: read, check ─► [sweep] ─► write VALID ─► completion
///
/// The MPT cache is keyed by the index field of the key, so an entry can be in it twice. The write of
/// INVALID is followed, after its answer, by the invalidation of the field of the L_Key and of that
/// of the R_Key; then the fence is asked for, so nothing older is looked up when it has begun. A
/// write that failed and was undone is treated alike, because its content may have been seen. Other
/// writes replace an entry that is not VALID: of such a one nothing is in the cache.
///
/// **Entries in work.** `cur_q` is the entry as read. What is written is a function of it and of
/// the command (`wr_data`), so that a failed write is undone by writing `cur_q` again.
///
/// **Indices.** 0 is never handed out. Fresh indices 1, 2, 3, ... come first; when there are none,
/// the free list, first freed first reused. The list is threaded through the FREE entries (`bound`
/// is the next one); head, tail and length are registers. A generation counts the registrations of
/// an index; when it wraps to 0 the MTT cache is swept of the index before it becomes valid.
///
/// **Errors.** Every memory error ends in StsBus, never in a hang:
/// * REG, DEREG, REREG, first write fails: the old entry is written again, and everything is as it
///   was before. If that fails as well, a new index is retired (not handed out again), and the
///   entry of an old one is whatever the memory kept.
/// * Tail of a DEREG: the keys are dead and the fence is over; the index is retired.
/// * Tail of a REREG: the entry stays INVALID (keys dead, fence over); the index is retired.
/// * Clearing: `clear_error_o`, and the unit does not become ready until disabled and enabled.
/// An entry read for a command with a wrong CRC, or that is not what it must be: StsMptBad.
///
/// Latency without memory and fence: REG 80 to 105 clocks, QUERY 30, DEREG 50 and 30 for its tail,
/// REREG 95 and 50 for its tail.
module tpt_reg_engine import tpt_pkg::*; #(
  /// Deepest tree of table pages, 1 to 4.
  parameter int unsigned MaxLevels  = 3,
  /// Commands that can wait for a fence, a power of two, 2 to 64.
  parameter int unsigned FenceDepth = 16
) (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Settings from the registers. All but the fence time are constant while enabled or busy.
  input  logic              enable_i,
  input  logic              plain_i,
  input  logic [63:0]       mpt_base_i,
  input  logic [IndexW:0]   mpt_size_i,
  input  logic [127:0]      perm_secret_i,
  input  logic [127:0]      tag_secret_i,
  input  logic [31:0]       fence_time_i,
  /// No request is inside the unit.
  input  logic              idle_i,

  /// Status.
  output logic              ready_o,        // enabled and cleared: serve requests
  output logic              clearing_o,
  output logic              clear_error_o,
  output logic              fence_busy_o,   // a command or its fence is not finished
  /// One clock each.
  output logic              err_bus_o,
  output logic              err_mpt_bad_o,
  output logic              err_fence_time_o,

  /// Commands and completions.
  input  logic              cmd_valid_i,
  output logic              cmd_ready_o,
  input  cmd_t              cmd_i,
  output logic              cpl_valid_o,
  input  logic              cpl_ready_i,
  output cpl_t              cpl_o,

  /// Read of an MPT entry: one outstanding, answered in a later clock than ready.
  output logic              rd_valid_o,
  input  logic              rd_ready_i,
  output logic [63:0]       rd_addr_o,
  input  logic              rd_rsp_valid_i,
  input  logic [MptW-1:0]   rd_rsp_data_i,
  input  logic              rd_rsp_err_i,

  /// Write of an MPT entry: done in or after the clock of ready, in order. One outstanding, but
  /// for the clearing, where as many are offered as the writer takes (at most 255).
  output logic              wr_valid_o,
  input  logic              wr_ready_i,
  output logic [63:0]       wr_addr_o,
  output logic [MptW-1:0]   wr_data_o,
  input  logic              wr_done_i,
  input  logic              wr_err_i,

  /// Invalidate what the MPT cache holds under one index field of a key, key[31:8]. Valid is held
  /// until done (one clock), after which no look-up of this field sees an older content of the
  /// entry. The index is that of the field.
  output logic              inv_valid_o,
  output logic [23:0]       inv_field_o,
  output logic [IndexW-1:0] inv_index_o,
  input  logic              inv_done_i,

  /// Remove all lines of one index from the MTT cache. Valid is held until done (one clock).
  output logic              sweep_valid_o,
  output logic [IndexW-1:0] sweep_index_o,
  input  logic              sweep_done_i,

  /// Empty both caches. Held until done (one clock).
  output logic              flush_o,
  input  logic              flush_done_i,

  /// Fence: one clock asks, the ticket is valid in the same clock.
  output logic              fence_req_o,
  input  logic [7:0]        fence_ticket_i,
  input  logic [7:0]        fence_done_ticket_i
);

  if (MaxLevels < 1 || MaxLevels > 4) begin : g_bad_levels
    $fatal(1, "tpt_reg_engine: MaxLevels must be 1 to 4");
  end
  if (FenceDepth < 2 || FenceDepth > 64 || (FenceDepth & (FenceDepth - 1)) != 0)
  begin : g_bad_depth
    $fatal(1, "tpt_reg_engine: FenceDepth must be a power of two, 2 to 64");
  end

  localparam int unsigned QueW = $clog2(FenceDepth);

  // ---------------------------------------------------------------------------------------------
  // Types
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [5:0] {
    StIdle,      // choose what to do next
    StClear,     // address of the entry to clear
    StPend,      // a fence ran out of time
    StTail,      // fence over: begin the tail
    StDispatch,  // begin a command
    StKeyDec,    // key -> role, index
    StKeyLim,    // index in the table?
    StRdReq,     // read the entry
    StRdWait,
    StRdCrc,     // CRC of the entry read
    StCheck,     // compare
    StRule,      // first rule that fails
    StResult,    // decide
    StArg0,      // arguments: masks, start + length
    StArg1,      // rules, offset + length
    StArg2,      // first rule that fails
    StArg3,      // decide on the plain rules
    StPage,      // number of the last page: shift by log_page
    StCap,       // against the table: shift by log2 of the capacity
    StSmall,
    StAlign,     // frames, one per clock, verdict two clocks later
    StAlloc,     // choose the index
    StKeyStart,
    StKeyWait,   // make keys
    StSweep,     // generation wrapped: sweep the MTT cache
    StWrCrc,     // CRC of the entry to be written
    StWrReq,     // write it
    StWrWait,
    StInvLocal,  // invalidate it in the MPT cache: field of the L_Key
    StInvRemote, // field of the R_Key
    StWrDone,    // next step of the command
    StCpl        // hand over the completion
  } fsm_e;

  typedef enum logic [2:0] {
    InitOff,    // not enabled
    InitWait,   // until the unit is quiet
    InitFlush,  // caches
    InitClear,  // write the table
    InitReady,
    InitError   // bus error while clearing
  } init_e;

  typedef enum logic [1:0] {
    JobCmd,   // a command
    JobTail,  // the tail of a DEREG or REREG
    JobClear  // one entry of the clearing
  } job_e;

  /// What is written.
  typedef enum logic [1:0] {
    WrKeep,   // cur_q as it is
    WrState,  // cur_q with another state
    WrNew,    // the region of the command
    WrFree    // a FREE entry with a generation and a next index
  } wr_e;

  /// A command that waits for its fence.
  typedef struct packed {
    logic [15:0]       id;
    logic              rereg;
    logic [IndexW-1:0] index;
    logic [GenW-1:0]   gen;
    logic [7:0]        ticket;
    logic [31:0]       lkey;   // REREG
    logic [31:0]       rkey;
    logic [31:0]       since;  // clock of its entry
  } wait_t;

  // ---------------------------------------------------------------------------------------------
  // Functions
  // ---------------------------------------------------------------------------------------------
  // Ones below bit n.
  function automatic logic [MaxLogPage-1:0] low_mask(logic [5:0] n);
    logic [MaxLogPage-1:0] m;
    for (int unsigned b = 0; b < MaxLogPage; b++) m[b] = (6'(b) < n);
    return m;
  endfunction

  // Verbs access word to the access bits of an entry: 0 to 5, 7, and relaxed ordering.
  function automatic logic [AccessW-1:0] pack_access(logic [31:0] a);
    logic [AccessW-1:0] p;
    logic               unused_bits;
    unused_bits                 = ^a;
    p                           = '0;
    p[AccZeroBased:AccLocalWrite] = a[5:0];
    p[AccHugeTlb]               = a[7];
    p[AccRelaxedOrdering]       = a[VerbsRelaxedOrdering];
    return p;
  endfunction

  function automatic logic is_tree(logic [2:0] level);
    return (level != LevelInline) && (level != LevelFlat);
  endfunction

  // CRC over 8 bytes, lowest byte first.
  function automatic logic [15:0] crc16_word(logic [15:0] crc, logic [63:0] data);
    logic [15:0] c;
    c = crc;
    for (int unsigned b = 0; b < 8; b++) c = crc16_step(c, data[8*b+:8]);
    return c;
  endfunction

  // The CRC is linear: every bit of crc16_word is the parity of some bits of {crc, data}. Which
  // ones is computed here, so that each parity becomes a balanced tree.
  typedef logic [15:0][79:0] crc_map_t;
  function automatic crc_map_t crc_map();
    crc_map_t    m;
    logic [79:0] one;
    logic [15:0] c;
    m = '0;
    for (int unsigned i = 0; i < 80; i++) begin
      one    = '0;
      one[i] = 1'b1;
      c      = crc16_word(one[79:64], one[63:0]);
      for (int unsigned o = 0; o < 16; o++) m[o][i] = c[o];
    end
    return m;
  endfunction
  localparam crc_map_t CrcMap = crc_map();

  // ---------------------------------------------------------------------------------------------
  // State
  // ---------------------------------------------------------------------------------------------
  (* fsm_encoding = "one-hot" *)
  fsm_e              state_q;
  fsm_e              state_d;
  init_e             init_q;
  job_e              job_q, job_d;
  logic              step_q, step_d;     // first write of a job, or the one after it
  wr_e               wr_kind_q, wr_kind_d;
  logic [1:0]        wr_state_q, wr_state_d;

  cmd_t              cmd_q;
  logic              cmd_full_q;
  logic              cmd_fin_q;          // its completion has been made
  logic              turn_q;             // after a clearing step a command may go first
  logic [15:0]       id_q;
  logic [3:0]        op_q;
  logic [31:0]       lkey_q, rkey_q;
  logic [IndexW-1:0] index_q;
  logic              role_q;
  mpt_entry_t        cur_q;
  logic [63:0]       addr_q;
  logic [3:0]        cnt_q;              // rounds, words, frames
  logic              werr_q;
  logic [IndexW-1:0] tail_index_q;       // of the waiting command whose tail is in work
  logic [GenW-1:0]   tail_gen_q;
  logic [GenW-1:0]   gen_next;           // generation that a registration of cur_q gets

  logic [IndexW:0]   fresh_q;            // next fresh index; mpt_size_i: none left
  logic              from_fresh_q;
  logic [IndexW-1:0] fl_head_q, fl_tail_q;
  logic [GenW-1:0]   fl_tail_gen_q;
  logic [IndexW:0]   fl_cnt_q;
  logic              fresh_any_q, list_any_q, list_one_q;  // about fresh_q and fl_cnt_q
  logic [IndexW:0]   clr_q;              // next entry to clear
  logic [7:0]        clr_out_q;          // clearing writes that wait for their answer

  // Strobes of the state machine.
  logic    load_cmd, load_pend, load_clear, load_fresh, load_list, load_link;
  logic    fin, fin_cmd, fin_keys, fin_query, push, commit, append;
  status_e fin_status;
  logic    cnt_clr, cnt_inc;

  logic active;
  assign active = (init_q == InitReady) && enable_i;

  logic is_reg, is_dereg, is_rereg, is_query;
  assign is_reg   = (op_q == CmdRegMr);
  assign is_dereg = (op_q == CmdDeregMr);
  assign is_rereg = (op_q == CmdReregMr);
  assign is_query = (op_q == CmdQuery);

  // ---------------------------------------------------------------------------------------------
  // Queue of commands that wait for a fence. The first `pend_q` of them have been answered PENDING.
  // ---------------------------------------------------------------------------------------------
  wait_t           que [FenceDepth];
  logic [QueW-1:0] que_rd_q, que_wr_q, pend_rd_q;
  logic [QueW:0]   que_cnt_q, pend_q;
  wait_t           head, pend_head, que_in;
  logic            que_full, que_any;
  logic [7:0]      head_age;
  logic            tail_q;              // the fence of the head is over
  logic            timeout_q;           // the oldest entry not yet PENDING is out of time
  logic            over_q;              // it has waited for the time limit
  logic [1:0]      mute_q;              // over_q still speaks of another entry
  logic            pop_q;
  logic [31:0]     now_q, elapsed_q;

  assign que_full  = que_cnt_q[QueW];
  assign que_any   = (que_cnt_q != '0);
  assign head      = que[que_rd_q];
  assign pend_head = que[pend_rd_q];
  assign head_age  = fence_done_ticket_i - head.ticket;

  assign que_in = '{
    id:     id_q,
    rereg:  is_rereg,
    index:  index_q,
    gen:    is_rereg ? gen_next : cur_q.gen,
    ticket: fence_ticket_i,
    lkey:   lkey_q,
    rkey:   rkey_q,
    since:  now_q
  };
  assign fence_req_o = push;

  // A finished tail leaves the queue a clock after its completion is made.
  logic pop, pend_step;
  assign pop       = pop_q;
  assign pend_step = load_pend || (pop && (pend_q == '0));

  always_ff @(posedge clk_i) begin
    if (push) que[que_wr_q] <= que_in;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      que_rd_q  <= '0;
      que_wr_q  <= '0;
      pend_rd_q <= '0;
      que_cnt_q <= '0;
      pend_q    <= '0;
      now_q     <= '0;
      elapsed_q <= '0;
      timeout_q <= 1'b0;
      mute_q    <= 2'b00;
      over_q    <= 1'b0;
      pop_q     <= 1'b0;
      tail_q    <= 1'b0;
    end else begin
      if (push) que_wr_q <= que_wr_q + 1'b1;
      if (pop) que_rd_q <= que_rd_q + 1'b1;
      que_cnt_q <= que_cnt_q + (QueW + 1)'(push) - (QueW + 1)'(pop);
      if (pend_step) pend_rd_q <= pend_rd_q + 1'b1;
      pend_q    <= pend_q + (QueW + 1)'(load_pend) - (QueW + 1)'(pop && (pend_q != '0));
      now_q     <= now_q + 32'd1;
      elapsed_q <= now_q - pend_head.since;
      // Both lag behind the pointers; the engine is not idle again before they are right, and a
      // time out is muted while it may speak of the entry before.
      tail_q    <= que_any && !head_age[7] && !pop;
      pop_q     <= fin && (job_q == JobTail);
      over_q    <= (elapsed_q >= fence_time_i);
      timeout_q <= (que_cnt_q != pend_q) && (fence_time_i != 32'd0) && over_q &&
                   (mute_q == 2'b00) && !pend_step && !push;
      mute_q    <= {mute_q[0], pend_step || push};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The entry to be written
  // ---------------------------------------------------------------------------------------------
  logic [AccessW-1:0] acc_next;
  logic               use_tr, use_pd, use_acc;   // the command replaces these fields
  mpt_entry_t         ent;

  assign gen_next = cur_q.gen + 8'd1;
  assign use_tr   = is_reg || cmd_q.rereg[ReregTranslation];
  assign use_pd   = is_reg || cmd_q.rereg[ReregPd];
  assign use_acc  = is_reg || cmd_q.rereg[ReregAccess];
  assign acc_next = use_acc ? pack_access(cmd_q.access) : cur_q.access;

  // Selects, a clock behind what they are made of: settled before the first word is taken.
  logic sel_zero_q, sel_new_q, sel_tr_q, sel_pd_q, sel_acc_q, sel_state_q, sel_free_q;
  always_ff @(posedge clk_i) begin
    sel_zero_q  <= (wr_kind_q == WrFree) || ((wr_kind_q == WrNew) && is_reg);
    sel_new_q   <= (wr_kind_q == WrNew);
    sel_tr_q    <= (wr_kind_q == WrNew) && use_tr;
    sel_pd_q    <= (wr_kind_q == WrNew) && use_pd;
    sel_acc_q   <= (wr_kind_q == WrNew) && use_acc;
    sel_state_q <= (wr_kind_q == WrNew) || (wr_kind_q == WrState);
    sel_free_q  <= (wr_kind_q == WrFree) && (job_q == JobTail);
  end

  always_comb begin
    ent = sel_zero_q ? '0 : cur_q;
    if (sel_state_q) ent.state = wr_state_q;
    if (sel_new_q) begin
      ent.gen      = gen_next;
      ent.lkey_tag = lkey_q[7:0];
      ent.rkey_tag = rkey_q[7:0];
    end
    if (sel_acc_q) ent.access = pack_access(cmd_q.access);
    if (sel_pd_q) ent.pd = is_reg ? cmd_q.pd : cmd_q.new_pd;
    if (sel_tr_q) begin
      ent.start     = cmd_q.start;
      ent.length    = cmd_q.length;
      ent.encoding  = cmd_q.encoding;
      ent.log_page  = cmd_q.log_page;
      ent.level     = cmd_q.level;
      ent.log_tpage = is_tree(cmd_q.level) ? 3'(cmd_q.log_tpage - 5'(MinLogTPage)) : 3'd0;
      for (int unsigned f = 0; f < 4; f++) ent.frame[f] = cmd_q.frame[f][63:12];
    end
    // FREE, in a tail: the index itself with its generation; then the old tail of the list, which
    // gets this index as its next one. While clearing: zero.
    if (sel_free_q) begin
      ent.gen   = step_q ? fl_tail_gen_q : tail_gen_q;
      ent.bound = step_q ? tail_index_q : '0;
    end
    ent.crc = 16'd0;
  end

  // CRC, 8 bytes per clock, in stages: number of the word, the word (two), fold it, add it.
  logic [63:0] low_q, high_q, word_q;
  logic [2:0]  number_q;
  logic        half_q;
  logic [15:0] fold_q, crc_q, fold, turn;
  logic        crc_last;
  assign crc_last = (cnt_q == 4'd11);

  logic [511:0] ent_bits;
  assign ent_bits = ent;
  always_comb begin
    for (int unsigned o = 0; o < 16; o++) begin
      fold[o] = ^(word_q & CrcMap[o][63:0]);
      turn[o] = ^(crc_q & CrcMap[o][79:64]);
    end
  end
  always_ff @(posedge clk_i) begin
    number_q <= cnt_q[2:0];
    low_q    <= ent_bits[64*number_q[1:0]+:64];
    high_q   <= ent_bits[256+64*number_q[1:0]+:64];
    half_q   <= number_q[2];
    word_q   <= half_q ? high_q : low_q;
    fold_q   <= fold;
    if ((state_q == StRdCrc) || (state_q == StWrCrc)) begin
      crc_q <= (cnt_q < 4'd4) ? 16'd0 : (turn ^ fold_q);
    end
    if (load_clear) crc_q <= 16'd0;
  end

  mpt_entry_t wr_entry;
  always_comb begin
    wr_entry     = ent;
    wr_entry.crc = crc_q;
  end
  assign wr_data_o = wr_entry;

  // ---------------------------------------------------------------------------------------------
  // Checks of the entry read
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic crc;    // wrong CRC or state that does not exist
    logic valid;  // state VALID
    logic free;   // state FREE
    logic inval;  // state INVALID
    logic field;  // illegal field
    logic tag;    // role or tag wrong
    logic kind;
    logic pd;
    logic bound;
    logic gen;    // not the generation of the waiting command
    logic next;   // free list leads outside the table
  } chk_t;
  chk_t chk_q;

  always_ff @(posedge clk_i) begin
    chk_q.crc   <= (crc_q != cur_q.crc) || (cur_q.state == 2'd3);
    chk_q.valid <= (cur_q.state == StValid);
    chk_q.free  <= (cur_q.state == StFree);
    chk_q.inval <= (cur_q.state == StInvalid);
    chk_q.field <= !mpt_fields_legal(cur_q.kind, cur_q.level, cur_q.encoding, cur_q.log_page,
                                     cur_q.log_tpage);
    chk_q.tag   <= (role_q != RoleLocal) || (cur_q.lkey_tag != cmd_q.key[7:0]);
    chk_q.kind  <= (cur_q.kind != KindMr);
    chk_q.pd    <= (cur_q.pd != cmd_q.pd);
    chk_q.bound <= (cur_q.bound != '0);
    chk_q.gen   <= (cur_q.gen != tail_gen_q);
    chk_q.next  <= !list_one_q &&
                   ((cur_q.bound == '0) || ({1'b0, cur_q.bound} >= mpt_size_i));
  end

  // The key rules of a command, first failure wins; StsOk if all hold.
  function automatic status_e key_status(chk_t c, logic query);
    logic unused_bits;
    unused_bits = ^c;
    if (c.crc) return StsMptBad;
    if (!c.valid) return StsKeyState;
    if (c.field) return StsMptBad;
    if (c.tag) return StsKeyTag;
    if (c.kind) return StsKeyKind;
    if (c.pd) return StsKeyPd;
    if (c.bound && !query) return StsBound;
    return StsOk;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Checks of the arguments
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic length;
    logic wrap;
    logic flags;
    logic access;
    logic page;
    logic enc;
    logic level;
  } arg_t;
  arg_t                  arg_q;
  logic [64:0]           sum_q;        // start + length
  logic [64:0]           end_q;        // offset in the first page + length
  logic [64:0]           page_q;       // end_q, shifted
  logic                  sticky_q;     // a 1 was shifted out
  logic [MaxLogPage-1:0] mask_q;
  logic [5:0]            shift_q;      // bits still to shift
  logic                  shift_big_q;  // at least 4
  logic                  shift_any_q;  // at least 1
  logic [5:0]            cap_q;        // log2 of the pages that the table holds
  logic [1:0]            last_page_q;  // level 0: number of the last page
  logic [5:0]            align_log, align_q;
  logic [3:0]            tpage_bits;   // log2 of the entries of a table page
  logic [5:0]            tree_bits;
  logic [63:0]           frame_now;
  logic                  frame_used, frame_used_q, frame_bad_q, small_q;
  logic [MaxLogPage-1:0] frame_q;
  logic [3:1]            frame_drop_q;  // not used: stored as 0

  assign tpage_bits = 4'(cmd_q.log_tpage - 5'd3);
  always_comb begin
    unique case (cmd_q.level)
      3'd1:    tree_bits = {2'b00, tpage_bits};
      3'd2:    tree_bits = {1'b0, tpage_bits, 1'b0};
      3'd3:    tree_bits = {1'b0, tpage_bits, 1'b0} + {2'b00, tpage_bits};
      default: tree_bits = {tpage_bits, 2'b00};
    endcase
  end

  // Alignment of frame 0 (level 0: of all used frames).
  assign align_log = (cmd_q.level == LevelInline) ? cmd_q.log_page :
                     (cmd_q.level == LevelFlat)   ? 6'd3 : {1'b0, cmd_q.log_tpage};

  assign frame_now  = cmd_q.frame[cnt_q[1:0]];
  assign frame_used = (cmd_q.level == LevelInline) ? (cnt_q[1:0] <= last_page_q) :
                                                     (cnt_q[1:0] == 2'd0);

  always_ff @(posedge clk_i) begin
    frame_q      <= frame_now[MaxLogPage-1:0];
    for (int unsigned f = 1; f < 4; f++) begin
      frame_drop_q[f] <= (state_q == StAlign) && (cnt_q == 4'(f)) && !frame_used;
    end
    frame_used_q <= (state_q == StAlign) && frame_used && !cnt_q[2];
    frame_bad_q  <= frame_used_q && ((frame_q & mask_q) != '0);
    // Too many pages: something is left after both shifts, but for the exact end of the table.
    small_q      <= (page_q[64:1] != 64'd0) || (page_q[0] && sticky_q);
    // Plain rules, all from the command.
    arg_q.length <= (cmd_q.length == 64'd0);
    arg_q.wrap   <= sum_q[64] && (sum_q[63:0] != 64'd0);
    arg_q.flags  <= ((cmd_q.access & ~KnownAccess) != 32'd0);
    arg_q.access <= (cmd_q.access[AccRemoteWrite] || cmd_q.access[AccRemoteAtomic]) &&
                    !cmd_q.access[AccLocalWrite];
    arg_q.page   <= (cmd_q.log_page < 6'(MinLogPage)) || (cmd_q.log_page > 6'(MaxLogPage));
    arg_q.enc    <= (cmd_q.encoding > EncFlagged);
    arg_q.level  <= ((cmd_q.level > 3'(MaxLevels)) && (cmd_q.level != LevelFlat)) ||
                    (is_tree(cmd_q.level) && ((cmd_q.log_tpage < 5'(MinLogTPage)) ||
                                              (cmd_q.log_tpage > 5'(MaxLogTPage))));
    end_q        <= {22'd0, cmd_q.start[MaxLogPage-1:0] & mask_q} + {1'b0, cmd_q.length};
    sum_q        <= {1'b0, cmd_q.start} + {1'b0, cmd_q.length};
    align_q      <= align_log;
    mask_q       <= low_mask((state_q == StAlign) ? align_q : cmd_q.log_page);
    cap_q        <= (cmd_q.level == LevelInline) ? 6'd2 :
                    (cmd_q.level == LevelFlat)   ? 6'(PageIdxW - 1) :
                    (tree_bits > 6'(PageIdxW))   ? 6'(PageIdxW) : tree_bits;
    unique case (state_q)
      StArg3: begin
        page_q   <= end_q;
        sticky_q <= 1'b0;
        shift_q     <= cmd_q.log_page;  // at least 12
        shift_big_q <= 1'b1;
        shift_any_q <= 1'b1;
      end
      StPage, StCap: begin
        if (shift_big_q) begin
          page_q   <= page_q >> 4;
          sticky_q <= sticky_q || (page_q[3:0] != 4'd0);
          shift_q     <= shift_q - 6'd4;
          shift_big_q <= (shift_q[5:3] != 3'd0);
          shift_any_q <= (shift_q != 6'd4);
        end else if (shift_any_q) begin
          page_q   <= page_q >> 1;
          sticky_q <= sticky_q || page_q[0];
          shift_q     <= shift_q - 6'd1;
          shift_any_q <= (shift_q != 6'd1);
        end else if (state_q == StPage) begin
          last_page_q <= page_q[1:0] - {1'b0, !sticky_q};
          shift_q     <= cap_q;           // at least 2
          shift_big_q <= (cap_q[5:2] != 4'd0);
          shift_any_q <= 1'b1;
        end
      end
      default: ;
    endcase
  end

  // The plain rules that apply, first failure wins.
  function automatic status_e arg_status(arg_t a, logic tr, logic acc);
    if (tr && a.length) return StsBadLength;
    if (tr && a.wrap) return StsBadWrap;
    if (acc && a.flags) return StsBadFlags;
    if (acc && a.access) return StsBadAccess;
    if (tr && a.page) return StsBadPageSize;
    if (tr && a.enc) return StsBadEncoding;
    if (tr && a.level) return StsBadLevel;
    return StsOk;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Keys
  // ---------------------------------------------------------------------------------------------
  // The key of a command is decoded as soon as the command is begun; then the key generator makes
  // the field of the R_Key while the entry is read.
  logic              dec_valid, dec_role, idx_bad_q;
  logic [IndexW-1:0] dec_index;
  logic              gen_fields_valid, gen_valid, keys_take;
  logic [23:0]       gen_lfield, gen_rfield;
  logic [31:0]       gen_lkey, gen_rkey;

  always_ff @(posedge clk_i) idx_bad_q <= ({1'b0, dec_index} >= mpt_size_i);
  assign keys_take = (state_q == StKeyWait) && gen_valid;

  tpt_key_gen u_key_gen (
    .clk_i,
    .rst_ni,
    .fld_start_i   (load_cmd || ((state_q == StKeyStart) && is_reg)),
    .fld_decode_i  (load_cmd),
    .field_i       (cmd_q.key[31:8]),
    .tag_start_i   (state_q == StKeyStart),
    .index_i       (index_q),
    .gen_i         (gen_next),
    .has_remote_i  (acc_next[AccRemoteWrite] || acc_next[AccRemoteRead] ||
                    acc_next[AccRemoteAtomic]),
    .plain_i,
    .perm_secret_i,
    .tag_secret_i,
    .dec_valid_o   (dec_valid),
    .dec_role_o    (dec_role),
    .dec_index_o   (dec_index),
    .fields_valid_o(gen_fields_valid),
    .keys_valid_o  (gen_valid),
    .lfield_o      (gen_lfield),
    .rfield_o      (gen_rfield),
    .lkey_o        (gen_lkey),
    .rkey_o        (gen_rkey)
  );

  // ---------------------------------------------------------------------------------------------
  // State machine
  // ---------------------------------------------------------------------------------------------
  status_e key_sts_q, arg_sts_q;
  logic    tail_bad_q, list_bad_q;  // entry is not what a tail, or the free list, expects
  always_ff @(posedge clk_i) begin
    key_sts_q  <= key_status(chk_q, is_query);
    arg_sts_q  <= arg_status(arg_q, use_tr, use_acc);
    tail_bad_q <= chk_q.crc || !chk_q.inval || chk_q.gen;
    list_bad_q <= chk_q.crc || !chk_q.free || chk_q.next;
  end

  // A VALID entry may have been seen before this write: that of a DEREG or REREG, or the new one
  // whose write was undone.
  logic inv_need;
  assign inv_need = (job_q == JobCmd) ? (!is_reg || step_q) : (is_rereg && step_q);

  logic undo;       // write cur_q again
  logic write;      // another write after this one
  logic clear_more;
  logic clr_left_q;  // entries are left to clear
  assign clear_more = (init_q == InitClear) && enable_i && clr_left_q;

  always_comb begin
    state_d      = state_q;
    job_d        = job_q;
    step_d       = step_q;
    wr_kind_d    = wr_kind_q;
    wr_state_d   = wr_state_q;
    load_cmd     = 1'b0;
    load_pend    = 1'b0;
    load_clear   = 1'b0;
    load_fresh   = 1'b0;
    load_list    = 1'b0;
    load_link    = 1'b0;
    fin          = 1'b0;
    fin_status   = StsOk;
    fin_keys     = 1'b0;
    fin_query    = 1'b0;
    push         = 1'b0;
    commit       = 1'b0;
    append       = 1'b0;
    undo         = 1'b0;
    write        = 1'b0;
    cnt_clr      = 1'b0;
    cnt_inc      = 1'b0;

    unique case (state_q)
      StIdle: begin
        cnt_clr = 1'b1;
        step_d  = 1'b0;
        if (tail_q) begin
          job_d   = JobTail;
          state_d = StTail;
        end else if (timeout_q) begin
          load_pend = 1'b1;
          job_d     = JobCmd;
          state_d   = StPend;
        end else if (clear_more && !(turn_q && cmd_full_q)) begin
          load_clear = 1'b1;
          job_d      = JobClear;
          wr_kind_d  = WrFree;
          state_d    = StClear;
        end else if (cmd_full_q) begin
          load_cmd = 1'b1;
          job_d    = JobCmd;
          state_d  = StDispatch;
        end
      end

      StClear: state_d = StWrReq;

      StPend: begin
        fin        = 1'b1;
        state_d    = StCpl;
        fin_status = StsPending;
      end

      StTail: begin
        if (is_rereg) begin
          state_d = StRdReq;
        end else begin
          state_d   = StWrCrc;
          wr_kind_d = WrFree;
        end
      end

      // A command that will need the queue waits here for room, unless only a consumer that has
      // run out of time can make it.
      StDispatch: begin
        fin     = 1'b1;
        state_d = StCpl;
        if (!active) fin_status = StsDisabled;
        else if (is_rereg && (cmd_q.rereg == 3'd0)) fin_status = StsBadRereg;
        else if (!(is_reg || is_dereg || is_rereg || is_query)) fin_status = StsBadOp;
        else begin
          fin = 1'b0;
          if ((is_dereg || is_rereg) && que_full && (pend_q == '0)) state_d = StIdle;
          else if (is_reg) state_d = StArg0;
          else state_d = StKeyDec;
        end
      end

      StKeyDec: if (dec_valid) state_d = StKeyLim;
      StKeyLim: begin
        if (idx_bad_q) begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = StsKeyIndex;
        end else begin
          state_d = StRdReq;
        end
      end

      // addr_q follows index_q by one clock.
      StRdReq: begin
        if (rd_valid_o && rd_ready_i) state_d = StRdWait;
      end

      StRdWait: begin
        cnt_clr   = 1'b1;
        wr_kind_d = WrKeep;
        if (rd_rsp_valid_i) begin
          state_d = StRdCrc;
          if (rd_rsp_err_i) begin
            fin        = 1'b1;
            state_d    = StCpl;
            fin_status = StsBus;
          end
        end
      end

      StRdCrc: begin
        cnt_inc = 1'b1;
        if (crc_last) state_d = StCheck;
      end

      StCheck: state_d = StRule;
      StRule:  state_d = StResult;

      StResult: begin
        cnt_clr = 1'b1;
        if (job_q == JobTail) begin
          if (tail_bad_q) begin
            fin        = 1'b1;
            state_d    = StCpl;
            fin_status = StsMptBad;
          end else if (cur_q.gen == '0) begin
            state_d = StSweep;
          end else begin
            state_d    = StWrCrc;
            wr_kind_d  = WrState;
            wr_state_d = StValid;
          end
        end else if (is_reg) begin
          if (list_bad_q) begin
            fin        = 1'b1;
            state_d    = StCpl;
            fin_status = StsMptBad;
          end else begin
            state_d = StKeyStart;
          end
        end else if (key_sts_q != StsOk) begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = key_sts_q;
        end else if (is_query) begin
          fin       = 1'b1;
          state_d   = StCpl;
          fin_query = 1'b1;
        end else if (is_rereg) begin
          state_d = StArg0;
        end else if (que_full) begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = StsBusy;
        end else begin
          state_d    = StWrCrc;
          wr_kind_d  = WrState;
          wr_state_d = StInvalid;
        end
      end

      StArg0: state_d = StArg1;
      StArg1: state_d = StArg2;
      StArg2: state_d = StArg3;
      StArg3: begin
        if (arg_sts_q != StsOk) begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = arg_sts_q;
        end else begin
          state_d = use_tr ? StPage : StAlloc;
        end
      end
      StPage: if (!shift_any_q) state_d = StCap;
      StCap:  if (!shift_any_q) state_d = StSmall;
      StSmall: begin
        cnt_clr = 1'b1;
        if (small_q) begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = StsTableSmall;
        end else begin
          state_d = StAlign;
        end
      end
      StAlign: begin
        cnt_inc = 1'b1;
        if (frame_bad_q) begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = StsTableAlign;
        end else if (cnt_q == 4'd5) begin
          state_d = StAlloc;
        end
      end

      StAlloc: begin
        if (is_rereg) begin
          state_d = StKeyStart;
          if (que_full) begin
            fin        = 1'b1;
            state_d    = StCpl;
            fin_status = StsBusy;
          end
        end else if (fresh_any_q) begin
          load_fresh = 1'b1;
          state_d    = StKeyStart;
        end else if (list_any_q) begin
          load_list = 1'b1;
          state_d   = StRdReq;
        end else begin
          fin        = 1'b1;
          state_d    = StCpl;
          fin_status = StsNoIndex;
        end
      end

      StKeyStart: state_d = StKeyWait;
      StKeyWait: begin
        cnt_clr = 1'b1;
        if (keys_take) begin
          wr_kind_d  = WrNew;
          wr_state_d = is_reg ? StValid : StInvalid;
          if (is_reg && (&cur_q.gen)) state_d = StSweep;
          else state_d = StWrCrc;
        end
      end

      StSweep: begin
        cnt_clr = 1'b1;
        if (sweep_done_i) begin
          state_d = StWrCrc;
          if (job_q == JobTail) begin
            wr_kind_d  = WrState;
            wr_state_d = StValid;
          end
        end
      end

      StWrCrc: begin
        cnt_inc = 1'b1;
        if (crc_last) state_d = StWrReq;
      end
      // While clearing the answers are only counted.
      StWrReq: begin
        if (job_q == JobClear) begin
          if (wr_ready_i) state_d = StIdle;
        end else begin
          if (wr_ready_i) state_d = StWrWait;
          if (wr_done_i) state_d = inv_need ? StInvLocal : StWrDone;
        end
      end
      StWrWait: if (wr_done_i) state_d = inv_need ? StInvLocal : StWrDone;
      StInvLocal:  if (inv_done_i) state_d = StInvRemote;
      StInvRemote: if (inv_done_i) state_d = StWrDone;

      StWrDone: begin
        cnt_clr = 1'b1;
        if (job_q == JobTail) begin
          fin        = 1'b1;
          fin_status = werr_q ? StsBus : StsOk;
          if (is_rereg) begin
            fin_keys = !werr_q && !step_q;
            if (werr_q && !step_q) undo = 1'b1;
            if (step_q) fin_status = StsBus;
          end else if (!werr_q) begin
            if (step_q) begin
              append = 1'b1;
            end else if (!list_any_q) begin
              append = 1'b1;
            end else begin
              load_link = 1'b1;
              fin       = 1'b0;
              write     = 1'b1;
            end
          end
        end else if (step_q) begin
          // The undo of a failed write. A new index that cannot be written is retired.
          fin        = 1'b1;
          fin_status = StsBus;
          commit     = is_reg && werr_q;
        end else if (werr_q) begin
          undo = 1'b1;
        end else if (is_reg) begin
          fin      = 1'b1;
          fin_keys = 1'b1;
          commit   = 1'b1;
        end else begin
          push    = 1'b1;
          state_d = StIdle;
        end
        if (undo) begin
          fin       = 1'b0;
          write     = 1'b1;
          wr_kind_d = WrKeep;
        end
        if (write) begin
          step_d  = 1'b1;
          state_d = StWrCrc;
        end
        if (fin) state_d = StCpl;
      end

      StCpl: if (cpl_ready_i) state_d = StIdle;

      default: state_d = StIdle;
    endcase

  end

  // The command leaves with its completion or with its entry into the queue.
  assign fin_cmd = fin && (job_q == JobCmd) && (state_q != StPend);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      job_q      <= JobCmd;
      step_q     <= 1'b0;
      wr_kind_q  <= WrKeep;
      wr_state_q <= StFree;
      turn_q     <= 1'b0;
      cnt_q      <= '0;
    end else begin
      state_q    <= state_d;
      job_q      <= job_d;
      step_q     <= step_d;
      wr_kind_q  <= wr_kind_d;
      wr_state_q <= wr_state_d;
      if (load_clear) turn_q <= 1'b1;
      else if (load_cmd) turn_q <= 1'b0;
      if (cnt_clr) cnt_q <= '0;
      else if (cnt_inc) cnt_q <= cnt_q + 4'd1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Command buffer, entry, index, address
  // ---------------------------------------------------------------------------------------------
  assign cmd_ready_o = !cmd_full_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cmd_full_q <= 1'b0;
      cmd_fin_q  <= 1'b0;
    end else begin
      cmd_fin_q <= fin_cmd;
      if (cmd_valid_i && cmd_ready_o) cmd_full_q <= 1'b1;
      else if (cmd_fin_q || push) cmd_full_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (cmd_valid_i && cmd_ready_o) begin
      cmd_q <= cmd_i;
    end else begin
      // Frames as they are stored: unused ones are 0, a flat root keeps its low bits in frame 1.
      for (int unsigned f = 1; f < 4; f++) begin
        if (frame_drop_q[f]) cmd_q.frame[f] <= 64'd0;
      end
      if (frame_drop_q[1] && (cmd_q.level == LevelFlat)) begin
        cmd_q.frame[1][20:12] <= cmd_q.frame[0][11:3];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    // In the order of choice of StIdle. The keys are those of a tail, until new ones are made.
    if (state_q == StIdle) begin
      if (tail_q) begin
        id_q <= head.id;
        op_q <= head.rereg ? CmdReregMr : CmdDeregMr;
      end else if (timeout_q) begin
        id_q <= pend_head.id;
        op_q <= pend_head.rereg ? CmdReregMr : CmdDeregMr;
      end else begin
        id_q <= cmd_q.id;
        op_q <= cmd_q.op;
      end
      lkey_q       <= head.lkey;
      rkey_q       <= head.rkey;
      tail_index_q <= head.index;
      tail_gen_q   <= head.gen;
    end
    if (keys_take) begin
      lkey_q <= gen_lkey;
      rkey_q <= gen_rkey;
    end
  end

  always_ff @(posedge clk_i) begin
    if (rd_rsp_valid_i) cur_q <= rd_rsp_data_i;
    if (load_fresh) cur_q <= '0;
    if (dec_valid) role_q <= dec_role;
    if (wr_done_i) werr_q <= wr_err_i;
    if (load_fresh) from_fresh_q <= 1'b1;
    if (load_list) from_fresh_q <= 1'b0;
  end

  logic addr_ok_q;  // addr_q belongs to index_q
  logic index_load;
  assign index_load = (state_q == StIdle) || (state_q == StKeyDec) ||
                      ((state_q == StAlloc) && is_reg) || load_link;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) index_q <= tail_q ? head.index : clr_q[IndexW-1:0];
    if (dec_valid && (state_q == StKeyDec)) index_q <= dec_index;
    if ((state_q == StAlloc) && is_reg) begin
      index_q <= fresh_any_q ? fresh_q[IndexW-1:0] : fl_head_q;
    end
    if (load_link) index_q <= fl_tail_q;
    addr_q    <= {mpt_base_i[63:12] + {35'd0, index_q[IndexW-1:6]}, index_q[5:0], 6'd0};
    addr_ok_q <= !index_load;
  end

  assign rd_valid_o  = (state_q == StRdReq) && addr_ok_q;
  assign rd_addr_o   = addr_q;
  assign wr_valid_o  = (state_q == StWrReq);
  assign wr_addr_o   = addr_q;
  assign inv_valid_o = (state_q == StInvLocal) || (state_q == StInvRemote);
  // The key generator holds the fields of the command in work; a tail has its keys.
  always_comb begin
    if (state_q == StInvRemote) inv_field_o = (job_q == JobTail) ? rkey_q[31:8] : gen_rfield;
    else                        inv_field_o = (job_q == JobTail) ? lkey_q[31:8] : gen_lfield;
  end
  assign inv_index_o = index_q;
  assign sweep_valid_o = (state_q == StSweep);
  assign sweep_index_o = index_q;

  // ---------------------------------------------------------------------------------------------
  // Free indices
  // ---------------------------------------------------------------------------------------------
  // These follow a clock later, long before they are used.
  always_ff @(posedge clk_i) begin
    fresh_any_q <= (fresh_q != mpt_size_i);
    list_any_q  <= (fl_cnt_q != '0);
    list_one_q  <= (fl_cnt_q == (IndexW + 1)'(1));
  end
  // The list changes in the clock after the decision, when the completion is already offered.
  logic commit_q, append_q;
  always_ff @(posedge clk_i) begin
    commit_q <= commit && rst_ni;
    append_q <= append && rst_ni;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || (init_q == InitFlush)) begin
      fresh_q       <= (IndexW + 1)'(1);
      fl_head_q     <= '0;
      fl_tail_q     <= '0;
      fl_tail_gen_q <= '0;
      fl_cnt_q      <= '0;
    end else begin
      if (commit_q && from_fresh_q) fresh_q <= fresh_q + 1'b1;
      if (commit_q && !from_fresh_q) begin
        fl_head_q <= cur_q.bound;
        fl_cnt_q  <= fl_cnt_q - 1'b1;
      end
      if (append_q) begin
        if (!list_any_q) fl_head_q <= tail_index_q;
        fl_tail_q     <= tail_index_q;
        fl_tail_gen_q <= tail_gen_q;
        fl_cnt_q      <= fl_cnt_q + 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Enable
  // ---------------------------------------------------------------------------------------------
  // While the table is cleared, all writes are those of the clearing.
  logic clr_take, clr_done, clr_quiet;
  assign clr_take  = (job_q == JobClear) && (state_q == StWrReq) && wr_ready_i;
  assign clr_done  = wr_done_i && ((init_q == InitClear) || (init_q == InitError));
  assign clr_quiet = (state_q == StIdle) && (clr_out_q == '0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      init_q     <= InitOff;
      clr_q      <= '0;
      clr_out_q  <= '0;
      clr_left_q <= 1'b0;
    end else begin
      clr_left_q <= (clr_q != mpt_size_i) || (init_q == InitFlush);
      clr_out_q  <= clr_out_q + 8'(clr_take) - 8'(clr_done);
      unique case (init_q)
        InitOff: if (enable_i) init_q <= InitWait;
        InitWait: begin
          if (!enable_i) init_q <= InitOff;
          else if (idle_i && !que_any && (state_q == StIdle)) init_q <= InitFlush;
        end
        InitFlush: begin
          clr_q <= '0;
          if (flush_done_i) init_q <= InitClear;
        end
        InitClear: begin
          if (state_q == StClear) clr_q <= clr_q + 1'b1;
          if (wr_done_i && wr_err_i) init_q <= InitError;
          else if (clr_quiet && !enable_i) init_q <= InitOff;
          else if (clr_quiet && !clr_left_q) init_q <= InitReady;
        end
        InitError: if (clr_quiet && !enable_i) init_q <= InitOff;
        default:   if (!enable_i) init_q <= InitOff;  // ready
      endcase
    end
  end

  assign ready_o       = active;
  assign clearing_o    = (init_q == InitWait) || (init_q == InitFlush) || (init_q == InitClear);
  assign clear_error_o = (init_q == InitError);
  assign flush_o       = (init_q == InitFlush);
  assign fence_busy_o  = que_any || (state_q != StIdle) || (init_q == InitFlush) ||
                         (clr_out_q != '0) || (active && cmd_full_q);

  // ---------------------------------------------------------------------------------------------
  // Completion
  // ---------------------------------------------------------------------------------------------
  logic [15:0] cpl_id_q;
  logic [3:0]  cpl_op_q;
  status_e     cpl_status_q;
  logic [31:0] cpl_lkey_q, cpl_rkey_q;
  logic        cpl_query_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cpl_id_q     <= '0;
      cpl_op_q     <= '0;
      cpl_status_q <= StsOk;
      cpl_lkey_q   <= '0;
      cpl_rkey_q   <= '0;
      cpl_query_q  <= 1'b0;
    end else if (!cpl_valid_o) begin
      // Taken over until the state machine stops at the completion.
      cpl_id_q     <= id_q;
      cpl_op_q     <= op_q;
      cpl_status_q <= fin_status;
      cpl_lkey_q   <= fin_keys ? lkey_q : 32'd0;
      cpl_rkey_q   <= fin_keys ? rkey_q : 32'd0;
      cpl_query_q  <= fin_query;
    end
  end

  // cur_q rests while a completion waits.
  assign cpl_valid_o = (state_q == StCpl);
  always_comb begin
    cpl_o.id     = cpl_id_q;
    cpl_o.op     = cpl_op_q;
    cpl_o.status = cpl_status_q;
    cpl_o.lkey   = cpl_lkey_q;
    cpl_o.rkey   = cpl_rkey_q;
    cpl_o.entry  = cpl_query_q ? cur_q : '0;
  end

  assign err_bus_o        = (rd_rsp_valid_i && rd_rsp_err_i) || (wr_done_i && wr_err_i);
  assign err_mpt_bad_o    = fin && (fin_status == StsMptBad);
  assign err_fence_time_o = (state_q == StPend);

  logic unused_ok;
  assign unused_ok = ^{mpt_base_i[11:0], head.since, pend_head, head_age[6:0],
                       frame_now[63:MaxLogPage]};

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSUME(BaseAligned_A, !enable_i || (mpt_base_i[11:0] == '0))
  `TPT_ASSUME(SizeLegal_A, !enable_i || ((mpt_size_i != '0) &&
                                         (mpt_size_i <= (IndexW + 1)'(MaxMptSize))))
  `TPT_ASSUME(ReadAnswerExpected_A, !rd_rsp_valid_i || (state_q == StRdWait))
  `TPT_ASSUME(WriteAnswerExpected_A, !wr_done_i || (state_q == StWrWait) ||
              ((state_q == StWrReq) && wr_ready_i) || (clr_out_q != '0))
  `TPT_ASSERT(ClearAlone_A, (clr_out_q == '0) || (init_q == InitClear) || (init_q == InitError))
  `TPT_ASSERT(QueueRoom_A, !push || !que_full)
  `TPT_ASSERT(QueueNotEmpty_A, !pop || que_any)
  `TPT_ASSERT(QueueBounds_A, (que_cnt_q <= (QueW + 1)'(FenceDepth)) && (pend_q <= que_cnt_q))
  `TPT_ASSERT(PendPointer_A, pend_rd_q == (que_rd_q + pend_q[QueW-1:0]))
  `TPT_ASSERT(PendOnlyWaiting_A, !load_pend || (pend_q != que_cnt_q))
  `TPT_ASSERT(OneMemoryAccess_A, !(rd_valid_o && wr_valid_o))
  `TPT_ASSERT(AddressSettled_A, !wr_valid_o || addr_ok_q)
  `TPT_ASSERT(FieldsMade_A, !inv_valid_o || (job_q == JobTail) || gen_fields_valid)
  // An index is handed out only from inside the table, never 0, never while it waits for a fence.
  `TPT_ASSERT(CommitInTable_A, !commit || ((index_q != '0) && ({1'b0, index_q} < mpt_size_i)))
  `TPT_ASSERT(CommitNotWaiting_A, !(commit && que_any) || (index_q != head.index))
  `TPT_ASSERT(ListBounds_A, (fl_cnt_q < fresh_q) && (!(commit && !from_fresh_q) ||
                                                     (fl_cnt_q != '0)))
  `TPT_ASSERT(WriteOnlyInWork_A, !wr_valid_o || (job_q == JobTail) || (job_q == JobClear) ||
              cmd_full_q)
  `TPT_ASSERT(ClearOnlyClearing_A, !(wr_valid_o && (job_q == JobClear)) || (init_q == InitClear) ||
              (init_q == InitError))
  `TPT_ASSERT(KeysOnlyOk_A, !cpl_valid_o || (cpl_status_q == StsOk) ||
              ((cpl_lkey_q == '0) && (cpl_rkey_q == '0)))
`ifndef SYNTHESIS
  // A fence is asked for right after the invalidation of the second field.
  logic prev_inv_q;
  always_ff @(posedge clk_i) prev_inv_q <= (state_q == StInvRemote) && inv_done_i;
  `TPT_ASSERT(FenceAfterBoth_A, !push || prev_inv_q)

  // The fields that are invalidated are those of the entry that was written.
  function automatic logic [23:0] field_of(logic role, logic [IndexW-1:0] index);
    logic [23:0] x;
    x = {role, index};
    for (int unsigned r = 0; r < PermRounds; r++) begin
      x = perm_round(x, perm_secret_i[12*r+:12], plain_i);
    end
    return x;
  endfunction
  `TPT_ASSERT(FieldOfEntry_A, !inv_valid_o || ((job_q == JobTail) && (inv_field_o == '0)) ||
              (inv_field_o == field_of(state_q == StInvRemote, inv_index_o)))

  logic prev_stall_q;
  cpl_t prev_cpl_q;
  always_ff @(posedge clk_i) begin
    prev_stall_q <= rst_ni && cpl_valid_o && !cpl_ready_i;
    prev_cpl_q   <= cpl_o;
  end
  `TPT_ASSERT(CompletionStable_A, !prev_stall_q || (cpl_valid_o && (cpl_o == prev_cpl_q)))

  // No index is given twice: the first indices are followed from their REG to their DEREG.
  localparam int unsigned Followed = 256;
  logic [Followed-1:0] given_q;
  logic                follow_reg, follow_free;
  assign follow_reg  = commit && (index_q < IndexW'(Followed));
  assign follow_free = append && (tail_index_q < IndexW'(Followed));
  always_ff @(posedge clk_i) begin
    if (!rst_ni || (init_q == InitFlush)) begin
      given_q <= '0;
    end else begin
      if (follow_reg) given_q[index_q[$clog2(Followed)-1:0]] <= 1'b1;
      if (follow_free) given_q[tail_index_q[$clog2(Followed)-1:0]] <= 1'b0;
    end
  end
  `TPT_ASSERT(GivenOnce_A, !follow_reg || !given_q[index_q[$clog2(Followed)-1:0]])
  `TPT_ASSERT(FreedOnce_A, !follow_free || given_q[tail_index_q[$clog2(Followed)-1:0]])
`endif

endmodule
