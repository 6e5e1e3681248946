// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// MTT walker: descriptor and page number in, physical pages out.
///
/// A request enters with its descriptor and position. The walker answers with one *chunk*: the
/// pages of the request that lie in one table line (LineEntries = AxiDataW / 64 entries), judged
/// one by one. If the request goes on behind the chunk (`sub_more_o`, told when its walk begins),
/// the consumer asks for the next one (`adv`), in the same context once that is free again, or in
/// another one at once, so that one long request has many lines on their way. Any number of
/// contexts walk at the same time; results come in any order between contexts.
///
/// Table lines of all levels share one non-blocking cache, so upper levels act as a walk cache. In
/// front of it stands a small cache of *directory lines*: lines of level 2 whose entries, judged
/// already, name the table pages of the leaves. It is looked up in the same clocks as the leaf
/// line: a leaf that is missing is read at once if its table page is known. If not, the walk begins
/// at the top, whose address it knows, and goes down, one read per level that is missing:
///
///     new / next chunk ──► look up leaf line, directory ──hit──► judge entries ──► result
///                           │ leaf missing, directory hit: read leaf ─┘
///                           │ both missing                │ bad entry: drop the line, then result
///                           ▼
///                          look up line of the top level ... down to the leaf
///
/// Level 0 regions (pages inside the MPT entry) take the same path without a look-up. Their frames
/// stay with the context of the request's first chunk. Those of physical regions (EncNone) are made
/// from the address and not judged.
///
/// In an on-demand region an absent entry is a page fault: the walk goes to a slot of
/// tpt_page_fault, from where it comes back to the same place, or to be refused. Of its chunk
/// nothing has been handed out. If the line had been in the cache, it is read again first.
///
/// Lines are tagged with {MPT index, generation, level, line number}: a line of an earlier
/// registration of an index never matches. The owner sweeps the index twice in 256 generations.
///
/// Cache, directory and slots can be divided into partitions: a walk has that of its request. A
/// sweep drops nothing of other indices, neither lines nor directory lines.
module tpt_mtt_walker
  import tpt_pkg::*;
