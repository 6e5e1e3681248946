// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Registration engine: executes the commands, owns the MPT in memory, the allocation of indices
/// and the making of keys, and clears the table at enable.
///
/// Commands are begun one after the other, in order. A write is *posted*: the engine goes on with
/// the next command, and a second, small state machine *settles* the first one when memory has
/// answered. What has to wait for a fence goes to a queue from there; the rest of such a command
/// (its *tail*) is done when its fence is over, with priority over new commands.
///
///   begun                                                            settled
///   REG, ALLOC_MR, ALLOC_MW, REG_PHYS (below: REG)
///          arguments, meanwhile index ─► keys, [read FREE entry]
///          ─► [sweep] ─► write VALID ································ completion
///   QUERY  key ─► read, check ─► completion with the entry
///   DEREG, DEALLOC_MW (below: DEREG)
///          key ─► read, check ─► write INVALID ······················ invalidate ─► queue
///          ··· fence ··· tail: [parent], write FREE, link into the free list ·· completion
///   INVALIDATE
///          key ─► read, check ─► write INVALID ······················ invalidate ─► queue
///          ··· fence ··· tail: [parent], read, check ─► write ALLOC ─► completion
///   REREG  key ─► read, check ─► arguments ─► keys
///          ─► write new, INVALID ···································· invalidate ─► queue
///          ··· fence ··· tail: read, check ─► [sweep] ─► write VALID ─► completion
///   FAST_REG_MR
///          key ─► read, check ─► arguments ─► [sweep] ─► write VALID ─► completion
///   INVALIDATE_RANGE
///          key ─► read, check ─► arguments ─► [sweep] ─► write VALID, next generation
///          ·························································· invalidate ─► queue
///          ··· fence ··· tail: completion
///   PAGE_READY
///          answer to the slot ─► completion
///   BIND_MW, window not bound
///          key ─► read, check ─► arguments, keys ─► region: key ─► read, check ─► write its count
///          ─► write window VALID ─► completion
///   BIND_MW, window bound (type 1)
///          the same, but ─► write window INVALID ···················· invalidate ─► queue
///          ··· fence ··· tail: parent, read, check ─► write VALID or ALLOC ─► completion
///
/// *parent*: the region to which a window was bound has one window less: read, check, write.
///
/// At most one REG, one DEREG, INVALIDATE, REREG or BIND_MW, and one tail are posted. A REREG, a
/// BIND_MW and the tails that read are waited for, because the entry as it was is needed to undo
/// them.
///
/// **Order.** Commands are settled in their order, and a completion that needs no write waits until
/// no command before it is posted. The entry of a command is read only when no posted write can be
/// to it. A REG does not take the last index of the free list while a tail appends to the list, or
/// the other way round.
///
/// **Undoing.** When a posted write has failed, the settling asks the first state machine for the
/// undo. Whoever waits there for the settling gives up (it has changed nothing yet) and begins its
/// command again after that, with the index that the failed one has given back.
///
/// The MPT cache is keyed by the index field of the key, so an entry can be in it twice. The write
/// of INVALID is followed, after its answer, by the invalidation of the field of the L_Key and of
/// that of the R_Key; then the fence is asked for, so nothing older is looked up when it has begun.
/// A write that failed and was undone is treated alike, because its content may have been seen.
/// Other writes replace an entry that is not VALID: of such a one nothing is in the cache.
///
/// **Entries in work.** `cur_q` is the entry as read. What is written is a function of it and of
/// the command (`wr_data_o`).
///
/// **Indices.** 0 is never handed out. Fresh indices 1, 2, 3, ... come first; when there are none,
/// the free list, first freed first reused. The list is threaded through the FREE entries (`bound`
/// is the next one, `pd` the index itself); head, tail and length are registers. If the index that
/// is at its end is freed once more, because memory has brought back an old entry of it, the list
/// stays as it is. An index whose field is 0 in one role is left out when its turn comes: key 0 is
/// none.
///
/// **Generations.** A generation counts the registrations of an index (and the bindings, if it is a
/// window), and the invalidations of ranges: it names the lines of the MTT cache. At 0 and at 128,
/// and when one is used again because the write of a REG has failed, the MTT cache is swept of the
/// index before it is used. Twice in a round, because requests under way during an INVALIDATE_RANGE
/// may bring lines of the old generation in behind the sweep. Tags follow registrations alone: how
/// many of the generations are invalidations of ranges is kept beside them, whatever becomes of the
/// index (`ranges`; in the entry the low bits of `qpn`, of a window those of `cap`).
///
/// **Errors.** Every memory error ends in StsBus, never in a hang:
/// * REG, DEREG, REREG, first write fails: the old entry is written again, and everything is as it
///   was before (for a DEREG it is read again, and made VALID if it is found INVALID). If that
///   fails as well, a new index is retired (not handed out again), and the entry of an old one is
///   whatever the memory kept.
/// * FAST_REG_MR: likewise. BIND_MW: the window is not bound afterwards, even if it was before, and
///   the regions have the counts that go with that.
/// * INVALIDATE_RANGE: the same entry is written again, because the generation may have been used.
/// * Tail of a DEREG: the keys are dead and the fence is over; the index is retired.
/// * Other tails: the entry stays INVALID (keys dead, fence over); the index is retired. If what
///   failed was the parent, that keeps its count.
/// * Clearing: `clear_error_o`, and the unit does not become ready until disabled and enabled.
/// An entry read for a command with a wrong CRC, or that is not what it must be: StsMptBad.
///
/// Latency and throughput: rows `commands` and `churn-period` of `tpt bench`.
module tpt_reg_engine import tpt_pkg::*; #(
  /// Deepest tree of table pages, 1 to 4.
  parameter int unsigned MaxLevels  = 3,
  /// Commands that can wait for a fence, a power of two, 2 to 64.
  parameter int unsigned FenceDepth = 16,
  /// Slots for page faults, 0 (no on-demand regions) to 128.
  parameter int unsigned FaultSlots = 0,
  /// Table entries can be CHECKED.
  parameter int unsigned MttChecked = 1
) (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Settings from the registers. All but the fence time are constant while enabled or busy.
  input  logic              enable_i,
  input  logic              plain_i,
  input  logic              phys_i,         // physical regions may be registered
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
  input  logic              cmd_src_i,      // who gave it: returned with its completions
  output logic              cpl_valid_o,
  input  logic              cpl_ready_i,
  output cpl_t              cpl_o,
  output logic              cpl_src_o,

  /// Read of an MPT entry: one outstanding, answered in a later clock than ready.
  output logic              rd_valid_o,
  input  logic              rd_ready_i,
  output logic [63:0]       rd_addr_o,
  input  logic              rd_rsp_valid_i,
  input  logic [MptW-1:0]   rd_rsp_data_i,
  input  logic              rd_rsp_err_i,

  /// Write of an MPT entry: done in or after the clock of ready, in order. At most 5 outstanding,
  /// but for the clearing, where as many are offered as the writer takes (at most 255).
  output logic              wr_valid_o,
  input  logic              wr_ready_i,
  output logic [63:0]       wr_addr_o,
  output logic [MptW-1:0]   wr_data_o,
  input  logic              wr_done_i,
  input  logic              wr_err_i,

  /// Invalidate what the MPT cache holds under one index field of a key, key[31:8]. Valid is held
  /// until done (one clock), after which no look-up of this field sees an older content of the
  /// entry.
  output logic              inv_valid_o,
  output logic [FieldW-1:0] inv_field_o,
  input  logic              inv_done_i,

  /// Remove all lines of one index from the MTT cache. Valid is held until done (one clock).
  output logic              sweep_valid_o,
  output logic [IndexW-1:0] sweep_index_o,
  input  logic              sweep_done_i,

  /// Empty both caches. Held until done (one clock).
  output logic              flush_o,
  input  logic              flush_done_i,

  /// Answer to a page fault; the clock after, whether one was owed.
  output logic              ans_valid_o,
  output logic [6:0]        ans_slot_o,
  output logic              ans_refuse_o,
  input  logic              ans_ok_i,

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
  localparam logic [31:0] LastSlot = (FaultSlots != 0) ? 32'(FaultSlots) - 32'd1 : 32'd0;

  // ---------------------------------------------------------------------------------------------
  // Types
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [5:0] {
    StIdle,      // choose what to do next
    StClear,     // address of the entry to clear
    StPend,      // a fence ran out of time
    StTail,      // fence over: begin the tail
    StTailGo,    // its parent has one window less
    StFix,       // a posted write failed: begin to undo it
    StDispatch,  // begin a command
    StAnswer,    // answer to a page fault
    StAnswered,
    StKeyDec,    // key -> role, index
    StKeyLim,    // index in the table?
    StRdWait,    // read the entry
    StRdCrc,     // CRC of the entry read
    StCheck,     // compare
    StRule,      // first rule that fails
    StResult,    // decide
    StArg0,      // choose the index of a REG; arguments: masks, start + length
    StArg1,      // rules, offset + length
    StArg2,      // first rule that fails
    StArg3,      // decide on the plain rules
    StPage,      // number of the last page: shift by log_page
    StCap,       // against the table: shift by log2 of the capacity
    StSmall,
    StAlign,     // frames, one per clock, verdict two clocks later
    StRoom,     // room: index, or place in the queue
    StKeyWait,   // make keys
    StSweep,     // generation comes again: sweep the MTT cache
    StWrCrc,     // CRC of the entry to be written
    StWrSet,     // CRC known already: only the entry settles
    StWrReq,     // write it
    StWrWait,    // not posted: wait for the answer
    StWrDone,    // next step
    StEndWait,   // REREG: the old entry is kept until the write of INVALID is settled
    StInvWait,   // tail of a REREG, undone: invalidate
    StOrder,     // wait for commands before this one
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
    JobFix,   // the undo of a posted write
    JobClear  // one entry of the clearing
  } job_e;

  /// What is written.
  typedef enum logic [3:0] {
    WrKeep,   // cur_q as it is
    WrState,  // cur_q with another state
    WrNew,    // the region of the command
    WrFree,   // a FREE entry with a generation and a next index
    WrMore,   // cur_q with one window more
    WrLess,   // cur_q with one window less
    WrWin,    // the window of the command
    WrClean,  // cur_q without its registration or binding
    WrGen     // cur_q with the next generation
  } wr_e;

  /// What a job is at, beside its main entry.
  typedef enum logic [2:0] {
    PhMain,   // the entry that the command names, or of the tail
    PhPar,    // tail: the parent, which loses a window
    PhNew,    // BIND_MW: the region, which gets a window
    PhWin,    // BIND_MW: the window
    PhFixW,   // undone BIND_MW: the window
    PhFixN,   // undone BIND_MW: the region
    PhFixO    // undone BIND_MW: the region to which the window was bound
  } phase_e;

  /// Who waits for the answer to a write.
  typedef enum logic [1:0] {
    AnsReg,   // REG, posted
    AnsEnd,   // first write of a command with a fence, posted
    AnsFree,  // tail of a DEREG, posted
    AnsFsm    // the state machine
  } ans_e;

  /// What the settling of posted writes does.
  typedef enum logic [2:0] {
    SetIdle,
    SetFix,     // the state machine is asked to undo a write
    SetLocal,   // invalidate: field of the L_Key
    SetRemote,  // field of the R_Key
    SetPush,    // ask for the fence
    SetCpl      // offer the completion
  } set_e;

  /// Whose write is settled.
  typedef enum logic [1:0] {
    OfReg,
    OfEnd,
    OfTail,
    OfFsm   // the undone tail of a REREG: only invalidated
  } of_e;

  /// Who gave a command, and its id.
  typedef struct packed {
    logic        src;
    logic [15:0] id;
  } cid_t;

  /// A REG whose write is posted, and, while nothing is, what is waited for.
  typedef struct packed {
    cid_t              id;
    logic [3:0]        op;
    logic              no_l;   // no L_Key
    logic [IndexW-1:0] index;
    logic              fresh;
    logic [GenW-1:0]   gen;    // of the FREE entry
    logic [GenW-1:0]   ranges; // of the FREE entry
    logic [IndexW-1:0] next;   // of the FREE entry
    logic [31:0]       lkey;
    logic [31:0]       rkey;   // 0 without remote rights; its field is there all the same
    logic [FieldW-1:0] rfield;
  } reg_t;

  /// A command with a fence whose first write is posted.
  typedef struct packed {
    cid_t              id;
    logic [3:0]        op;
    logic [IndexW-1:0] index;
    logic [GenW-1:0]   gen;
    logic [GenW-1:0]   ranges;
    logic [FieldW-1:0] lfield;
    logic [FieldW-1:0] rfield;
    logic [IndexW-1:0] parent;  // region that loses a window, or 0
    logic              alloc;   // it was ALLOC before, not VALID
  } end_t;

  /// A command that waits for its fence.
  typedef struct packed {
    cid_t              id;
    logic [3:0]        op;
    logic [IndexW-1:0] index;
    logic [GenW-1:0]   gen;
    logic [GenW-1:0]   ranges;
    logic [IndexW-1:0] parent;  // region that loses a window, or 0
    logic [7:0]        ticket;
    logic [31:0]       since;  // clock of its entry
  } wait_t;

  /// The window of a BIND_MW.
  typedef struct packed {
    logic [IndexW-1:0] index;
    logic [GenW-1:0]   gen;      // before
    logic [GenW-1:0]   ranges;
    logic [2:0]        kind;
    logic              bound;    // before
    logic [IndexW-1:0] parent;   // before
    logic [FieldW-1:0] lfield;
    logic [31:0]       rkey;     // from now on
  } bind_t;

  // ---------------------------------------------------------------------------------------------
  // Functions
  // ---------------------------------------------------------------------------------------------
  // Ones below bit n.
  function automatic logic [MaxLogPage-1:0] low_mask(logic [5:0] n);
    logic [MaxLogPage-1:0] m;
    for (int unsigned b = 0; b < MaxLogPage; b++) m[b] = (6'(b) < n);
    return m;
  endfunction

  // Verbs access word to the access bits of an entry: 0 to 9, and relaxed ordering.
  function automatic logic [AccessW-1:0] pack_access(logic [31:0] a);
    logic [AccessW-1:0] p;
    logic               unused_bits;
    unused_bits                 = ^a;
    p                           = '0;
    p[AccFlushPersistent:AccLocalWrite] = a[AccFlushPersistent:AccLocalWrite];
    p[AccRelaxedOrdering]       = a[VerbsRelaxedOrdering];
    return p;
  endfunction

  function automatic logic is_tree(logic [2:0] level);
    return (level != LevelInline) && (level != LevelFlat);
  endfunction

  function automatic logic is_window(logic [2:0] kind);
    return (kind == KindMw1) || (kind == KindMw2) || (kind == KindMw2a);
  endfunction

  // What the CRC of an entry changes by with each bit of its state.
  localparam logic [15:0] CrcOfState0 = crc16_entry(MptW'(2'b01));
  localparam logic [15:0] CrcOfState1 = crc16_entry(MptW'(2'b10));

  // ---------------------------------------------------------------------------------------------
  // State
  // ---------------------------------------------------------------------------------------------
  (* fsm_encoding = "one-hot" *)
  fsm_e              state_q;
  fsm_e              state_d;
  init_e             init_q;
  job_e              job_q, job_d;
  phase_e            phase_q, phase_d;
  logic              step_q, step_d;     // first write of a job, or the one after it
  wr_e               wr_kind_q, wr_kind_d;
  logic [1:0]        wr_state_q, wr_state_d;

  cmd_t              cmd_q;
  logic              cmd_src_q;
  logic              cmd_full_q;
  logic              cmd_fin_q;          // its completion is on its way
  logic              turn_q;             // after a clearing step a command may go first
  cid_t              id_q;
  logic [3:0]        op_q;
  logic [IndexW-1:0] index_q;
  logic              role_q;
  mpt_entry_t        cur_q;
  logic [63:0]       addr_q;
  logic [3:0]        cnt_q;              // rounds, words, frames
  logic              werr_q;
  logic [IndexW-1:0] tail_index_q;       // of the waiting command whose tail is in work
  logic [GenW-1:0]   tail_gen_q;
  logic [GenW-1:0]   tail_ranges_q;
  logic [IndexW-1:0] tail_parent_q;
  bind_t             bind_q;
  logic [IndexW-1:0] mr_index_q;         // region of a BIND_MW
  logic [GenW-1:0]   mr_gen_q;
  logic [GenW-1:0]   cur_gen, gen_next;  // generation of the entry, and that of its registration
  logic [GenW-1:0]   cur_ranges;         // of its generations, those of invalidations of ranges

  logic [IndexW:0]   fresh_q;            // next fresh index; mpt_size_i: none left
  logic              from_fresh_q, from_list_q;  // where the index of a REG comes from
  logic [IndexW-1:0] fl_head_q, fl_tail_q;
  logic [GenW-1:0]   fl_tail_gen_q, fl_tail_ranges_q;
  logic [IndexW:0]   fl_cnt_q;
  logic              fresh_any_q, list_any_q, list_one_q;  // about fresh_q and fl_cnt_q
  logic [IndexW:0]   clr_q;              // next entry to clear
  logic [7:0]        clr_out_q;          // clearing writes that wait for their answer

  // Strobes of the state machine.
  logic    load_cmd, load_pend, load_clear, load_index, load_link, read;
  logic    load_bind, load_mkey, load_mr, load_page, load_phase, bind_end;
  logic    fin, fin_cmd, fin_keys, fin_query, issue, fixed, fix_err;
  status_e fin_status;
  logic    cnt_clr, cnt_inc;

  // Between the parts.
  logic [31:0] gen_lkey, gen_rkey;      // keys of the command in work
  logic        has_remote_q;            // they have an R_Key
  logic [FieldW-1:0] gen_lfield, gen_rfield;  // index fields of the command in work
  logic        rd_busy;                 // a read is wanted or under way
  logic        rd_stuck;                // its entry has a write on its way
  logic        rd_got_q, rd_err_q;      // it has been answered
  logic        wr_stuck_q;                // another REG is posted
  logic        fsm_answer;              // answer to a write that is not posted
  logic        fsm_cpl_take;            // completion of the state machine taken

  logic active;
  assign active = (init_q == InitReady) && enable_i;

  logic is_reg_q, is_amr_q, is_amw_q, is_phys_q;        // these take an index: is_make_q
  logic is_dereg_q, is_dealloc_q, is_inv_q, is_rereg_q; // these have a fence: is_end_q
  logic is_fast_q, is_bind_q, is_query_q, is_range_q, is_answer_q;
  logic is_make_q, is_end_q;
  logic is_again_q;  // its tail does not free the entry: it writes it again, or nothing
  // With op_q, but decoded before.
  logic [3:0] op_next;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      is_reg_q     <= (op_next == CmdRegMr);
      is_amr_q     <= (op_next == CmdAllocMr);
      is_amw_q     <= (op_next == CmdAllocMw);
      is_phys_q    <= (op_next == CmdRegPhys);
      is_dereg_q   <= (op_next == CmdDeregMr);
      is_dealloc_q <= (op_next == CmdDeallocMw);
      is_inv_q     <= (op_next == CmdInvalidate);
      is_rereg_q   <= (op_next == CmdReregMr);
      is_fast_q    <= (op_next == CmdFastRegMr);
      is_bind_q    <= (op_next == CmdBindMw);
      is_query_q   <= (op_next == CmdQuery);
      is_range_q   <= (op_next == CmdInvalidateRange) && (FaultSlots != 0);
      is_answer_q  <= (op_next == CmdPageReady) && (FaultSlots != 0);
      is_make_q    <= (op_next == CmdRegMr) || (op_next == CmdAllocMr) ||
                      (op_next == CmdAllocMw) || (op_next == CmdRegPhys);
      is_end_q     <= (op_next == CmdDeregMr) || (op_next == CmdDeallocMw) ||
                      (op_next == CmdInvalidate) || (op_next == CmdReregMr) ||
                      ((op_next == CmdInvalidateRange) && (FaultSlots != 0));
      is_again_q   <= (op_next == CmdInvalidate) || (op_next == CmdReregMr) ||
                      (op_next == CmdBindMw) || (op_next == CmdInvalidateRange);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Posted writes. At most one REG, one command with a fence and one tail wait for their answers;
  // each has its registers here, and they are settled by a state machine of their own.
  // ---------------------------------------------------------------------------------------------
  reg_t       reg_q;                     // REG
  end_t       end_q;                     // command with a fence
  logic       reg_busy_q, reg_done_q, reg_err_q;
  logic       end_busy_q, end_done_q, end_err_q;
  logic       end_first_q;               // if both wait: which one is older
  logic       tail_busy_q, tail_more_q, tail_err_q;
  logic [1:0] tail_out_q;                // its writes that wait for their answer
  logic       fix_q;                     // the state machine is asked to undo a write
  set_e       set_q;
  of_e        of_q;
  logic       wr_take, clr_done, posted_none;
  ans_e       wr_ans_q;                    // whose the offered write is
  ans_e [7:0] ans_q;                     // of the writes that wait, in order
  logic [3:0] ans_cnt_q;
  ans_e       ans_now;
  logic       ans_push, ans_pop;
  logic       reg_settled, end_settled, tail_settled, set_cpl_take;
  logic       push, append, restore;
  logic       restore_q, again_q;  // an index was given back; sweep before its next use
  logic       listed_q;                  // the index of the tail is on the list already
  logic       tail_par;                  // a tail works at the parent
  assign tail_par = (phase_q == PhPar);

  // In the clock after the write was taken everything about it is still there.
  logic       reg_load_q, end_load_q;
  logic [3:0] issued_q;  // what a REG has taken is not yet seen everywhere
  always_ff @(posedge clk_i) begin
    reg_load_q <= wr_take && !step_q && ((wr_ans_q == AnsReg) ||
                                         ((job_q == JobTail) && is_again_q && !tail_par) ||
                                         ((job_q == JobCmd) && (wr_ans_q == AnsFsm)));
    end_load_q <= wr_take && (wr_ans_q == AnsEnd);
    issued_q   <= {issued_q[2:0], issue};
  end

  assign posted_none = !reg_busy_q && !end_busy_q;
  assign ans_push    = wr_take && (job_q != JobClear);
  assign ans_pop     = wr_done_i && !clr_done;
  assign ans_now     = (ans_cnt_q == 4'd0) ? wr_ans_q : ans_q[0];

  // Settled before a write is offered.
  always_ff @(posedge clk_i) begin
    wr_ans_q <= AnsFsm;
    if ((job_q == JobCmd) && !step_q && is_make_q) wr_ans_q <= AnsReg;
    if ((job_q == JobCmd) && !step_q && is_end_q) wr_ans_q <= AnsEnd;
    if ((job_q == JobCmd) && (phase_q == PhWin) && bind_q.bound) wr_ans_q <= AnsEnd;
    if ((job_q == JobTail) && !is_again_q && !tail_par) wr_ans_q <= AnsFree;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ans_q     <= '{default: AnsFsm};
      ans_cnt_q <= 4'd0;
    end else begin
      ans_cnt_q <= ans_cnt_q + 4'(ans_push) - 4'(ans_pop);
      for (int unsigned k = 0; k < 8; k++) begin
        if (ans_pop) ans_q[k] <= (k < 7) ? ans_q[(k+1)&7] : AnsFsm;
        if (ans_push && (ans_cnt_q == (4'(k) + 4'(ans_pop)))) ans_q[k] <= wr_ans_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (reg_load_q) begin
      reg_q.id     <= id_q;
      reg_q.op     <= op_q;
      reg_q.no_l   <= is_amw_q || is_bind_q;
      reg_q.index  <= index_q;
      reg_q.fresh  <= from_fresh_q;
      reg_q.gen    <= cur_gen;
      reg_q.ranges <= cur_ranges;
      reg_q.next   <= from_fresh_q ? '0 : cur_q.bound;
      // The tags of a tail are in its entry, those of a FAST_REG in the command.
      reg_q.lkey   <= gen_lkey;
      reg_q.rkey   <= gen_rkey;
      reg_q.rfield <= gen_rfield;
      if (job_q == JobTail) begin
        reg_q.lkey[7:0] <= cur_q.lkey_tag;
        reg_q.rkey[7:0] <= cur_q.rkey_tag;
      end else if (is_fast_q) begin
        reg_q.lkey[7:0] <= cmd_q.tag;
        reg_q.rkey[7:0] <= has_remote_q ? cmd_q.tag : 8'd0;
      end else if (is_bind_q) begin
        reg_q.rkey <= bind_q.rkey;
      end
    end
    if (end_load_q) begin
      end_q.id     <= id_q;
      end_q.op     <= op_q;
      end_q.index  <= index_q;
      end_q.alloc  <= (cur_q.state == StAlloc);
      end_q.gen    <= is_rereg_q ? gen_next : cur_q.gen;
      end_q.ranges <= cur_ranges;
      end_q.lfield <= gen_lfield;
      end_q.rfield <= gen_rfield;
      end_q.parent <= (is_window(cur_q.kind) && (cur_q.state == StValid)) ? cur_q.bound : '0;
      if (is_bind_q) begin
        end_q.gen    <= bind_q.gen + 8'd1;
        end_q.lfield <= bind_q.lfield;
        end_q.rfield <= bind_q.rkey[31:8];
        end_q.parent <= bind_q.parent;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reg_busy_q  <= 1'b0;
      reg_done_q  <= 1'b0;
      reg_err_q   <= 1'b0;
      end_busy_q  <= 1'b0;
      end_done_q  <= 1'b0;
      end_err_q   <= 1'b0;
      end_first_q <= 1'b0;
      tail_busy_q <= 1'b0;
      tail_more_q <= 1'b0;
      tail_err_q  <= 1'b0;
      tail_out_q  <= 2'd0;
    end else begin
      if (issue) end_first_q <= is_make_q;
      reg_busy_q <= (reg_busy_q || (issue && is_make_q)) && !reg_settled;
      reg_done_q <= (reg_done_q || (ans_pop && (ans_now == AnsReg))) && !reg_settled;
      if (ans_pop && (ans_now == AnsReg)) reg_err_q <= wr_err_i;
      end_busy_q <= (end_busy_q || (issue && !is_make_q)) && !end_settled;
      end_done_q <= (end_done_q || (ans_pop && (ans_now == AnsEnd))) && !end_settled;
      if (ans_pop && (ans_now == AnsEnd)) end_err_q <= wr_err_i;
      if ((state_q == StTailGo) && !is_again_q) begin
        tail_busy_q <= 1'b1;
        tail_more_q <= 1'b1;
        tail_err_q  <= 1'b0;
      end else begin
        if (tail_settled) tail_busy_q <= 1'b0;
        if (ans_push && (wr_ans_q == AnsFree) && !load_link) tail_more_q <= 1'b0;
        if (ans_pop && (ans_now == AnsFree) && wr_err_i) tail_err_q <= 1'b1;
      end
      tail_out_q <= tail_out_q + 2'(ans_push && (wr_ans_q == AnsFree)) -
                    2'(ans_pop && (ans_now == AnsFree));
    end
  end

  // Settling, oldest command first.
  logic reg_turn, end_turn, tail_turn, set_err_q;
  assign reg_turn  = reg_done_q && !(end_busy_q && end_first_q);
  assign end_turn  = end_done_q && !(reg_busy_q && !end_first_q);
  assign tail_turn = tail_busy_q && !tail_more_q && (tail_out_q == 2'd0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      set_q     <= SetIdle;
      of_q      <= OfReg;
      fix_q     <= 1'b0;
      set_err_q <= 1'b0;
    end else begin
      unique case (set_q)
        SetIdle: begin
          if (reg_turn) begin
            of_q      <= OfReg;
            set_err_q <= reg_err_q;
            fix_q     <= reg_err_q;
            set_q     <= reg_err_q ? SetFix : SetCpl;
          end else if (end_turn) begin
            of_q      <= OfEnd;
            set_err_q <= end_err_q;
            fix_q     <= end_err_q;
            set_q     <= end_err_q ? SetFix : SetLocal;
          end else if (tail_turn) begin
            of_q      <= OfTail;
            set_err_q <= tail_err_q;
            set_q     <= SetCpl;
          end else if (state_q == StInvWait) begin
            of_q      <= OfFsm;
            set_q     <= SetLocal;
          end
        end
        SetFix: begin
          if (fixed) begin
            fix_q <= 1'b0;
            set_q <= SetLocal;
          end
        end
        SetLocal: if (inv_done_i) set_q <= SetRemote;
        SetRemote: begin
          if (inv_done_i) begin
            if (of_q == OfFsm) set_q <= SetIdle;
            else set_q <= set_err_q ? SetCpl : SetPush;
          end
        end
        SetPush: set_q <= SetIdle;
        default: if (set_cpl_take) set_q <= SetIdle;
      endcase
    end
  end

  assign push         = (set_q == SetPush);
  assign reg_settled  = set_cpl_take && (of_q == OfReg);
  assign end_settled  = push || (set_cpl_take && (of_q == OfEnd));
  assign tail_settled = set_cpl_take && (of_q == OfTail);
  assign append       = tail_settled && !set_err_q && !listed_q;
  // A new index whose write was undone is the next one again. If it could not be undone it is lost.
  assign restore      = fixed && (of_q == OfReg) && !fix_err;

  // The fields of what is settled, of both keys, whether the entry has an R_Key or not.
  assign inv_valid_o = (set_q == SetLocal) || (set_q == SetRemote);
  always_comb begin
    if (of_q == OfEnd) begin
      inv_field_o = (set_q == SetRemote) ? end_q.rfield : end_q.lfield;
    end else begin
      inv_field_o = (set_q == SetRemote) ? reg_q.rfield : reg_q.lkey[31:8];
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Queue of commands that wait for a fence. The first `pend_q` of them have been answered PENDING.
  // ---------------------------------------------------------------------------------------------
  wait_t           que [FenceDepth];
  logic [QueW-1:0] que_rd_q, que_wr_q, pend_rd_q;
  logic [QueW:0]   que_cnt_q, pend_q;
  wait_t           head, pend_head, que_in;
  wait_t           head_q, pend_head_q;  // a clock later, before they are used
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
    id:     end_q.id,
    op:     end_q.op,
    index:  end_q.index,
    gen:    end_q.gen,
    ranges: end_q.ranges,
    parent: end_q.parent,
    ticket: fence_ticket_i,
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
      // Both lag behind the pointers: a time out is muted while it may speak of the entry before,
      // and see tail_go.
      tail_q    <= que_any && !head_age[7] && !pop;
      pop_q     <= (fin && (job_q == JobTail)) || tail_settled;
      over_q    <= (elapsed_q >= fence_time_i);
      timeout_q <= (que_cnt_q != pend_q) && (fence_time_i != 32'd0) && over_q &&
                   (mute_q == 2'b00) && !pend_step && !push;
      mute_q    <= {mute_q[0], pend_step || push};
    end
  end

  // A tail does not begin while a posted REG has taken the last index of the list: it would not
  // know whether to link to it. (And see StArg0.) A tail that reads an entry waits until nothing is
  // posted that might have to be undone meanwhile.
  logic tail_want, tail_go_q, pend_go, pend_none_q, list_short, head_reads;
  assign head_reads = (head.op == CmdReregMr) || (head.op == CmdInvalidate) ||
                      (head.op == CmdBindMw) || (head.parent != '0);
  assign tail_want  = tail_q && !tail_busy_q && !pop_q;
  assign pend_go    = timeout_q && !pop_q && !(tail_busy_q && pend_none_q);
  assign list_short = !list_any_q || list_one_q;
  always_ff @(posedge clk_i) begin
    head_q      <= head;
    pend_head_q <= pend_head;
    pend_none_q <= (pend_q == '0);
    tail_go_q   <= (issued_q == 4'd0) && !issue &&
                   (head_reads ? posted_none : !(reg_busy_q && !reg_q.fresh && !list_any_q));
  end

  // ---------------------------------------------------------------------------------------------
  // The entry to be written
  // ---------------------------------------------------------------------------------------------
  logic [AccessW-1:0] acc_next;
  logic               use_tr, use_pd, use_acc;   // the command replaces these fields
  mpt_entry_t         ent;

  assign cur_gen  = (is_make_q && from_fresh_q) ? 8'd0 : cur_q.gen;
  assign gen_next = cur_gen + 8'd1;
  always_comb begin
    cur_ranges = is_window(cur_q.kind) ? cur_q.cap[GenW-1:0] : cur_q.qpn[GenW-1:0];
    if (is_make_q && from_fresh_q) cur_ranges = '0;
  end
  assign use_tr   = is_reg_q || is_fast_q || (is_rereg_q && cmd_q.rereg[ReregTranslation]);
  assign use_pd   = is_make_q || (is_rereg_q && cmd_q.rereg[ReregPd]);
  assign use_acc  = is_reg_q || is_phys_q || is_fast_q ||
                    (is_rereg_q && cmd_q.rereg[ReregAccess]);
  assign acc_next = use_acc ? pack_access(cmd_q.access) : cur_q.access;

  // Selects, a clock behind what they are made of: settled before the first word is taken.
  logic sel_zero_q, sel_new_q, sel_tr_q, sel_pd_q, sel_acc_q, sel_state_q, sel_free_q, sel_crc_q;
  logic sel_more_q, sel_less_q, sel_win_q, sel_clean_q, sel_make_q, sel_fast_q, sel_gen_q;
  logic sel_place_q;
  always_ff @(posedge clk_i) begin
    sel_zero_q  <= (wr_kind_q == WrFree) || ((wr_kind_q == WrNew) && is_make_q) ||
                   (wr_kind_q == WrWin);
    sel_new_q   <= (wr_kind_q == WrNew);
    sel_make_q  <= (wr_kind_q == WrNew) && is_make_q;
    sel_fast_q  <= (wr_kind_q == WrNew) && is_fast_q;
    sel_tr_q    <= (wr_kind_q == WrNew) && use_tr;
    sel_pd_q    <= (wr_kind_q == WrNew) && use_pd;
    sel_acc_q   <= (wr_kind_q == WrNew) && use_acc;
    sel_state_q <= (wr_kind_q == WrNew) || (wr_kind_q == WrState) || (wr_kind_q == WrWin) ||
                   (wr_kind_q == WrClean);
    sel_free_q  <= (wr_kind_q == WrFree) && (job_q != JobClear);
    sel_more_q  <= (wr_kind_q == WrMore);
    sel_less_q  <= (wr_kind_q == WrLess);
    sel_win_q   <= (wr_kind_q == WrWin);
    sel_clean_q <= (wr_kind_q == WrClean);
    sel_gen_q   <= (wr_kind_q == WrGen);
    sel_crc_q   <= (wr_kind_q != WrKeep) && (wr_kind_q != WrState);
    sel_place_q <= (wr_kind_q != WrKeep) && (wr_kind_q != WrState) && (wr_kind_q != WrFree);
  end

  // Of a window that is bound; else it only has its keys.
  logic win_bound_q;
  always_ff @(posedge clk_i) win_bound_q <= (phase_q == PhWin) && (cmd_q.length != 64'd0);

  always_comb begin
    ent = sel_zero_q ? '0 : cur_q;
    if (sel_state_q) ent.state = wr_state_q;
    if (sel_new_q) begin
      ent.gen      = gen_next;
      ent.lkey_tag = is_amw_q ? 8'd0 : gen_lkey[7:0];
      ent.rkey_tag = gen_rkey[7:0];
    end
    if (sel_fast_q) begin
      ent.lkey_tag = cmd_q.tag;
      ent.rkey_tag = cmd_q.tag;
    end
    if (sel_make_q) begin
      ent.log_page = 6'(MinLogPage);
      if (is_amw_q) ent.cap[GenW-1:0] = cur_ranges;
      else ent.qpn[GenW-1:0] = cur_ranges;
      if (is_amr_q) begin
        ent.kind     = KindFrmr;
        ent.rinv_en  = cmd_q.flags[FlagRemoteInv];
        ent.cap      = cmd_q.length[CapW-1:0];
        ent.log_page = cmd_q.log_page;
        ent.encoding = cmd_q.encoding;
      end
      if (is_amw_q) begin
        ent.kind = !cmd_q.flags[FlagMw2] ? KindMw1 : cmd_q.flags[FlagMw2a] ? KindMw2a : KindMw2;
      end
      if (is_phys_q) begin
        ent.kind     = KindPhys;
        ent.start    = cmd_q.start;
        ent.length   = cmd_q.length;
        ent.log_page = 6'(MaxLogPage);
      end
    end
    if (sel_acc_q) ent.access = pack_access(cmd_q.access);
    if (sel_pd_q) ent.pd = is_make_q ? cmd_q.pd : cmd_q.new_pd;
    if (sel_tr_q) begin
      ent.start     = cmd_q.start;
      ent.length    = cmd_q.length;
      ent.encoding  = cmd_q.encoding;
      ent.log_page  = cmd_q.log_page;
      ent.level     = cmd_q.level;
      ent.log_tpage = is_tree(cmd_q.level) ? 3'(cmd_q.log_tpage - 5'(MinLogTPage)) : 3'd0;
      for (int unsigned f = 0; f < 4; f++) ent.frame[f] = cmd_q.frame[f][63:12];
    end
    if (sel_gen_q) begin
      ent.gen           = gen_next;
      ent.qpn[GenW-1:0] = cur_ranges + 8'd1;
    end
    if (sel_more_q) ent.bound = cur_q.bound + 1'b1;
    if (sel_less_q) ent.bound = cur_q.bound - 1'b1;
    if (sel_win_q) begin
      ent.kind     = bind_q.kind;
      ent.pd       = cmd_q.pd;
      ent.log_page = 6'(MinLogPage);
      ent.gen      = (phase_q == PhWin) ? bind_q.gen + 8'd1 : bind_q.gen;
      ent.rkey_tag = (phase_q == PhWin) ? bind_q.rkey[7:0] : cmd_q.key[7:0];
      ent.cap      = CapW'(bind_q.ranges);
      if (win_bound_q) begin
        ent.access   = pack_access(cmd_q.access);
        ent.start    = cmd_q.start;
        ent.length   = cmd_q.length;
        ent.qpn      = (bind_q.kind == KindMw1) ? '0 : cmd_q.qpn;
        ent.bound    = mr_index_q;
        ent.frame[0] = FrameW'({mr_gen_q, cmd_q.mkey[31:8]});
      end
    end
    if (sel_clean_q) begin
      ent.access    = '0;
      ent.start     = '0;
      ent.length    = '0;
      ent.qpn       = is_window(cur_q.kind) ? '0 : cur_q.qpn;
      ent.bound     = '0;
      ent.frame     = '0;
      ent.level     = '0;
      ent.log_tpage = '0;
    end
    // FREE, in a tail: the index itself with its generation; then the old tail of the list, which
    // gets this index as its next one. Undone: as it was. While clearing: zero.
    if (sel_free_q) begin
      ent.pd    = PdW'(index_q);
      ent.gen   = (job_q == JobFix) ? reg_q.gen : step_q ? fl_tail_gen_q : tail_gen_q;
      ent.qpn[GenW-1:0] = (job_q == JobFix) ? reg_q.ranges :
                          step_q ? fl_tail_ranges_q : tail_ranges_q;
      ent.bound = (job_q == JobFix) ? reg_q.next : step_q ? tail_index_q : '0;
    end
    if (sel_place_q) ent.index_hi = index_q[IndexW-1:16];
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
  tpt_crc16 #(.DataW(64)) u_crc (
    .data_i(word_q),
    .fold_o(fold),
    .crc_i (crc_q),
    .turn_o(turn)
  );
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

  logic [1:0]  state_diff;
  logic [15:0] crc_state;
  assign state_diff = sel_state_q ? (cur_q.state ^ wr_state_q) : 2'd0;
  assign crc_state  = (state_diff[0] ? CrcOfState0 : 16'd0) ^ (state_diff[1] ? CrcOfState1 : 16'd0);

  mpt_entry_t wr_entry;
  always_comb begin
    wr_entry     = ent;
    // An entry that is kept, but for its state, had the right CRC.
    wr_entry.crc = sel_crc_q ? (crc_q ^ (sel_place_q ? index_q[15:0] : 16'd0))
                             : (cur_q.crc ^ crc_state);
  end
  assign wr_data_o = wr_entry;

  // ---------------------------------------------------------------------------------------------
  // Checks of the entry read
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic crc;    // wrong CRC, or of another index
    logic live;   // state VALID or ALLOC
    logic state;  // of the two, the one that the command does not take
    logic free;   // state FREE
    logic inval;  // state INVALID
    logic field;  // illegal field
    logic tag;    // role or tag wrong
    logic kind;
    logic pd;
    logic rinv;   // remote invalidation not allowed
    logic qp;     // remote invalidation from another queue pair
    logic bound;
    logic gen;    // not the generation of the waiting command
    logic next;   // free list leads outside the table
    logic own;    // entry of the free list that is not of this index
  } chk_t;
  chk_t chk_q;
  logic [15:0] want_q;   // the CRC that the entry read must have
  logic        moved_q;  // it is of another index

  // The role of the key that the command takes, and whether the entry has it.
  logic chk_window, chk_region, chk_local, chk_remote, chk_remote_right, chk_role;
  assign chk_window = is_window(cur_q.kind);
  assign chk_region = (cur_q.kind == KindMr) || (cur_q.kind == KindFrmr);
  assign chk_local  = is_dereg_q || is_rereg_q || is_query_q || is_fast_q || is_range_q ||
                      (is_inv_q && !cmd_q.flags[FlagRemoteInv] && (cur_q.kind == KindFrmr));
  assign chk_remote = is_bind_q || is_dealloc_q || is_inv_q || (is_query_q && chk_window);
  assign chk_remote_right = chk_window || cur_q.access[AccRemoteWrite] ||
                            cur_q.access[AccRemoteRead] || cur_q.access[AccRemoteAtomic] ||
                            cur_q.access[AccFlushGlobal] || cur_q.access[AccFlushPersistent];
  assign chk_role   = (role_q == RoleLocal) ? (chk_local && !chk_window)
                                            : (chk_remote && chk_remote_right);

  logic chk_kind;
  always_comb begin
    chk_kind = chk_window;  // BIND_MW, DEALLOC_MW
    if (is_dereg_q) chk_kind = chk_region || (cur_q.kind == KindPhys);
    if (is_rereg_q) chk_kind = (cur_q.kind == KindMr);
    if (is_fast_q) chk_kind = (cur_q.kind == KindFrmr);
    if (is_range_q) chk_kind = (cur_q.kind == KindMr) && cur_q.access[AccOnDemand];
    if (is_query_q) chk_kind = 1'b1;
    if (is_inv_q) begin
      chk_kind = (cur_q.kind == KindFrmr) || (chk_window && (cur_q.kind != KindMw1));
    end
  end

  always_ff @(posedge clk_i) begin
    want_q      <= cur_q.crc ^ mpt_place(cur_q.state, index_q);
    moved_q     <= mpt_moved(cur_q.state, cur_q.index_hi, index_q);
    chk_q.crc   <= (crc_q != want_q) || moved_q;
    chk_q.own   <= (cur_q.pd != PdW'(index_q));
    chk_q.live  <= (cur_q.state == StValid) || (cur_q.state == StAlloc);
    chk_q.state <= (is_inv_q && (cur_q.state != StValid)) ||
                   (is_fast_q && (cur_q.state != StAlloc)) ||
                   (is_bind_q && (cur_q.kind != KindMw1) && (cur_q.state != StAlloc));
    chk_q.free  <= (cur_q.state == StFree);
    chk_q.inval <= (cur_q.state == StInvalid);
    chk_q.field <= !mpt_fields_legal(cur_q.kind, cur_q.level, cur_q.encoding, cur_q.log_page,
                                     cur_q.log_tpage, MttChecked != 0);
    chk_q.tag   <= !chk_role ||
                   (((role_q == RoleLocal) ? cur_q.lkey_tag : cur_q.rkey_tag) != cmd_q.key[7:0]);
    chk_q.kind  <= !chk_kind;
    chk_q.pd    <= (cur_q.pd != cmd_q.pd);
    chk_q.rinv  <= is_inv_q && cmd_q.flags[FlagRemoteInv] && !chk_window && !cur_q.rinv_en;
    chk_q.qp    <= is_inv_q && cmd_q.flags[FlagRemoteInv] && chk_window &&
                   (cur_q.state == StValid) && (cur_q.qpn != cmd_q.qpn);
    chk_q.bound <= (is_end_q && !chk_window) && (cur_q.bound != '0);
    chk_q.gen   <= (cur_q.gen != tail_gen_q);
    chk_q.next  <= !list_one_q &&
                   ((cur_q.bound == '0) || ({1'b0, cur_q.bound} >= mpt_size_i));
  end

  // The key rules of a command, first failure wins; StsOk if all hold.
  function automatic status_e key_status(chk_t c);
    logic unused_bits;
    unused_bits = ^c;
    if (c.crc) return StsMptBad;
    if (!c.live) return StsKeyState;
    if (c.field) return StsMptBad;
    if (c.tag) return StsKeyTag;
    if (c.kind) return StsKeyKind;
    if (c.pd) return StsKeyPd;
    if (c.rinv) return StsRemoteInv;
    if (c.qp) return StsKeyQp;
    if (c.state) return StsKeyState;
    if (c.bound) return StsBound;
    return StsOk;
  endfunction

  // The region of a BIND_MW, and the parent that loses a window.
  typedef struct packed {
    logic key;
    logic pd;
    logic rights;
    logic bounds;
    logic none;    // parent: has no windows, or is no region
  } mr_t;
  mr_t         mr_q;
  logic [64:0] mr_before_q, mr_room_q;  // bytes before the window, and in the region beside it
  always_ff @(posedge clk_i) begin
    mr_before_q <= {1'b0, cmd_q.start} - {1'b0, cur_q.start};
    mr_room_q   <= {1'b0, cur_q.length} - {1'b0, cmd_q.length};
    mr_q.key    <= (cur_q.state != StValid) || (role_q != RoleLocal) || !chk_region ||
                   (cur_q.lkey_tag != cmd_q.mkey[7:0]);
    mr_q.pd     <= (cur_q.pd != cmd_q.pd);
    mr_q.rights <= !cur_q.access[AccMwBind] || cur_q.access[AccZeroBased] ||
                   ((cmd_q.access[AccRemoteWrite] || cmd_q.access[AccRemoteAtomic]) &&
                    !cur_q.access[AccLocalWrite]);
    mr_q.bounds <= mr_before_q[64] || mr_room_q[64] || (mr_before_q[63:0] > mr_room_q[63:0]);
    mr_q.none   <= (cur_q.state != StValid) || !chk_region || (cur_q.bound == '0);
  end

  function automatic status_e mr_status(chk_t c, mr_t m);
    logic unused_bits;
    unused_bits = ^{c, m};
    if (c.crc) return StsMptBad;
    if (!c.live) return StsMrKey;
    if (c.field) return StsMptBad;
    if (m.key) return StsMrKey;
    if (m.pd) return StsMrPd;
    if (m.rights) return StsMrRights;
    if (m.bounds) return StsMrBounds;
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
  logic [64:0]           span_q;       // offset in the first page + length
  logic [64:0]           page_q;       // span_q, shifted
  logic                  sticky_q;     // a 1 was shifted out
  logic [MaxLogPage-1:0] mask_q;
  logic [5:0]            shift_q;      // bits still to shift
  logic                  shift_big_q;  // at least 4
  logic                  shift_any_q;  // at least 1
  logic                  many_q;      // more pages than a FAST_REG may have
  logic [5:0]            cap_q;        // log2 of the pages that the table holds
  logic [1:0]            last_page_q;  // level 0: number of the last page
  logic [5:0]            align_log, align_q;
  logic [3:0]            tpage_bits;   // log2 of the entries of a table page
  logic [5:0]            tree_bits;
  logic [63:0]           frame_now;
  logic                  frame_used, frame_used_q, frame_bad_q, small_q;
  logic [MaxLogPage-1:0] frame_q;
  logic [3:1]            frame_drop_q;  // not used: stored as 0

  // Access flags that the command may have.
  logic [31:0] known;
  always_comb begin
    known = KnownAccess;
    known[AccOnDemand] = (FaultSlots != 0) && !is_fast_q;
    if (is_phys_q) known = KnownPhysAccess;
    if (is_amr_q || is_amw_q) known = '0;
    if (is_bind_q) begin
      known               = KnownMwAccess;
      known[AccZeroBased] = (cur_q.kind != KindMw1);
    end
  end

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
    arg_q.length <= (cmd_q.length == 64'd0) || (is_amr_q && (cmd_q.length[63:CapW] != '0));
    arg_q.wrap   <= sum_q[64] && (sum_q[63:0] != 64'd0);
    arg_q.flags  <= ((cmd_q.access & ~known) != 32'd0) ||
                    (cmd_q.access[AccOnDemand] && cmd_q.access[AccMwBind]) ||
                    (is_amw_q && cmd_q.flags[FlagMw2a] && !cmd_q.flags[FlagMw2]);
    arg_q.access <= (cmd_q.access[AccRemoteWrite] || cmd_q.access[AccRemoteAtomic]) &&
                    !cmd_q.access[AccLocalWrite];
    arg_q.page   <= (cmd_q.log_page < 6'(MinLogPage)) || (cmd_q.log_page > 6'(MaxLogPage));
    arg_q.enc    <= (cmd_q.encoding > EncFlagged) &&
                    !((cmd_q.encoding == EncChecked) && (MttChecked != 0));
    arg_q.level  <= use_tr ? ((cmd_q.level > 3'(MaxLevels)) && (cmd_q.level != LevelFlat)) ||
                             (is_tree(cmd_q.level) && ((cmd_q.log_tpage < 5'(MinLogTPage)) ||
                                                       (cmd_q.log_tpage > 5'(MaxLogTPage)))) ||
                             (acc_next[AccOnDemand] && (cmd_q.level == LevelInline))
                           : acc_next[AccOnDemand] && (cur_q.level == LevelInline);
    span_q       <= {22'd0, cmd_q.start[MaxLogPage-1:0] & mask_q} + {1'b0, cmd_q.length};
    sum_q        <= {1'b0, cmd_q.start} + {1'b0, cmd_q.length};
    align_q      <= align_log;
    mask_q       <= low_mask((state_q == StAlign) ? align_q : cmd_q.log_page);
    cap_q        <= (cmd_q.level == LevelInline) ? 6'd2 :
                    (cmd_q.level == LevelFlat)   ? 6'(PageIdxW - 1) :
                    (tree_bits > 6'(PageIdxW))   ? 6'(PageIdxW) : tree_bits;
    unique case (state_q)
      StArg3: begin
        page_q   <= span_q;
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
          many_q      <= is_fast_q && ((page_q[64:CapW] != '0) ||
                                       ((CapW + 1)'(page_q[CapW-1:0]) + (CapW + 1)'(sticky_q) >
                                        {1'b0, cur_q.cap}));
          shift_q     <= cap_q;           // at least 2
          shift_big_q <= (cap_q[5:2] != 4'd0);
          shift_any_q <= 1'b1;
        end
      end
      default: ;
    endcase
  end

  // The plain rules that apply, first failure wins. Those of the page and the encoding of a
  // FAST_REG were decided when its region was allocated.
  arg_t arg_use;
  always_comb begin
    arg_use.length = use_tr || is_phys_q || is_amr_q || is_range_q ||
                     (is_bind_q && (cur_q.kind != KindMw1));
    arg_use.wrap   = use_tr || is_phys_q || is_bind_q || is_range_q;
    arg_use.flags  = use_acc || is_amr_q || is_amw_q || is_bind_q;
    arg_use.access = use_acc;
    arg_use.page   = (use_tr && !is_fast_q) || is_amr_q;
    arg_use.enc    = (use_tr && !is_fast_q) || is_amr_q;
    arg_use.level  = use_tr || use_acc;
  end

  function automatic status_e arg_status(arg_t a, logic bind_mw);
    if (bind_mw && a.flags) return StsBadFlags;
    if (a.length) return StsBadLength;
    if (a.wrap) return StsBadWrap;
    if (a.flags) return StsBadFlags;
    if (a.access) return StsBadAccess;
    if (a.page) return StsBadPageSize;
    if (a.enc) return StsBadEncoding;
    if (a.level) return StsBadLevel;
    return StsOk;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Keys
  // ---------------------------------------------------------------------------------------------
  // The key of a command is decoded as soon as the command is begun. Then, while its entry is read,
  // and for a REG while its arguments are checked, the key generator goes on with the new keys as
  // far as it can: the index fields are needed to end the old keys, too.
  logic              dec_valid, dec_role, idx_bad_q;
  logic [IndexW-1:0] dec_index;
  logic              gen_fields_valid, gen_valid, keys_take;

  logic gen_start_q, gen_decode_q;
  always_ff @(posedge clk_i) begin
    gen_start_q  <= rst_ni && (load_cmd || ((state_q == StArg1) && is_make_q) ||
                               (state_q == StTailGo) || load_mkey);
    gen_decode_q <= load_cmd || load_mkey;
  end

  // The access of a tail is in its entry.
  logic [AccessW-1:0] acc_keys;
  assign acc_keys = (job_q == JobTail) ? cur_q.access : acc_next;
  always_ff @(posedge clk_i) begin
    has_remote_q <= acc_keys[AccRemoteWrite] || acc_keys[AccRemoteRead] ||
                    acc_keys[AccRemoteAtomic] || acc_keys[AccFlushGlobal] ||
                    acc_keys[AccFlushPersistent] || is_amr_q || is_amw_q || is_bind_q;
  end

  always_ff @(posedge clk_i) idx_bad_q <= ({1'b0, dec_index} >= mpt_size_i);
  assign keys_take = (state_q == StKeyWait) && gen_valid;

  tpt_key_gen u_key_gen (
    .clk_i,
    .rst_ni,
    .start_i       (gen_start_q),
    .decode_i      (gen_decode_q),
    .field_i       ((phase_q == PhNew) ? cmd_q.mkey[31:8] : cmd_q.key[31:8]),
    .index_i       (index_q),
    .reg_num_valid_i((is_make_q && from_fresh_q) || rd_got_q),
    .reg_num_i     (gen_next - cur_ranges),
    .has_remote_i  (has_remote_q),
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
  logic    key_ok_q, arg_ok_q;
  status_e mr_sts_q;
  logic    mr_ok_q, par_bad_q, fields_q, zero_q, skip;
  logic    own_tag;  // the command brings the new tag
  assign own_tag = is_fast_q || (is_bind_q && (cur_q.kind != KindMw1));
  // The entry is not what a tail, the free list, or an undo expects.
  logic    tail_bad_q, list_bad_q, fix_bad_q;
  always_ff @(posedge clk_i) begin
    key_sts_q  <= key_status(chk_q);
    key_ok_q   <= (key_status(chk_q) == StsOk);
    mr_sts_q   <= mr_status(chk_q, mr_q);
    mr_ok_q    <= (mr_status(chk_q, mr_q) == StsOk);
    par_bad_q  <= chk_q.crc || chk_q.field || mr_q.none;
    arg_sts_q  <= arg_status(arg_q & arg_use, is_bind_q);
    arg_ok_q   <= ((arg_q & arg_use) == '0);
    fields_q   <= gen_fields_valid;
    // A key could be 0.
    zero_q     <= (gen_rfield == '0) || (gen_lfield == '0);
    tail_bad_q <= chk_q.crc || !chk_q.inval || chk_q.gen;
    list_bad_q <= chk_q.crc || !chk_q.free || chk_q.next || chk_q.own;
    fix_bad_q  <= chk_q.crc || !chk_q.inval;
  end

  logic fix_reg;  // what is undone is a REG
  assign fix_reg = (of_q == OfReg);
  logic undo;       // write cur_q again
  logic fix_next;   // next step of undoing a BIND_MW
  logic fixed_q;    // it has been undone
  logic undoing;
  assign undoing = (phase_q == PhFixW) || (phase_q == PhFixN) || (phase_q == PhFixO);
  always_ff @(posedge clk_i) fixed_q <= fixed || (fixed_q && (state_q == StEndWait));
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
    load_index   = 1'b0;
    load_link    = 1'b0;
    load_bind    = 1'b0;
    load_mkey    = 1'b0;
    load_mr      = 1'b0;
    load_page    = 1'b0;
    load_phase   = 1'b0;
    bind_end     = 1'b0;
    phase_d      = phase_q;
    read         = 1'b0;
    fin          = 1'b0;
    fin_status   = StsOk;
    fin_keys     = 1'b0;
    fin_query    = 1'b0;
    issue        = 1'b0;
    fixed        = 1'b0;
    fix_err      = 1'b0;
    undo         = 1'b0;
    skip         = 1'b0;
    fix_next     = 1'b0;
    cnt_clr      = 1'b0;
    cnt_inc      = 1'b0;

    unique case (state_q)
      StIdle: begin
        cnt_clr = 1'b1;
        step_d  = 1'b0;
        phase_d = PhMain;
        if (fix_q) begin
          job_d   = JobFix;
          state_d = StFix;
        end else if (tail_want) begin
          if (tail_go_q) begin
            job_d   = JobTail;
            state_d = StTail;
          end
        end else if (pend_go) begin
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
        fin_status = StsPending;
      end

      // A window's parent first.
      StTail: begin
        if (tail_parent_q != '0) begin
          phase_d    = PhPar;
          load_phase = 1'b1;
          read       = 1'b1;
          state_d    = StRdWait;
        end else begin
          state_d = StTailGo;
        end
      end
      StTailGo: begin
        cnt_clr = 1'b1;
        if (is_range_q) begin
          fin = 1'b1;
        end else if (is_again_q) begin
          read    = 1'b1;
          state_d = StRdWait;
        end else begin
          state_d   = StWrCrc;
          wr_kind_d = WrFree;
        end
      end

      // The FREE entry of a REG is known; the entry of a DEREG is read again. A REREG waits for its
      // turn in StEndWait.
      StFix: begin
        if (fix_reg) begin
          state_d   = StWrCrc;
          wr_kind_d = WrFree;
        end else begin
          read    = 1'b1;
          state_d = StRdWait;
        end
      end

      // A command that will need the queue waits here for room, unless only a consumer that has
      // run out of time can make it.
      StDispatch: begin
        fin = 1'b1;
        if (!active) fin_status = StsDisabled;
        else if (is_rereg_q && (cmd_q.rereg == 3'd0)) fin_status = StsBadRereg;
        else if (is_phys_q && !phys_i) fin_status = StsPrivilege;
        else if (is_answer_q && (cmd_q.key > LastSlot)) fin_status = StsKeyIndex;
        else if (is_answer_q) begin
          // Not to be begun again: when nothing before it can be undone any more.
          fin = 1'b0;
          if (posted_none) state_d = StAnswer;
          else if (fix_q) state_d = StIdle;
        end else if (!(is_make_q || is_end_q || is_fast_q || is_bind_q || is_query_q)) begin
          fin_status = StsBadOp;
        end else begin
          fin = 1'b0;
          if ((is_end_q || is_bind_q) && que_full && (pend_q == '0)) state_d = StIdle;
          else if (is_make_q) state_d = StArg0;
          else state_d = StKeyDec;
        end
      end

      StAnswer: state_d = StAnswered;
      StAnswered: begin
        fin        = 1'b1;
        fin_status = ans_ok_i ? StsOk : StsKeyState;
      end

      StKeyDec: if (dec_valid) state_d = StKeyLim;
      StKeyLim: begin
        load_mr = (phase_q == PhNew);
        if (idx_bad_q) begin
          fin        = 1'b1;
          fin_status = (phase_q == PhNew) ? StsMrKey : StsKeyIndex;
        end else begin
          read    = 1'b1;
          state_d = StRdWait;
        end
      end

      // The entry of a command may be one that is being written: then it is read after that.
      StRdWait: begin
        cnt_clr   = 1'b1;
        wr_kind_d = WrKeep;
        if (rd_got_q) begin
          state_d = StRdCrc;
          if (rd_err_q) begin
            if (job_q == JobFix) begin
              fixed   = 1'b1;
              state_d = StIdle;
            end else if (undoing) begin
              fix_next = 1'b1;
            end else begin
              fin        = 1'b1;
              fin_status = StsBus;
            end
          end
        end else if (rd_stuck && fix_q && (job_q == JobCmd) && !undoing) begin
          state_d = StIdle;
        end
      end

      StRdCrc: begin
        cnt_inc = 1'b1;
        if (crc_last) state_d = StCheck;
      end

      StCheck: state_d = StRule;
      StRule:  state_d = StResult;

      StResult: begin
        cnt_clr    = 1'b1;
        wr_state_d = StValid;
        if (tail_par) begin
          wr_kind_d = WrLess;
          state_d   = StWrCrc;
          if (par_bad_q) begin
            fin        = 1'b1;
            fin_status = StsMptBad;
          end
        end else if (job_q == JobTail) begin
          wr_kind_d = WrState;
          if (is_inv_q) begin
            wr_kind_d  = WrClean;
            wr_state_d = StAlloc;
          end else if (is_bind_q && (cur_q.length == '0)) begin
            wr_state_d = StAlloc;
          end
          if (tail_bad_q) begin
            fin        = 1'b1;
            fin_status = StsMptBad;
          end else if (!gen_fields_valid) begin
            state_d = StResult;
          end else if (is_rereg_q && (cur_q.gen[GenW-2:0] == '0)) begin
            state_d = StSweep;
          end else begin
            state_d = is_inv_q ? StWrCrc : StWrSet;
          end
        end else if (job_q == JobFix) begin
          wr_kind_d = WrState;
          if (end_q.alloc) wr_state_d = StAlloc;
          if (fix_bad_q) begin
            fixed   = 1'b1;
            state_d = StIdle;
          end else begin
            state_d = StWrSet;
          end
        end else if (is_make_q) begin
          state_d = StKeyWait;
          if (list_bad_q) begin
            fin        = 1'b1;
            fin_status = StsMptBad;
          end
        end else if (undoing) begin
          wr_kind_d = WrLess;
          state_d   = StWrCrc;
          if (par_bad_q) fix_next = 1'b1;
        end else if (phase_q == PhNew) begin
          wr_kind_d = WrMore;
          state_d   = StWrCrc;
          if (!mr_ok_q) begin
            fin        = 1'b1;
            fin_status = mr_sts_q;
          end
        end else if (!key_ok_q) begin
          fin        = 1'b1;
          fin_status = key_sts_q;
        end else if (is_query_q) begin
          fin       = 1'b1;
          fin_query = 1'b1;
        end else if (own_tag && !(gen_fields_valid && fields_q)) begin
          state_d = StResult;
        end else if (is_rereg_q || is_fast_q || is_bind_q || is_range_q) begin
          load_page = is_fast_q;
          state_d   = StArg0;
        end else begin
          wr_kind_d  = WrState;
          wr_state_d = StInvalid;
          if (end_busy_q) begin
            if (fix_q) state_d = StIdle;
          end else if (que_full) begin
            if (pend_q == '0) begin
              state_d = StIdle;
            end else begin
              fin        = 1'b1;
              fin_status = StsBusy;
            end
          end else begin
            state_d = StWrSet;
          end
        end
      end

      // The index of a REG is chosen before its arguments are known to be good: the keys can be
      // begun, and the entry can be read, meanwhile.
      StArg0: begin
        load_index = is_make_q;
        state_d    = StArg1;
        if (is_make_q && !fresh_any_q && list_short && tail_busy_q) begin
          load_index = 1'b0;
          state_d    = fix_q ? StIdle : StArg0;
        end
      end
      StArg1: begin
        read    = is_make_q && from_list_q;
        state_d = StArg2;
      end
      StArg2: state_d = StArg3;
      StArg3: begin
        if (!arg_ok_q) begin
          fin        = 1'b1;
          fin_status = arg_sts_q;
        end else if (is_range_q && mr_q.bounds) begin
          fin        = 1'b1;
          fin_status = StsMrBounds;
        end else begin
          state_d = use_tr ? StPage : StRoom;
        end
      end
      StPage: if (!shift_any_q) state_d = StCap;
      StCap:  if (!shift_any_q) state_d = StSmall;
      StSmall: begin
        cnt_clr = 1'b1;
        if (small_q || many_q) begin
          fin        = 1'b1;
          fin_status = StsTableSmall;
        end else begin
          state_d = StAlign;
        end
      end
      StAlign: begin
        cnt_inc = 1'b1;
        if (frame_bad_q) begin
          fin        = 1'b1;
          fin_status = StsTableAlign;
        end else if (cnt_q == 4'd5) begin
          state_d = StRoom;
        end
      end

      StRoom: begin
        if (!is_make_q) begin
          if (!posted_none) begin
            if (fix_q) state_d = StIdle;
          end else if (que_full && (is_rereg_q || is_range_q ||
                                    (is_bind_q && (cur_q.state == StValid)))) begin
            if (pend_q == '0) begin
              state_d = StIdle;
            end else begin
              fin        = 1'b1;
              fin_status = StsBusy;
            end
          end else begin
            state_d = StKeyWait;
          end
        end else if (from_fresh_q) begin
          state_d = StKeyWait;
        end else if (from_list_q) begin
          state_d = StRdWait;
        end else begin
          fin        = 1'b1;
          fin_status = StsNoIndex;
        end
      end

      StKeyWait: begin
        cnt_clr = 1'b1;
        if (keys_take && zero_q && is_make_q && from_fresh_q) begin
          // Not this index. The command is begun again.
          skip    = 1'b1;
          state_d = StIdle;
        end else if (keys_take) begin
          wr_kind_d  = is_range_q ? WrGen : WrNew;
          wr_state_d = (is_reg_q || is_phys_q || is_fast_q) ? StValid :
                       is_rereg_q ? StInvalid : StAlloc;
          if (is_bind_q) begin
            load_bind = 1'b1;
            if (cmd_q.length == '0) begin
              phase_d    = PhWin;
              wr_kind_d  = WrWin;
              wr_state_d = (cur_q.state == StValid) ? StInvalid : StAlloc;
              state_d    = StWrCrc;
            end else begin
              phase_d   = PhNew;
              load_mkey = 1'b1;
              state_d   = StKeyDec;
            end
          end else if ((is_make_q || is_fast_q || is_range_q) &&
                       ((&cur_gen[GenW-2:0]) || (is_make_q && again_q))) begin
            state_d = StSweep;
          end else begin
            state_d = StWrCrc;
          end
        end
      end

      StSweep: begin
        cnt_clr = 1'b1;
        if (sweep_done_i) state_d = (job_q == JobTail) ? StWrSet : StWrCrc;
      end

      StWrCrc: begin
        cnt_inc = 1'b1;
        if (crc_last) state_d = StWrReq;
      end
      StWrSet: state_d = StWrReq;

      // While clearing the answers are only counted.
      StWrReq: begin
        cnt_clr = 1'b1;
        if (wr_take) begin
          state_d = StIdle;
          unique case (wr_ans_q)
            AnsReg: issue = 1'b1;
            AnsEnd: begin
              issue = 1'b1;
              if (is_rereg_q || is_bind_q || is_range_q) state_d = StEndWait;
            end
            AnsFree: begin
              if (!step_q && list_any_q && !listed_q) begin
                load_link = 1'b1;
                step_d    = 1'b1;
                state_d   = StWrCrc;
              end
            end
            default: begin
              if (job_q != JobClear) state_d = fsm_answer ? StWrDone : StWrWait;
            end
          endcase
        end else if (wr_stuck_q && fix_q) begin
          state_d = StIdle;
        end
      end
      StWrWait: if (fsm_answer) state_d = StWrDone;

      StWrDone: begin
        cnt_clr = 1'b1;
        state_d = StIdle;
        if (tail_par) begin
          if (werr_q) begin
            fin        = 1'b1;
            fin_status = StsBus;
          end else begin
            phase_d    = PhMain;
            load_phase = 1'b1;
            state_d    = StTailGo;
          end
        end else if (job_q == JobTail) begin
          if (werr_q && !step_q) undo = 1'b1;
          else if (step_q) state_d = StInvWait;
          else begin
            fin      = 1'b1;
            fin_keys = !is_inv_q;
          end
        end else if (is_fast_q) begin
          if (werr_q && !step_q) undo = 1'b1;
          else begin
            fin        = 1'b1;
            fin_status = step_q ? StsBus : StsOk;
            fin_keys   = !step_q;
          end
        end else if (is_bind_q) begin
          unique case (phase_q)
            PhNew: begin
              if (step_q) begin
                fin        = 1'b1;
                fin_status = StsBus;
              end else if (werr_q) begin
                undo = 1'b1;
              end else begin
                phase_d    = PhWin;
                load_phase = 1'b1;
                wr_kind_d  = WrWin;
                wr_state_d = bind_q.bound ? StInvalid : StValid;
                state_d    = StWrCrc;
              end
            end
            PhWin: begin
              if (werr_q) begin
                fix_next = 1'b1;
              end else begin
                fin      = 1'b1;
                fin_keys = 1'b1;
              end
            end
            default: fix_next = 1'b1;
          endcase
        end else begin
          fixed   = 1'b1;
          fix_err = werr_q;
          if (job_q == JobCmd) state_d = StEndWait;
        end
      end

      StEndWait: begin
        cnt_clr = 1'b1;
        if (!end_busy_q) begin
          state_d  = StIdle;
          bind_end = is_bind_q;
        end else if (fix_q) begin
          if (is_bind_q) fix_next = !fixed_q;
          else undo = 1'b1;
        end
      end

      StInvWait: begin
        if ((set_q == SetRemote) && (of_q == OfFsm) && inv_done_i) begin
          fin        = 1'b1;
          fin_status = StsBus;
        end
      end

      // Its turn comes when nothing before it is left. If a write before it is to be undone first,
      // the command is begun again after that.
      StOrder: begin
        if (!rd_busy) begin
          if (posted_none) state_d = StCpl;
          else if (fix_q) state_d = StIdle;
        end
      end
      StCpl: if (fsm_cpl_take) state_d = StIdle;

      default: state_d = StIdle;
    endcase

    if (undo) begin
      step_d    = 1'b1;
      wr_kind_d = is_range_q ? WrGen : WrKeep;
      state_d   = is_range_q ? StWrCrc : StWrSet;
    end
    // A BIND_MW that failed at its window: that is written as one that is not bound; then each
    // region that would count it, or has counted it, has one window less. Errors change nothing.
    if (fix_next) begin
      step_d     = 1'b1;
      load_phase = 1'b1;
      if (phase_q == PhWin) begin
        phase_d    = PhFixW;
        wr_kind_d  = WrWin;
        wr_state_d = StAlloc;
        state_d    = StWrCrc;
      end else if ((phase_q == PhFixW) && (cmd_q.length != '0)) begin
        phase_d = PhFixN;
        read    = 1'b1;
        state_d = StRdWait;
      end else if ((phase_q != PhFixO) && bind_q.bound) begin
        phase_d = PhFixO;
        read    = 1'b1;
        state_d = StRdWait;
      end else if (bind_q.bound) begin
        fixed   = 1'b1;
        state_d = StEndWait;
      end else begin
        fin        = 1'b1;
        fin_status = StsBus;
      end
    end
    if (fin) state_d = ((job_q == JobCmd) && (state_q != StPend)) ? StOrder : StCpl;
  end

  // The command leaves with its completion or with its write.
  assign fin_cmd = (state_q == StOrder) && (state_d == StCpl);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      job_q      <= JobCmd;
      phase_q    <= PhMain;
      step_q     <= 1'b0;
      wr_kind_q  <= WrKeep;
      wr_state_q <= StFree;
      turn_q     <= 1'b0;
      cnt_q      <= '0;
    end else begin
      state_q    <= state_d;
      job_q      <= job_d;
      phase_q    <= phase_d;
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
      // A posted BIND_MW may need it to be undone.
      else if (cmd_fin_q || (issue && !is_bind_q) || bind_end) cmd_full_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (cmd_valid_i && cmd_ready_o) begin
      cmd_q     <= cmd_i;
      cmd_src_q <= cmd_src_i;
    end else begin
      // Frames as they are stored: unused ones are 0, a flat root keeps its low bits in frame 1.
      for (int unsigned f = 1; f < 4; f++) begin
        if (frame_drop_q[f]) cmd_q.frame[f] <= 64'd0;
      end
      if (frame_drop_q[1] && (cmd_q.level == LevelFlat)) begin
        cmd_q.frame[1][20:12] <= cmd_q.frame[0][11:3];
      end
      // Page and encoding of a FAST_REG are those of its region.
      if (load_page) begin
        cmd_q.log_page <= cur_q.log_page;
        cmd_q.encoding <= cur_q.encoding;
      end
    end
  end

  // In the order of choice of StIdle.
  always_comb begin
    if (tail_want) op_next = head_q.op;
    else if (pend_go) op_next = pend_head_q.op;
    else op_next = cmd_q.op;
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      if (tail_want) id_q <= head_q.id;
      else if (pend_go) id_q <= pend_head_q.id;
      else id_q <= '{src: cmd_src_q, id: cmd_q.id};
      op_q          <= op_next;
      tail_index_q  <= head_q.index;
      tail_gen_q    <= head_q.gen;
      tail_ranges_q <= head_q.ranges;
      tail_parent_q <= head_q.parent;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load_bind) begin
      bind_q.index  <= index_q;
      bind_q.gen    <= cur_q.gen;
      bind_q.ranges <= cur_ranges;
      bind_q.kind   <= cur_q.kind;
      bind_q.bound  <= (cur_q.state == StValid);
      bind_q.parent <= (cur_q.state == StValid) ? cur_q.bound : '0;
      bind_q.lfield <= gen_lfield;
      bind_q.rkey   <= {gen_rfield, own_tag ? cmd_q.tag : gen_rkey[7:0]};
    end
    if (load_mr) mr_index_q <= index_q;
    if (phase_q == PhNew) mr_gen_q <= cur_q.gen;
  end

  always_ff @(posedge clk_i) begin
    if (rd_rsp_valid_i) cur_q <= rd_rsp_data_i;
    if (dec_valid) role_q <= dec_role;
    if (fsm_answer) werr_q <= wr_err_i;
    if (load_index) from_fresh_q <= fresh_any_q;
    if (load_index) from_list_q <= !fresh_any_q && list_any_q;
  end

  logic addr_ok_q;  // addr_q belongs to index_q
  logic index_load;
  assign index_load = (state_q == StIdle) || (state_q == StKeyDec) || load_index || load_link ||
                      load_phase;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      if (fix_q) index_q <= fix_reg ? reg_q.index : end_q.index;
      else index_q <= tail_want ? head_q.index : clr_q[IndexW-1:0];
    end
    if (dec_valid && (state_q == StKeyDec)) index_q <= dec_index;
    if (load_index) index_q <= fresh_any_q ? fresh_q[IndexW-1:0] : fl_head_q;
    if (load_link) index_q <= fl_tail_q;
    if (load_phase) begin
      unique case (phase_d)
        PhMain:  index_q <= tail_index_q;
        PhPar:   index_q <= tail_parent_q;
        PhFixN:  index_q <= mr_index_q;
        PhFixO:  index_q <= bind_q.parent;
        default: index_q <= bind_q.index;
      endcase
    end
    addr_q    <= {mpt_base_i[63:12] + {35'd0, index_q[IndexW-1:6]}, index_q[5:0], 6'd0};
    addr_ok_q <= !index_load;
  end

  // Reads. An entry with a write on its way, by the low bits of its index, is read after that
  // write; the state machine may give up as long as the read is not offered.
  localparam int unsigned NearW = 8;
  logic rd_req_q, rd_out_q, near_q;
  logic near_reg, near_end, near_tail, near_link;
  assign near_reg  = reg_busy_q && (index_q[NearW-1:0] == reg_q.index[NearW-1:0]);
  assign near_end  = end_busy_q && (index_q[NearW-1:0] == end_q.index[NearW-1:0]);
  assign near_tail = tail_busy_q && (index_q[NearW-1:0] == tail_index_q[NearW-1:0]);
  assign near_link = tail_busy_q && (index_q[NearW-1:0] == fl_tail_q[NearW-1:0]);
  assign rd_busy   = rd_req_q || rd_out_q;
  assign rd_stuck  = rd_req_q && near_q && !is_make_q && (job_q == JobCmd) && !undoing;
  always_ff @(posedge clk_i) begin
    near_q <= near_reg || near_end || near_tail || near_link;
    if (!rst_ni) begin
      rd_req_q <= 1'b0;
      rd_out_q <= 1'b0;
      rd_got_q <= 1'b0;
      rd_err_q <= 1'b0;
    end else begin
      if (read) rd_req_q <= 1'b1;
      else if ((rd_valid_o && rd_ready_i) || (state_q == StIdle)) rd_req_q <= 1'b0;
      if (rd_valid_o && rd_ready_i) rd_out_q <= 1'b1;
      else if (rd_rsp_valid_i) rd_out_q <= 1'b0;
      if (read) rd_got_q <= 1'b0;
      else if (rd_rsp_valid_i) rd_got_q <= 1'b1;
      if (rd_rsp_valid_i) rd_err_q <= rd_rsp_err_i;
    end
  end
  assign rd_valid_o  = rd_req_q && addr_ok_q && !rd_stuck;
  assign rd_addr_o   = addr_q;

  // Writes. One REG is posted at a time.
  always_ff @(posedge clk_i) wr_stuck_q <= (wr_ans_q == AnsReg) && reg_busy_q;
  assign wr_valid_o  = (state_q == StWrReq) && !wr_stuck_q;
  assign wr_take     = wr_valid_o && wr_ready_i;
  assign fsm_answer  = ans_pop && (ans_now == AnsFsm);
  assign wr_addr_o   = addr_q;
  assign sweep_valid_o = (state_q == StSweep);
  assign ans_valid_o   = (state_q == StAnswer);
  assign ans_slot_o    = cmd_q.key[6:0];
  assign ans_refuse_o  = cmd_q.flags[FlagRefuse];
  // After a failed write of a REG its index and generation are used again: what a look-up may have
  // found of the table meanwhile must not be met by the next registration.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) again_q <= 1'b0;
    else if (restore_q) again_q <= 1'b1;
    else if (sweep_done_i && (state_q == StSweep) && is_make_q) again_q <= 1'b0;
  end
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
  // A REG takes its index when it is posted, and gives it back if it is undone.
  logic take_q, append_q;
  // The index is the last one of the list already.
  always_ff @(posedge clk_i) begin
    if (state_q == StTailGo) listed_q <= list_any_q && (tail_index_q == fl_tail_q);
  end
  always_ff @(posedge clk_i) begin
    take_q    <= issue && is_make_q && rst_ni;
    restore_q <= restore && rst_ni;
    append_q  <= append && rst_ni;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || (init_q == InitFlush)) begin
      fresh_q       <= (IndexW + 1)'(1);
      fl_head_q     <= '0;
      fl_tail_q     <= '0;
      fl_tail_gen_q    <= '0;
      fl_tail_ranges_q <= '0;
      fl_cnt_q         <= '0;
    end else begin
      if ((take_q && from_fresh_q) || skip) fresh_q <= fresh_q + 1'b1;
      if (restore_q && reg_q.fresh) fresh_q <= {1'b0, reg_q.index};
      if (take_q && !from_fresh_q) begin
        fl_head_q <= cur_q.bound;
        fl_cnt_q  <= fl_cnt_q - 1'b1;
      end
      if (append_q) begin
        if (!list_any_q) fl_head_q <= tail_index_q;
        fl_tail_q     <= tail_index_q;
        fl_tail_gen_q    <= tail_gen_q;
        fl_tail_ranges_q <= tail_ranges_q;
        fl_cnt_q      <= fl_cnt_q + 1'b1;
      end
      if (take_q && !from_fresh_q && append_q) fl_cnt_q <= fl_cnt_q;
      if (restore_q && !reg_q.fresh) begin
        fl_head_q <= reg_q.index;
        fl_cnt_q  <= fl_cnt_q + 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Enable
  // ---------------------------------------------------------------------------------------------
  // While the table is cleared, all writes are those of the clearing.
  logic clr_take, clr_quiet;
  assign clr_take  = (job_q == JobClear) && (state_q == StWrReq) && wr_ready_i;
  assign clr_done  = wr_done_i && ((init_q == InitClear) || (init_q == InitError));
  assign clr_quiet = (state_q == StIdle) && (clr_out_q == '0);

  logic quiet;
  assign quiet = (state_q == StIdle) && posted_none && !tail_busy_q && (set_q == SetIdle) &&
                 !cpl_valid_o;

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
          else if (idle_i && !que_any && quiet) init_q <= InitFlush;
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
  assign fence_busy_o  = que_any || !quiet || (init_q == InitFlush) ||
                         (clr_out_q != '0) || (active && cmd_full_q);

  // ---------------------------------------------------------------------------------------------
  // Completion
  // ---------------------------------------------------------------------------------------------
  // What the state machine has decided.
  status_e     sts_q;
  logic        sts_keys_q, sts_query_q;
  always_ff @(posedge clk_i) begin
    if (fin) begin
      sts_q       <= fin_status;
      sts_keys_q  <= fin_keys;
      sts_query_q <= fin_query;
    end
  end

  logic cpl_no_keys;
  assign cpl_no_keys = (set_q == SetCpl) ? (set_err_q || (of_q != OfReg)) : !sts_keys_q;

  // Settled writes go first.
  logic        cpl_valid_q;
  cid_t        cpl_id_q;
  logic [3:0]  cpl_op_q;
  status_e     cpl_status_q;
  logic [31:0] cpl_lkey_q, cpl_rkey_q;
  logic [IndexW-1:0] cpl_index_q;
  mpt_entry_t  cpl_entry_q;  // a register of its own: emptied by its reset instead of by gates
  assign set_cpl_take = (set_q == SetCpl) && !cpl_valid_q;
  assign fsm_cpl_take = (state_q == StCpl) && (set_q != SetCpl) && !cpl_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cpl_valid_q  <= 1'b0;
      cpl_id_q     <= '0;
      cpl_op_q     <= '0;
      cpl_status_q <= StsOk;
      cpl_lkey_q   <= '0;
      cpl_rkey_q   <= '0;
      cpl_index_q  <= '0;
    end else begin
      if (set_cpl_take || fsm_cpl_take) cpl_valid_q <= 1'b1;
      else if (cpl_ready_i) cpl_valid_q <= 1'b0;
      // Taken over until one is valid.
      if (!cpl_valid_q) begin
        cpl_id_q     <= id_q;
        cpl_op_q     <= op_q;
        cpl_status_q <= sts_q;
        cpl_lkey_q   <= reg_q.lkey;
        cpl_rkey_q   <= reg_q.rkey;
        cpl_index_q  <= reg_q.index;
        if (reg_q.no_l) cpl_lkey_q <= '0;
        if (cpl_no_keys) {cpl_lkey_q, cpl_rkey_q, cpl_index_q} <= '0;
        if (set_q == SetCpl) begin
          cpl_status_q <= set_err_q ? StsBus : StsOk;
          unique case (of_q)
            OfReg: begin
              cpl_id_q <= reg_q.id;
              cpl_op_q <= reg_q.op;
            end
            OfEnd: begin
              cpl_id_q <= end_q.id;
              cpl_op_q <= end_q.op;
            end
            default: begin
              cpl_id_q <= head_q.id;
              cpl_op_q <= head_q.op;
            end
          endcase
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!cpl_valid_q) begin
      if (fsm_cpl_take && sts_query_q) cpl_entry_q <= cur_q;
      else cpl_entry_q <= '0;
    end
  end

  assign cpl_valid_o = cpl_valid_q;
  assign cpl_src_o   = cpl_id_q.src;
  always_comb begin
    cpl_o.id     = cpl_id_q.id;
    cpl_o.op     = cpl_op_q;
    cpl_o.status = cpl_status_q;
    cpl_o.lkey   = cpl_lkey_q;
    cpl_o.rkey   = cpl_rkey_q;
    cpl_o.index  = cpl_index_q;
    cpl_o.entry  = cpl_entry_q;
  end

  assign err_bus_o        = (rd_rsp_valid_i && rd_rsp_err_i) || (wr_done_i && wr_err_i);
  assign err_mpt_bad_o    = fin && (fin_status == StsMptBad);
  assign err_fence_time_o = (state_q == StPend);

  logic unused_ok;
  assign unused_ok = ^{mpt_base_i[11:0], head_q, pend_head_q, head.since, head_age[6:0],
                       frame_now[63:MaxLogPage]};

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSUME(BaseAligned_A, !enable_i || (mpt_base_i[11:0] == '0))
  `TPT_ASSUME(SizeLegal_A, !enable_i || ((mpt_size_i != '0) &&
                                         (mpt_size_i <= (IndexW + 1)'(MaxMptSize))))
  `TPT_ASSUME(ReadAnswerExpected_A, !rd_rsp_valid_i || rd_out_q)
  `TPT_ASSUME(WriteAnswerExpected_A, !wr_done_i || wr_take || (ans_cnt_q != '0) ||
              (clr_out_q != '0))
  `TPT_ASSERT(AnswerRoom_A, !ans_push || !ans_cnt_q[3])
  `TPT_ASSERT(PostedWaits_A, (ans_cnt_q == '0) || !posted_none || tail_busy_q ||
              (state_q == StWrWait) || (state_q == StWrReq))
  `TPT_ASSERT(IssueFree_A, !issue || (is_make_q ? !reg_busy_q : !end_busy_q))
  `TPT_ASSERT(ReregAlone_A, !(issue && (is_rereg_q || is_bind_q || is_range_q)) || posted_none)
  `TPT_ASSERT(BindAlone_A, !(state_q == StWrReq && (job_q == JobCmd) && (wr_ans_q == AnsFsm)) ||
              posted_none || step_q)
  `TPT_ASSERT(LessThanSome_A, !(wr_valid_o && sel_less_q) || (cur_q.bound != '0))
  `TPT_ASSERT(OneRead_A, !read || !rd_busy)
  `TPT_ASSERT(FixedAsked_A, !fixed || fix_q)
  // Nobody takes from the end of the list while somebody else appends to it.
  `TPT_ASSERT(ListShort_A, !(append_q && reg_busy_q && !reg_q.fresh) || list_any_q)
  `TPT_ASSERT(ClearAlone_A, (clr_out_q == '0) || (init_q == InitClear) || (init_q == InitError))
  `TPT_ASSERT(QueueRoom_A, !push || !que_full)
  `TPT_ASSERT(QueueNotEmpty_A, !pop || que_any)
  `TPT_ASSERT(QueueBounds_A, (que_cnt_q <= (QueW + 1)'(FenceDepth)) && (pend_q <= que_cnt_q))
  `TPT_ASSERT(PendPointer_A, pend_rd_q == (que_rd_q + pend_q[QueW-1:0]))
  `TPT_ASSERT(PendOnlyWaiting_A, !load_pend || (pend_q != que_cnt_q))
  `TPT_ASSERT(AddressSettled_A, !wr_valid_o || addr_ok_q)
  `TPT_ASSERT(FieldsMade_A, !(reg_load_q || end_load_q) || gen_fields_valid)
  `TPT_ASSERT(LoadFree_A, !reg_load_q || (job_q != JobTail) || !reg_busy_q)
  // An index is handed out only from inside the table, never 0, never while it waits for a fence.
  `TPT_ASSERT(TakeInTable_A, !take_q || ((index_q != '0) && ({1'b0, index_q} < mpt_size_i)))
  `TPT_ASSERT(TakeNotWaiting_A, !(take_q && que_any) || (index_q != head.index))
  `TPT_ASSERT(TakeNext_A, !take_q || (index_q == (from_fresh_q ? fresh_q[IndexW-1:0] : fl_head_q)))
  `TPT_ASSERT(ListBounds_A, (fl_cnt_q < fresh_q) && (!(take_q && !from_fresh_q) ||
                                                     (fl_cnt_q != '0)))
  `TPT_ASSERT(WriteOnlyInWork_A, !wr_valid_o || (job_q != JobCmd) || cmd_full_q || step_q)
  `TPT_ASSERT(ClearOnlyClearing_A, !(wr_valid_o && (job_q == JobClear)) || (init_q == InitClear) ||
              (init_q == InitError))
  // A command that leaves an index out has not been posted, and nobody else takes one.
  `TPT_ASSERT(SkipAlone_A, !skip || (!take_q && (index_q == fresh_q[IndexW-1:0])))
  // Tags that commands bring never make a key 0: no region or window has such an index.
  `TPT_ASSERT(FieldNotZero_A, !(reg_load_q || end_load_q) ||
              ((gen_lfield != '0) && (gen_rfield != '0)))
  `TPT_ASSERT(KeysOnlyOk_A, !cpl_valid_o || (cpl_status_q == StsOk) ||
              ((cpl_lkey_q == '0) && (cpl_rkey_q == '0)))
`ifndef SYNTHESIS
  // A fence is asked for right after the invalidation of the second field.
  logic prev_inv_q;
  always_ff @(posedge clk_i) prev_inv_q <= (set_q == SetRemote) && inv_done_i;
  `TPT_ASSERT(FenceAfterBoth_A, !push || prev_inv_q)

  // The fields that are invalidated are those of the entry that was written.
  function automatic logic [FieldW-1:0] field_of(logic role, logic [IndexW-1:0] index);
    logic [FieldW-1:0] x;
    x = {role, index};
    for (int unsigned r = 0; r < PermRounds; r++) begin
      x = perm_round(x, perm_secret_i[12*r+:12], plain_i);
    end
    return x;
  endfunction
  `TPT_ASSERT(FieldOfEntry_A, !inv_valid_o ||
              (inv_field_o == field_of(set_q == SetRemote,
                                       (of_q == OfEnd) ? end_q.index : reg_q.index)))

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
  logic                follow_reg, follow_back, follow_free;
  assign follow_back = restore_q && (reg_q.index < IndexW'(Followed));
  assign follow_reg  = take_q && (index_q < IndexW'(Followed));
  assign follow_free = append_q && (tail_index_q < IndexW'(Followed));
  always_ff @(posedge clk_i) begin
    if (!rst_ni || (init_q == InitFlush)) begin
      given_q <= '0;
    end else begin
      if (follow_reg) given_q[index_q[$clog2(Followed)-1:0]] <= 1'b1;
      if (follow_back) given_q[reg_q.index[$clog2(Followed)-1:0]] <= 1'b0;
      if (follow_free) given_q[tail_index_q[$clog2(Followed)-1:0]] <= 1'b0;
    end
  end
  `TPT_ASSERT(GivenOnce_A, !follow_reg || !given_q[index_q[$clog2(Followed)-1:0]])
  `TPT_ASSERT(FreedOnce_A, !follow_free || given_q[tail_index_q[$clog2(Followed)-1:0]])
`endif

endmodule