#(
  /// Number of contexts, a power of two.
  parameter int unsigned NumCtx    = 16,
  /// Cache geometry.
  parameter int unsigned Sets      = 32,
  parameter int unsigned Ways      = 4,
  /// Directory lines, a power of two, at least 8.
  parameter int unsigned DirSets   = 32,
  /// Width of the memory port: 128, 256 or 512.
  parameter int unsigned AxiDataW  = 128,
  /// Table entries can be CHECKED: 0 leaves it out.
  parameter int unsigned MttChecked = 1,
  /// Slots for page faults, 0 (no on-demand regions) to 32.
  parameter int unsigned FaultSlots = 4,
  /// Clients, a power of two: the top bits of a context.
  parameter int unsigned Clients   = 1,
  /// Most partitions of cache, directory and slots, 1 (none) or 4.
  parameter int unsigned Parts     = 1,
  localparam int unsigned SlotW    = (FaultSlots > 1) ? $clog2(FaultSlots) : 1,
  localparam int unsigned CtxW     = $clog2(NumCtx),
  localparam int unsigned LineEnt  = AxiDataW / 64,
  localparam int unsigned LineLog  = $clog2(LineEnt)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                ready_o,
  // log2 of the partitions in use; constant while requests are inside
  input  logic [1:0]          log_parts_i,

  // New request: first chunk. Always accepted.
  input  logic                in_valid_i,
  input  logic [CtxW-1:0]     in_ctx_i,
  input  desc_t               in_desc_i,
  input  pos_t                in_pos_i,
  input  logic [PartW-1:0]    in_part_i,     // its partition
  // Next chunk of a request, into context `adv_ctx_i`, behind the chunk that was last begun in
  // `adv_src_i` (the same context or another one). No other chunk may be begun in `adv_src_i` until
  // this one has been (`sub_valid_o`).
  input  logic                adv_valid_i,
  output logic                adv_ready_o,
  input  logic [CtxW-1:0]     adv_ctx_i,
  input  logic [CtxW-1:0]     adv_src_i,
  // The walk of a chunk has begun; the request goes on behind it.
  output logic                sub_valid_o,
  output logic [CtxW-1:0]     sub_ctx_o,
  output logic                sub_more_o,

  // Chunk: `out_frame_o[j]` is bits 63:12 of entry j of the line; entries from `out_sel_o` on are
  // good, `out_good_o` of them; then `out_fault_o`, if any, ends the request.
  output logic                            out_valid_o,
  output logic [CtxW-1:0]                 out_ctx_o,
  output logic [LineEnt-1:0][FrameW-1:0]  out_frame_o,
  output logic [LineLog-1:0]              out_sel_o,
  output logic [LineLog:0]                out_good_o,
  output logic                            out_fault_o,
  output logic [4:0]                      out_syndrome_o,
  output logic                            out_first_o,   // first chunk of the request
  output logic                            out_final_o,   // last chunk of the request
  output logic                            out_relaxed_o,
  output logic [5:0]                      out_log_page_o,
  output logic [MaxLogPage-1:0]           out_off_o,     // offset inside the first page
  output logic [31:0]                     out_rem_o,     // bytes from here to the request's end
  output logic [CtxW-1:0]                 pre_ctx_o,     // out_ctx_o one clock ahead
  // The chunk of this context may be used (with `out_valid_o` or later).
  output logic                            commit_valid_o,
  output logic [CtxW-1:0]                 commit_ctx_o,

  // Memory: reads of one line
  output logic                ar_valid_o,
  input  logic                ar_ready_i,
  output logic                ar_soon_o,     // ar_valid_o the next clock for certain
  output logic [CtxW-1:0]     ar_ctx_o,
  output logic [63:0]         ar_addr_o,
  input  logic [CtxW-1:0]     r_pre_ctx_i,   // r_ctx_i one clock ahead
  input  logic                r_valid_i,
  input  logic [CtxW-1:0]     r_ctx_i,
  input  logic [AxiDataW-1:0] r_data_i,
  input  logic                r_err_i,

  // Page faults: one that is told (its slot is one of this walker); clients whose walks must not
  // wait; the host has taken the one of a slot; its answer, and the clock after whether one was
  // owed; forget what is owed.
  output logic                fault_valid_o,
  output fault_t              fault_o,
  input  logic [Clients-1:0]  stop_i,
  input  logic                taken_valid_i,
  input  logic [SlotW-1:0]    taken_slot_i,
  input  logic                ans_valid_i,
  input  logic [SlotW-1:0]    ans_slot_i,
  input  logic                ans_refuse_i,
  output logic                ans_ok_o,
  input  logic                fault_clear_i,

  // Drop the lines of one index, or all. Hold valid until done (one clock).
  input  logic                sweep_valid_i,
  input  logic                sweep_all_i,
  input  logic [IndexW-1:0]   sweep_index_i,
  output logic                sweep_done_o,

  // Events
  output logic                ev_hit_o,
  output logic                ev_miss_o,
  output logic                ev_evict_o,
  output logic                ev_bus_o
);

  if (AxiDataW != 128 && AxiDataW != 256 && AxiDataW != 512) begin : g_bad_width
    $fatal(1, "tpt_mtt_walker: AxiDataW must be 128, 256 or 512");
  end

  if (Sets < 8) begin : g_bad_sets
    $fatal(1, "tpt_mtt_walker: Sets must be at least 8");
  end

  if (DirSets < 8 || (DirSets & (DirSets - 1)) != 0) begin : g_bad_dir
    $fatal(1, "tpt_mtt_walker: DirSets must be a power of two, at least 8");
  end

  if (FaultSlots > 32) begin : g_bad_slots
    $fatal(1, "tpt_mtt_walker: FaultSlots must be at most 32");
  end

  localparam int unsigned ClientW = (Clients > 1) ? $clog2(Clients) : 1;
  localparam int unsigned SetW  = $clog2(Sets);
  localparam int unsigned LineW = PageIdxW - LineLog;
  localparam int unsigned DirW  = $clog2(DirSets);
  // Entries of the smallest table page: 2^9. So many bits fewer has the number of a table page.
  localparam int unsigned TabLog = MinLogTPage - 3;
  localparam int unsigned DLineW = LineW - TabLog;

  /// Key of a table line.
  typedef struct packed {
    logic [IndexW-1:0] index;
    logic [GenW-1:0]   gen;
    logic [2:0]        lvl;
    logic [LineW-1:0]  line;
  } key_t;

  /// What a walk needs to know of the region, beside the key.
  typedef struct packed {
    logic [2:0]            level;
    logic [5:0]            log_page;
    logic [2:0]            log_tpage;  // log2(table page) - 12
    logic [1:0]            encoding;
    logic                  write;      // the access needs a writable entry
    logic                  relaxed;    // carried along
    logic                  ondemand;   // an absent entry is a page fault
    logic [PartW-1:0]      part;       // partition of caches
    logic [TagW-1:0]       tag;        // of the request, for page faults
    logic [FrameW-1:0]     base;       // root, or the table page of a level below the top
  } region_t;

  /// A chunk of a request: as the check or the chunk before left it.
  typedef struct packed {
    logic [IndexW-1:0]     index;
    logic [GenW-1:0]       gen;
    region_t               region;     // level 0: base is the context that holds the frames
    pos_t                  pos;
  } chunk_t;

  typedef struct packed {
    chunk_t              chunk;
    logic                first;
    logic [2:0]          lvl;    // level that is looked up, 1 is the leaf
    logic [PageIdxW-1:0] eidx;   // number of the entry at this level, whole region
    logic                probe;  // a leaf whose table page is not known: the directory may tell
    logic                refuse; // no look-up: refused,
    logic                absent; // as MTT_ABSENT instead of RETRY
  } work_t;

  typedef struct packed {
    region_t               region;
    pos_t                  pos;
    logic                  first;
    logic [LineLog-1:0]    sel;   // first entry of the line
    logic [63:LineLog+3]   addr;  // of the line, as far as it is known
    logic [LineLog:0]      num;   // entries of the line that the walk needs
    logic                  last;  // a leaf: the chunk reaches the end of the request
    logic                  probe;
    logic                  refuse;
    logic                  absent;
  } pay_t;

  // Beside the key: where the directory line is, and log2(table page) - 12.
  typedef struct packed {
    logic [DirW-1:0] dset;
    logic [2:0]      log_tpage;
  } aux_t;

  // Number of the directory line above leaf line number {`line`, any}.
  function automatic logic [DLineW-1:0] dir_line(logic [DLineW-1:0] line, logic [2:0] log_tpage);
    return line >> log_tpage;
  endfunction

  // Where a directory line is.
  function automatic logic [DirW-1:0] dir_set(logic [DirW-1:0] index, logic [DirW-1:0] line,
                                              logic [PartW-1:0] part, logic [1:0] log_parts);
    logic [DirW-1:0] set;
    set = line ^ index;
    if (Parts > 1) set[DirW-1 -: PartW] = part_top(set[DirW-1 -: PartW], part, log_parts);
    return set;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // S0: queue of new chunks, or the next chunk on offer; S1: descriptor and position from RAM
  // ---------------------------------------------------------------------------------------------
  logic            newq_valid, newq_pop, newq_room, in_direct;
  logic [CtxW-1:0] newq_ctx;
  logic [CtxW:0]   newq_cnt, arq_cnt;

  // A new request goes straight on if nothing else does.
  tpt_fifo #(.Width(CtxW), .Depth(NumCtx)) u_newq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(in_valid_i && !in_direct), .wready_o(newq_room), .wdata_i(in_ctx_i),
    .rvalid_o(newq_valid), .rready_i(newq_pop), .rdata_o(newq_ctx), .count_o(newq_cnt)
  );

  logic            int_valid_q;   // a walk goes on at another level
  logic [CtxW-1:0] int_ctx_q;
  work_t           int_work_q;

  logic            s1_valid_q, s1_adv_q, s1_stall;
  logic [CtxW-1:0] s1_ctx_q, s1_src_q, s0_ctx, s0_src;
  assign s1_stall  = s1_valid_q && int_valid_q;
  assign in_direct = in_valid_i && !s1_valid_q && !int_valid_q;
  // new requests and next chunks take turns
  logic            s0_turn_q, s0_adv;
  assign adv_ready_o = (!newq_valid || s0_turn_q) && !s1_stall;
  assign s0_adv      = adv_valid_i && (!newq_valid || s0_turn_q);
  assign newq_pop    = newq_valid && !s0_adv && !s1_stall;
  assign s0_ctx      = s0_adv ? adv_ctx_i : newq_ctx;
  // a stalled chunk reads its RAM words again
  assign s0_src      = s1_stall ? s1_src_q : (s0_adv ? adv_src_i : newq_ctx);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s1_valid_q <= 1'b0;
      s0_turn_q  <= 1'b0;
    end else if (!s1_stall) begin
      s1_valid_q <= s0_adv || newq_pop;
      s0_turn_q  <= !s0_adv;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!s1_stall) begin
      s1_ctx_q <= s0_ctx;
      s1_src_q <= s0_src;
      s1_adv_q <= s0_adv;
    end
  end

  logic            s2_valid_q, s2_probe, s2_begin_q;
  logic [CtxW-1:0] s2_ctx_q;
  work_t           s2_work_q;

  // What the check said of a new request; what comes behind a chunk.
  chunk_t in_chunk, s1_new, s1_adv, s2_next;
  logic   next_we;

  // A flat array is a table of one level.
  always_comb begin
    in_chunk.index            = in_desc_i.index;
    in_chunk.gen              = in_desc_i.gen;
    in_chunk.region.level     = (in_desc_i.level == LevelFlat) ? 3'd1 : in_desc_i.level;
    in_chunk.region.log_page  = in_desc_i.log_page;
    in_chunk.region.log_tpage = in_desc_i.log_tpage;
    in_chunk.region.encoding  = in_desc_i.encoding;
    in_chunk.region.write     = in_desc_i.write;
    in_chunk.region.relaxed   = in_desc_i.relaxed;
    in_chunk.region.ondemand  = in_desc_i.ondemand && (FaultSlots != 0);
    in_chunk.region.part      = (Parts > 1) ? in_part_i : '0;
    in_chunk.region.tag       = in_desc_i.tag;
    in_chunk.region.base      = (in_desc_i.level == LevelInline) ? FrameW'(in_ctx_i)
                                                                 : in_desc_i.frame[0];
    in_chunk.pos              = in_pos_i;
  end

  tpt_ram_1r1w #(.Width($bits(chunk_t)), .Depth(NumCtx)) u_new (
    .clk_i,
    .we_i   (in_valid_i),
    .waddr_i(in_ctx_i),
    .wdata_i(in_chunk),
    .raddr_i(s0_src),
    .rdata_o(s1_new)
  );
  tpt_ram_1r1w #(.Width($bits(chunk_t)), .Depth(NumCtx)) u_next (
    .clk_i,
    .we_i   (next_we),
    .waddr_i(s2_ctx_q),
    .wdata_i(s2_next),
    .raddr_i(s0_src),
    .rdata_o(s1_adv)
  );

  // ---------------------------------------------------------------------------------------------
  // S1: one of a walk under way, a chunk from the RAMs, a new request; its key
  // ---------------------------------------------------------------------------------------------
  logic            sub_valid;
  logic [CtxW-1:0] sub_ctx;
  work_t           sub_work;
  key_t            sub_key;
  aux_t            sub_aux;
  logic [SetW-1:0] sub_set;

  assign sub_valid = int_valid_q || s1_valid_q || in_valid_i;
  always_comb begin
    sub_work       = '0;
    sub_work.first = 1'b1;
    sub_work.lvl   = 3'd1;
    sub_work.chunk = in_chunk;
    sub_ctx        = in_ctx_i;
    if (s1_valid_q) begin
      sub_work.first = !s1_adv_q;
      sub_work.chunk = s1_adv_q ? s1_adv : s1_new;
      sub_ctx        = s1_ctx_q;
    end
    sub_work.eidx  = sub_work.chunk.pos.idx;
    sub_work.probe = sub_work.chunk.region.level > 3'd1;
    if (int_valid_q) begin
      sub_work = int_work_q;
      sub_ctx  = int_ctx_q;
    end
  end

  always_comb begin
    sub_key = '{index: sub_work.chunk.index, gen: sub_work.chunk.gen, lvl: sub_work.lvl,
                line: sub_work.eidx[PageIdxW-1:LineLog]};
    if (sub_work.chunk.region.level == LevelInline) begin
      sub_key.line[CtxW-1:0] = sub_work.chunk.region.base[CtxW-1:0];
    end
  end
  always_comb begin
    sub_set = sub_key.line[SetW-1:0] ^ sub_key.line[2*SetW-1:SetW] ^
              sub_key.index[SetW-1:0] ^ {sub_key.lvl - 3'd1, {(SetW - 3){1'b0}}};
    if (Parts > 1) begin
      sub_set[SetW-1 -: PartW] = part_top(sub_set[SetW-1 -: PartW], sub_work.chunk.region.part,
                                          log_parts_i);
    end
  end
  assign sub_aux.log_tpage = sub_work.chunk.region.log_tpage;
  assign sub_aux.dset      = dir_set(
      sub_key.index[DirW-1:0],
      DirW'(dir_line(sub_key.line[LineW-1:TabLog], sub_work.chunk.region.log_tpage)),
      sub_work.chunk.region.part, log_parts_i);

  // ---------------------------------------------------------------------------------------------
  // S2, beside P1 of the cache: address of the line, and what comes behind the chunk
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s2_valid_q <= 1'b0;
      s2_begin_q <= 1'b0;
    end else begin
      s2_valid_q <= sub_valid;
      s2_begin_q <= sub_valid && !int_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    s2_ctx_q   <= sub_ctx;
    s2_work_q  <= sub_work;
  end

  region_t s2_region;
  pos_t    s2_pos;
  logic    s2_end;   // the chunk reaches the end of the request
  assign s2_probe  = s2_work_q.probe;
  assign s2_region = s2_work_q.chunk.region;
  assign s2_pos    = s2_work_q.chunk.pos;

  // Pages of a level 0 region, as if they were a table line. All in one line: its only chunk finds
  // them at P4 by its context, which stands in the key. Else they go with the chunk, in place of
  // base and address, before the context that keeps them can be given away.
  key_t                   p2_key;
  pay_t                   res_pay;
  logic [AxiDataW-1:0]    res_inline;
  logic [1:0][FrameW-1:0] s2_pair;
  if (LineEnt >= 4) begin : g_inline_line
    logic [3:0][FrameW-1:0] frame;
    tpt_ram_1r1w #(.Width(4 * FrameW), .Depth(NumCtx), .OutReg(1'b1)) u_inline (
      .clk_i,
      .we_i   (in_valid_i),
      .waddr_i(in_ctx_i),
      .wdata_i(in_desc_i.frame),
      .raddr_i(p2_key.line[CtxW-1:0]),
      .rdata_o(frame)
    );
    always_comb begin
      res_inline = '0;
      for (int unsigned j = 0; j < 4; j++) res_inline[64*j +: 64] = {frame[j], 12'b0};
    end
    assign s2_pair = '0;
    `TPT_ASSERT(OneInlineChunk_A, !s2_begin_q || s2_region.level != LevelInline || s2_end)
  end else begin : g_inline_pairs
    logic [1:0][1:0][FrameW-1:0] pairs [NumCtx];
    always_ff @(posedge clk_i) begin
      if (in_valid_i) pairs[in_ctx_i] <= in_desc_i.frame;
    end
    assign s2_pair    = pairs[s2_region.base[CtxW-1:0]][s2_pos.idx[1]];
    assign res_inline = AxiDataW'({res_pay.addr[FrameW+LineLog+2:LineLog+3], 12'b0,
                                   res_pay.region.base, 12'b0});
  end

  // The line: addresses and pages; what comes behind them.
  logic                s2_top;
  logic [LineLog:0]    s2_num;
  pay_t                s2_pay;
  logic [63:LineLog+3] s2_root, s2_page, s2_place;
  pos_t                s2_behind;
  assign s2_top = s2_work_q.lvl == s2_region.level;
  tpt_walk_line #(.LineLog(LineLog)) u_line (
    .eidx_i     (s2_work_q.eidx),
    .lvl_i      (s2_work_q.lvl),
    .log_tpage_i(s2_region.log_tpage),
    .base_i     (s2_region.base),
    .pos_i      (s2_pos),
    .log_page_i (s2_region.log_page),
    .root_o     (s2_root),
    .page_o     (s2_page),
    .place_o    (s2_place),
    .num_o      (s2_num),
    .end_o      (s2_end),
    .next_o     (s2_behind)
  );
  always_comb begin
    s2_pay.region = s2_region;
    s2_pay.pos    = s2_pos;
    s2_pay.first  = s2_work_q.first;
    s2_pay.sel    = s2_work_q.eidx[LineLog-1:0];
    s2_pay.last   = s2_end;
    s2_pay.probe  = s2_work_q.probe;
    s2_pay.refuse = s2_work_q.refuse;
    s2_pay.absent = s2_work_q.absent;
    s2_pay.num    = s2_num;
    // below the directory only the place in the table page is known
    s2_pay.addr   = s2_top ? s2_root :
                    s2_probe ? s2_place : s2_page;
    if (LineEnt < 4 && s2_region.level == LevelInline) begin
      s2_pay.region.base = s2_pair[0];
      s2_pay.addr        = (61 - LineLog)'(s2_pair[1]);
    end
  end

  assign next_we = s2_begin_q;
  always_comb begin
    s2_next     = s2_work_q.chunk;
    s2_next.pos = s2_behind;
  end
  assign sub_valid_o = s2_begin_q;
  assign sub_ctx_o   = s2_ctx_q;
  assign sub_more_o  = !s2_end;

  // ---------------------------------------------------------------------------------------------
  // Directory lines: direct mapped, address at P1, compared at P3, known at P4. Cleared at start;
  // a sweep looks at the index of each, one per clock, and clears those of its own.
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic              valid;
    logic [IndexW-1:0] index;
    logic [GenW-1:0]   gen;
    logic [DLineW-1:0] line;
    logic [2:0]        log_tpage;
  } dtag_t;
  typedef struct packed {
    dtag_t                          tag;
    logic [LineEnt-1:0]             good;
    logic [LineEnt-1:0][FrameW-1:0] frame;
  } dir_t;

  logic              dir_we, dir_clr, dir_clr_q, dir_all_q, dir_look_q, dir_end_q, dir_swept_q;
  logic [DirW-1:0]   dir_wset, dir_clr_set_q, dir_look_set_q;
  logic [IndexW-1:0] dir_index;
  dir_t              dir_wdata, p3_dir, p5_dir, p6_dir_q;
  logic              p6_dir_we_q;
  logic [DirW-1:0]   p6_dir_set_q;
  aux_t              p1_aux, p2_aux, p3_aux_q;
  key_t              p3_key_q;
  logic [DLineW-1:0] p3_dline_q;
  logic [LineLog-1:0] p3_dsel_q;
  logic              p4_known_q;
  logic [FrameW-1:0] p4_dframe_q;

  assign dir_clr   = dir_look_q && (dir_all_q || dir_index == sweep_index_i);
  assign dir_we    = dir_clr || (p6_dir_we_q && !sweep_valid_i && !dir_look_q);
  assign dir_wset  = dir_look_q ? dir_look_set_q : p6_dir_set_q;
  assign dir_wdata = dir_look_q ? '0 : p6_dir_q;
  tpt_ram_1r1w #(.Width(IndexW), .Depth(DirSets)) u_dir_index (
    .clk_i,
    .we_i   (dir_we),
    .waddr_i(dir_wset),
    .wdata_i(dir_wdata.tag.index),
    .raddr_i(dir_clr_set_q),
    .rdata_o(dir_index)
  );
  tpt_ram_1r1w #(.Width($bits(dir_t)), .Depth(DirSets), .OutReg(1'b1)) u_dir (
    .clk_i,
    .we_i   (dir_we),
    .waddr_i(dir_wset),
    .wdata_i(dir_wdata),
    .raddr_i(p1_aux.dset),
    .rdata_o(p3_dir)
  );
  always_ff @(posedge clk_i) begin
    p3_key_q    <= p2_key;
    p3_aux_q    <= p2_aux;
    p3_dline_q  <= dir_line(p2_key.line[LineW-1:TabLog], p2_aux.log_tpage);
    p3_dsel_q   <= LineLog'(p2_key.line >> (6'(p2_aux.log_tpage) + 6'(TabLog - LineLog)));
    p4_known_q  <= p3_dir.tag == dtag_t'{valid: 1'b1, index: p3_key_q.index, gen: p3_key_q.gen,
                                         line: p3_dline_q, log_tpage: p3_aux_q.log_tpage} &&
                   p3_dir.good[p3_dsel_q] && p3_key_q.lvl == 3'd1;
    p4_dframe_q <= p3_dir.frame[p3_dsel_q];
  end

  // A sweep is over when both are swept: the cache of lines and the directory.
  logic cache_ready, cache_sweep_done, cache_swept_q;
  tpt_all_done #(.N(2)) u_swept (
    .clk_i, .rst_ni,
    .done_i  ({cache_sweep_done, sweep_valid_i && dir_look_q && dir_end_q}),
    .done_q_o({cache_swept_q, dir_swept_q}),
    .all_o   (sweep_done_o)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      dir_clr_q     <= 1'b1;
      dir_all_q     <= 1'b1;
      dir_clr_set_q <= '0;
      dir_look_q    <= 1'b0;
      dir_end_q     <= 1'b0;
    end else begin
      dir_look_q <= dir_clr_q;
      dir_end_q  <= dir_clr_q && (&dir_clr_set_q);
      if (dir_clr_q) begin
        dir_clr_set_q <= dir_clr_set_q + 1'b1;
        dir_clr_q     <= !(&dir_clr_set_q);
      end else if (sweep_valid_i && !dir_look_q && !dir_swept_q) begin
        dir_clr_q <= 1'b1;
        dir_all_q <= sweep_all_i;
      end
    end
  end
  always_ff @(posedge clk_i) dir_look_set_q <= dir_clr_set_q;

  // ---------------------------------------------------------------------------------------------
  // Cache
  // ---------------------------------------------------------------------------------------------
  logic                res_valid, res_hit, res_fill, res_miss, res_bypass, res_killed;
  logic [CtxW-1:0]     res_ctx;
  logic                res_err;
  key_t                res_key;
  // A line of a table as it is kept.
  typedef struct packed {
    logic [LineEnt-1:0]  wrong;     // CHECKED: not what was made for its place
    logic [AxiDataW-1:0] entries;
  } line_t;
  line_t r_line, res_data;
  logic                rd_valid;
  logic [CtxW-1:0]     rd_ctx;
  pay_t                rd_pay;
  logic                rd_probe;
  logic                kill_valid_q, unused_inv_done;
  logic [CtxW-1:0]     kill_ctx_q;

  assign ev_bus_o = r_valid_i && r_err_i;

  tpt_cache #(
    .NumCtx(NumCtx), .Sets(Sets), .Ways(Ways), .KeyW($bits(key_t)), .IndexW(IndexW),
    .PayW($bits(pay_t)), .AuxW($bits(aux_t)), .DataW($bits(line_t)), .Beats(1), .ErrW(1),
    .Parts(Parts)
  ) u_cache (
    .clk_i, .rst_ni, .ready_o(cache_ready),
    .sub_valid_i  (sub_valid),
    .sub_ctx_i    (sub_ctx),
    .sub_set_i    (sub_set),
    .sub_key_i    (sub_key),
    .sub_aux_i    (sub_aux),
    .pay_valid_i  (s2_valid_q),
    .pay_ctx_i    (s2_ctx_q),
    .pay_bypass_i (s2_region.level == LevelInline || s2_work_q.refuse),
    .pay_probe_i  (s2_probe),
    .pay_i        (s2_pay),
    .p1_aux_o     (p1_aux),
    .p2_key_o     (p2_key),
    .p2_aux_o     (p2_aux),
    .p4_known_i   (p4_known_q),
    .res_valid_o  (res_valid),
    .res_ctx_o    (res_ctx),
    .res_hit_o    (res_hit),
    .res_fill_o   (res_fill),
    .res_miss_o   (res_miss),
    .res_bypass_o (res_bypass),
    .res_killed_o (res_killed),
    .res_err_o    (res_err),
    .res_key_o    (res_key),
    .res_pay_o    (res_pay),
    .res_data_o   (res_data),
    .rd_valid_o   (rd_valid),
    .rd_ctx_o     (rd_ctx),
    .rd_pay_o     (rd_pay),
    .rd_probe_o   (rd_probe),
    .fill_pre_ctx_i(r_pre_ctx_i),
    .fill_we_i    (r_valid_i),
    .fill_ctx_i   (r_ctx_i),
    .fill_data_i  (r_line),
    .fdone_valid_i(r_valid_i),
    .fdone_ctx_i  (r_ctx_i),
    .fdone_store_i(!r_err_i),
    .fdone_err_i  (r_err_i),
    .kill_valid_i (kill_valid_q),
    .kill_ctx_i   (kill_ctx_q),
    .log_parts_i,
    .inv_valid_i  (1'b0),
    .inv_set_i    ('0),
    .inv_key_i    ('0),
    .inv_done_o   (unused_inv_done),
    .sweep_valid_i(sweep_valid_i && !cache_swept_q),
    .sweep_all_i, .sweep_index_i,
    .sweep_done_o (cache_sweep_done),
    .ev_hit_o, .ev_miss_o, .ev_evict_o
  );

  assign ready_o = cache_ready && !(dir_all_q && (dir_clr_q || dir_look_q));

  // Entries are compared with the check of their place when they come from memory, and what that
  // says is kept with them: a line is found by its place only.
  if (MttChecked != 0) begin : g_checked
    logic [CheckW-1:0] p4_place, r_place;
    tpt_mtt_check #(.LineEnt(LineEnt)) u_check (
      .index_i(res_key.index),
      .line_i (res_key.line),
      .lvl_i  (res_key.lvl),
      .place_o(p4_place),
      .entry_i(r_data_i),
      .place_i(r_place),
      .bad_o  (r_line.wrong)
    );
    tpt_ram_1r1w #(.Width(CheckW), .Depth(NumCtx)) u_place (
      .clk_i,
      .we_i   (rd_valid),
      .waddr_i(rd_ctx),
      .wdata_i(p4_place),
      .raddr_i(r_pre_ctx_i),
      .rdata_o(r_place)
    );
  end else begin : g_no_checked
    assign r_line.wrong = '0;
  end
  assign r_line.entries = r_data_i;

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------
  logic                arq_room;
  logic [63:LineLog+3] rd_addr, ar_addr;
  assign rd_addr = rd_pay.addr |
                   (rd_probe ? {p4_dframe_q, {(9 - LineLog){1'b0}}} : '0);
  tpt_fifo #(.Width(CtxW + 61 - LineLog), .Depth(NumCtx), .FallThrough(1'b1)) u_arq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(rd_valid), .wready_o(arq_room), .wdata_i({rd_ctx, rd_addr}),
    .rvalid_o(ar_valid_o), .rready_i(ar_ready_i), .rdata_o({ar_ctx_o, ar_addr}),
    .count_o(arq_cnt)
  );
  assign ar_addr_o = {ar_addr, {(LineLog + 3){1'b0}}};
  assign ar_soon_o = (|arq_cnt[CtxW:1]) || (arq_cnt[0] && !ar_ready_i);

  // ---------------------------------------------------------------------------------------------
  // P5: the line and what to do with it
  // ---------------------------------------------------------------------------------------------
  logic                p5_valid_q, p5_line_q, p5_miss_q, p5_inline_q, p5_killed_q, p5_err_q;
  logic                p5_hit_q;
  logic [CtxW-1:0]     p5_ctx_q;
  key_t                p5_key_q;
  pay_t                p5_pay_q;
  logic [AxiDataW-1:0] p5_data_q;
  logic [LineEnt-1:0]  p5_wrong_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) p5_valid_q <= 1'b0;
    else p5_valid_q <= res_valid;
  end
  always_ff @(posedge clk_i) begin
    p5_line_q   <= res_hit || res_fill;
    p5_hit_q    <= res_hit;
    p5_miss_q   <= res_miss;
    p5_inline_q <= res_bypass;
    p5_killed_q <= res_killed;
    p5_err_q    <= res_fill && res_err;
    p5_ctx_q    <= res_ctx;
    p5_key_q    <= res_key;
    p5_pay_q    <= res_pay;
    p5_data_q   <= res_bypass ? res_inline : res_data.entries;
    p5_wrong_q  <= res_data.wrong;
  end

  logic                  p4_leaf, p5_leaf_q, p5_flagged_q, p5_checked_q, p5_any_q;
  logic [5:0]            p4_logp;
  logic [MaxLogPage-1:0] p5_low_q;
  logic [LineEnt-1:0][1:0] p5_judge;
  logic [LineLog-1:0]    p5_sel;
  logic [LineLog:0]      p5_good;
  logic                  p5_fault;
  logic [4:0]            p5_syn;

  assign p4_leaf    = res_key.lvl == 3'd1;
  assign p4_logp    = p4_leaf ? res_pay.region.log_page : 6'(res_pay.region.log_tpage) + 6'd12;
  always_ff @(posedge clk_i) begin
    p5_leaf_q    <= p4_leaf;
    p5_flagged_q <= res_pay.region.encoding == EncFlagged && !res_bypass;
    p5_checked_q <= res_pay.region.encoding == EncChecked && !res_bypass && MttChecked != 0;
    p5_any_q     <= res_pay.region.encoding == EncNone && res_bypass;
    p5_low_q     <= ~({MaxLogPage{1'b1}} << p4_logp);
  end
  assign p5_sel     = p5_pay_q.sel;

  // Of CHECKED entries the addresses are shorter.
  logic [LineEnt-1:0][FrameW-1:0] p5_frame;
  always_comb begin
    for (int unsigned j = 0; j < LineEnt; j++) begin
      p5_frame[j] = p5_data_q[64*j + 12 +: FrameW];
      if (p5_checked_q) p5_frame[j][FrameW-1:CheckedAddrW] = '0;
    end
  end

  always_comb begin
    for (int unsigned j = 0; j < LineEnt; j++) begin
      p5_judge[j] = mtt_judge(p5_data_q[64*j +: 64], p5_low_q, p5_flagged_q, p5_checked_q,
                              p5_wrong_q[j], p5_leaf_q && p5_pay_q.region.write,
                              p5_pay_q.region.ondemand);
      if (p5_any_q) p5_judge[j] = '0;
    end
    // first entry from p5_sel on, below p5_sel + p5_pay_q.num, that is not good
    p5_good  = p5_pay_q.num;
    p5_fault = 1'b0;
    p5_syn   = SynMttAbsent;
    for (int j = int'(LineEnt) - 1; j >= 0; j--) begin
      if (j >= int'(p5_sel) && (j - int'(p5_sel)) < int'(p5_pay_q.num) && (|p5_judge[j])) begin
        p5_fault = 1'b1;
        p5_good  = (LineLog + 1)'(j - int'(p5_sel));
        p5_syn   = p5_judge[j][1] ? SynMttAbsent : SynMttBad;
      end
    end
    if (p5_err_q) begin
      p5_fault = 1'b1;
      p5_good  = '0;
      p5_syn   = SynBus;
    end
    if (p5_pay_q.refuse) begin
      p5_fault = 1'b1;
      p5_good  = '0;
      p5_syn   = p5_pay_q.absent ? SynMttAbsent : SynRetry;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // P6: result, next level, or removal of a line that must not be kept
  // ---------------------------------------------------------------------------------------------
  logic p5_use, p5_result, p5_down, p5_kill;
  logic p5_hold;         // the walk goes into a slot for page faults
  logic p5_retry;        // page fault that cannot be held
  logic p5_killed_mine;  // the line that was dropped was that of a walk in a slot
  work_t int_work_d;
  assign p5_use    = p5_valid_q && (p5_line_q || p5_inline_q);
  assign p5_result = p5_use && (p5_leaf_q || p5_fault) && !p5_hold;
  assign p5_down   = p5_use && !p5_leaf_q && !p5_fault;
  assign p5_kill   = p5_use && p5_fault && p5_line_q && !p5_err_q;

  logic            int_own;     // a walk may go on at another level; else one from a slot may
  logic            go_valid;
  logic [CtxW-1:0] go_ctx;
  work_t           go_work;
  // without the judgement of the line, which is late
  assign int_own = p5_valid_q && (p5_miss_q || ((p5_line_q || p5_inline_q) && !p5_leaf_q));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_o    <= 1'b0;
      commit_valid_o <= 1'b0;
      kill_valid_q   <= 1'b0;
      int_valid_q    <= 1'b0;
    end else begin
      out_valid_o    <= p5_result;
      commit_valid_o <= (p5_result && !p5_kill) ||
                        (p5_valid_q && p5_killed_q && !p5_killed_mine);
      kill_valid_q   <= p5_kill;
      int_valid_q    <= int_own ? p5_down || p5_miss_q : go_valid;
    end
  end

  always_ff @(posedge clk_i) begin
    out_ctx_o      <= p5_ctx_q;
    commit_ctx_o   <= p5_ctx_q;
    kill_ctx_q     <= p5_ctx_q;
    out_frame_o    <= p5_frame;
    out_sel_o      <= p5_leaf_q ? p5_sel : '0;
    out_good_o     <= p5_leaf_q ? p5_good : '0;
    out_fault_o    <= p5_fault;
    out_syndrome_o <= p5_retry ? SynRetry : p5_fault ? p5_syn : SynOk;
    out_first_o    <= p5_pay_q.first;
    out_final_o    <= p5_fault || p5_pay_q.last;
    out_relaxed_o  <= p5_pay_q.region.relaxed;
    out_log_page_o <= p5_pay_q.region.log_page;
    out_off_o      <= p5_pay_q.pos.off;
    out_rem_o      <= p5_pay_q.pos.rem;

    int_ctx_q   <= int_own ? p5_ctx_q : go_ctx;
    int_work_q  <= int_own ? int_work_d : go_work;
  end

  // Another level: the top after a miss of a probe, down with the table page just found.
  // Bits of a page number that an entry spans: of the top, and of the level below.
  logic [5:0] p5_top_q, p5_next_q;
  always_ff @(posedge clk_i) begin
    p5_top_q  <= walk_span(res_pay.region.level, res_pay.region.log_tpage);
    p5_next_q <= walk_span(res_key.lvl - 3'd1, res_pay.region.log_tpage);
  end
  always_comb begin
    int_work_d.chunk = '{index: p5_key_q.index, gen: p5_key_q.gen, region: p5_pay_q.region,
                         pos: p5_pay_q.pos};
    int_work_d.first = p5_pay_q.first;
    if (p5_miss_q) begin
      int_work_d.lvl = p5_pay_q.region.level;
    end else begin
      int_work_d.lvl               = p5_key_q.lvl - 3'd1;
      int_work_d.chunk.region.base = p5_frame[p5_sel];
    end
    int_work_d.probe  = 1'b0;
    int_work_d.refuse = 1'b0;
    int_work_d.absent = 1'b0;
    int_work_d.eidx = p5_pay_q.pos.idx >> (p5_miss_q ? p5_top_q : p5_next_q);
  end

  // A line of level 2 that named a table page goes to the directory a clock later, unless that is
  // being cleared.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) p6_dir_we_q <= 1'b0;
    else p6_dir_we_q <= p5_down && p5_key_q.lvl == 3'd2;
  end
  always_ff @(posedge clk_i) begin
    p6_dir_q     <= p5_dir;
    p6_dir_set_q <= dir_set(p5_dir.tag.index[DirW-1:0], p5_dir.tag.line[DirW-1:0],
                            p5_pay_q.region.part, log_parts_i);
  end
  always_comb begin
    p5_dir.tag    = '{valid: 1'b1, index: p5_key_q.index, gen: p5_key_q.gen,
                      line: DLineW'(p5_key_q.line),
                      log_tpage: p5_pay_q.region.log_tpage};
    for (int unsigned j = 0; j < LineEnt; j++) begin
      p5_dir.good[j]  = !(|p5_judge[j]);
      p5_dir.frame[j] = p5_frame[j];
    end
  end

  assign pre_ctx_o = p5_ctx_q;

  // ---------------------------------------------------------------------------------------------
  // Page faults
  // ---------------------------------------------------------------------------------------------
  if (FaultSlots != 0) begin : g_faults
    logic             pf, pf_stop, room, put, told, go_refuse, go_absent;
    logic [SlotW-1:0] slot;
    work_t            put_work, slot_work;
    fault_t           fault_q;
    logic [LineLog:0] ahead_q;

    assign pf       = p5_kill && p5_syn == SynMttAbsent && p5_pay_q.region.ondemand;
    assign pf_stop  = (Clients == 1) ? stop_i[0] : stop_i[p5_ctx_q[CtxW-1-:ClientW]];
    assign p5_hold  = pf && room && (p5_hit_q || !pf_stop);
    assign told     = pf && room && !p5_hit_q && pf_stop;
    assign p5_retry = pf && !p5_hold;
    assign put      = p5_hold || told;

    always_comb begin
      put_work.chunk  = '{index: p5_key_q.index, gen: p5_key_q.gen, region: p5_pay_q.region,
                          pos: p5_pay_q.pos};
      put_work.first  = p5_pay_q.first;
      put_work.lvl    = p5_key_q.lvl;
      put_work.eidx   = {p5_key_q.line, p5_sel};
      put_work.probe  = p5_pay_q.probe;
      put_work.refuse = 1'b0;
      put_work.absent = 1'b0;
      go_work         = slot_work;
      go_work.refuse  = go_refuse;
      go_work.absent  = go_absent;
      if (go_refuse) go_work.probe = 1'b0;
    end

    tpt_page_fault #(
      .Slots(FaultSlots), .WorkW($bits(work_t)), .CtxW(CtxW), .Clients(Clients), .Parts(Parts)
    ) u_slots (
      .clk_i, .rst_ni,
      .log_parts_i,
      .load_part_i   (p5_pay_q.region.part),
      .room_o        (room),
      .slot_o        (slot),
      .load_valid_i  (p5_valid_q),
      .load_ctx_i    (p5_ctx_q),
      .load_work_i   (put_work),
      .put_valid_i   (put),
      .put_again_i   (p5_hit_q),
      .put_told_i    (told),
      .killed_valid_i(p5_valid_q && p5_killed_q),
      .killed_ctx_i  (p5_ctx_q),
      .killed_mine_o (p5_killed_mine),
      .go_valid_o    (go_valid),
      .go_ready_i    (!int_own),
      .go_refuse_o   (go_refuse),
      .go_absent_o   (go_absent),
      .go_ctx_o      (go_ctx),
      .go_work_o     (slot_work),
      .stop_i,
      .taken_valid_i, .taken_slot_i,
      .ans_valid_i, .ans_slot_i, .ans_refuse_i, .ans_ok_o,
      .clear_i       (fault_clear_i)
    );

    // Told a clock later. The page: of a leaf the first one that is absent.
    always_ff @(posedge clk_i) begin
      if (!rst_ni) fault_valid_o <= 1'b0;
      else fault_valid_o <= put && !p5_hit_q;
    end
    always_ff @(posedge clk_i) begin
      fault_q <= '{client: (Clients == 1) ? '0 : 2'(p5_ctx_q[CtxW-1-:ClientW]),
                   tag: p5_pay_q.region.tag, write: p5_pay_q.region.write, held: !told,
                   slot: 7'(slot), index: p5_key_q.index, page: p5_pay_q.pos.idx};
      ahead_q <= p5_leaf_q ? p5_good : '0;
    end
    always_comb begin
      fault_o      = fault_q;
      fault_o.page = fault_q.page + PageIdxW'(ahead_q);
    end
    `TPT_ASSERT(FaultHoldsNothing_A, !p5_hold || (p5_kill && !p5_result))
  end else begin : g_no_faults
    logic unused_faults;
    assign unused_faults  = ^{stop_i, taken_valid_i, taken_slot_i, ans_valid_i, ans_slot_i,
                              ans_refuse_i, fault_clear_i, p5_hit_q, p5_pay_q.probe};
    assign p5_hold        = 1'b0;
    assign p5_retry       = 1'b0;
    assign p5_killed_mine = 1'b0;
    assign go_valid       = 1'b0;
    assign go_ctx         = '0;
    assign go_work        = '0;
    assign ans_ok_o       = 1'b0;
    assign fault_valid_o  = 1'b0;
    assign fault_o        = '0;
  end

  `TPT_ASSERT(NewRoom_A, !in_valid_i || in_direct || newq_room)
  `TPT_ASSERT(ReadRoom_A, !rd_valid || arq_room)
  `TPT_ASSERT(LevelUp_A, !(p5_valid_q && p5_miss_q) || (p5_key_q.lvl == 3'd1 &&
              p5_pay_q.region.level > 3'd1 && p5_pay_q.region.level < LevelFlat))
  `TPT_ASSERT(LevelDown_A, !p5_down || p5_key_q.lvl > 3'd1)
  `TPT_ASSERT(SomePages_A, !(p5_use && p5_leaf_q) || p5_pay_q.pos.np != '0)
  `TPT_ASSERT(InlineRange_A, !(p5_valid_q && p5_inline_q) || p5_pay_q.refuse ||
              p5_pay_q.pos.idx < 40'd4)
  `TPT_ASSERT(GoodOrFault_A, !out_valid_o || out_good_o != '0 || out_fault_o)

  logic unused_ok;
  assign unused_ok = ^{newq_cnt, rd_pay, p5_pay_q.addr, p1_aux.log_tpage,
                       p3_aux_q.dset, p3_key_q.line};

endmodule
