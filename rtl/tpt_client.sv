// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// One client of the unit: its contexts, the order inside its streams, and its channels.
///
/// A request takes a context when it is accepted and joins the list of its stream. Only the head of
/// a stream hands out beats, so the responses of a stream leave in the order of acceptance; streams
/// overtake each other. A context is ready when a chunk of pages (or a refusal) is there for it;
/// the sequencer then hands out one beat per clock and frees the context. Everything is reserved
/// per client: a client that does not take its responses blocks nobody else.
///
/// The request at the head of a stream may be longer than a chunk. Then free contexts are given to
/// its next chunks, one behind the other, as long as some are left for new requests: so one long
/// request alone keeps many table lines on their way. If no context could be given, the next chunk
/// takes the place of the one just handed out, so there is always progress. After a fault, chunks
/// behind it are dropped as they come, and the last beat, which tells the fault, leaves when none
/// of them is left: after its last beat a request reads nothing any more.
///
///     S0 pick head, beat number -> X1 -> X2 line RAM out, entry -> X3 lengths -> X4 beat -> queue
///
/// While the sequencer rests and none of these stages holds a beat of the same stream, the answer
/// to a request of one page at the head of its stream goes from the walker straight into the queue.
///
/// Segments are compared with the host windows in X4, if there are any; then none goes straight
/// from the walker. One outside of them does not leave: its request ends there. Its other beats are
/// dropped, and the last one tells it.
///
/// With partitions the contexts are divided, too: each partition may have its share of them, and a
/// request of one that has its share waits. `room_o` tells of which partitions a request would not
/// wait for that: a source that asks for others only is never held up by a neighbour.
///
/// Client reset: no request or `done` is taken, beats are dropped until every context is free, then
/// all tags are released.
module tpt_client
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
#(
  /// Contexts of this client, a power of two, at least 2.
  parameter int unsigned NumCtx     = 8,
  /// Streams kept apart, a power of two, 2 to 64. Higher bits of the stream number are ignored.
  parameter int unsigned NumStreams = 16,
  /// Entries of a table line.
  parameter int unsigned LineEnt    = 2,
  /// Contexts that next chunks of long requests leave free for new requests.
  parameter int unsigned Reserve    = NumCtx / 4,
  /// Lanes that bring results, a power of two. All of one request comes from one lane.
  parameter int unsigned Lanes      = 1,
  /// Leave out the merging of segments.
  parameter bit          Merge      = 1'b1,
  /// Host windows: as many as there are in tpt_csr, or 0 to leave them out.
  parameter int unsigned NumWindows = 4,
  /// Most partitions, 1 (none) or 4.
  parameter int unsigned Parts      = 1,
  localparam int unsigned LaneW     = (Lanes > 1) ? $clog2(Lanes) : 1,
  localparam int unsigned CtxW      = $clog2(NumCtx),
  localparam int unsigned StrW      = $clog2(NumStreams),
  localparam int unsigned LineLog   = $clog2(LineEnt)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// Requests may be taken in.
  input  logic             enable_i,
  output logic             ready_o,
  /// No request is inside, and no `done` is owed.
  output logic             idle_o,

  // Partitions, constant while requests are inside; those that have a context left
  input  isolation_t       isolation_i,
  output logic [3:0]       room_o,

  // Host windows in force, their first and last pages; constant while requests are inside
  input  logic [NumHostwinBaseLo-1:0]             window_enable_i,
  input  logic [NumHostwinBaseLo-1:0][FrameW-1:0] window_base_i,
  input  logic [NumHostwinBaseLo-1:0][FrameW-1:0] window_limit_i,

  // Request channel
  input  logic             req_valid_i,
  output logic             req_ready_o,
  input  req_t             req_i,
  // Response channel
  output logic             rsp_valid_o,
  input  logic             rsp_ready_i,
  output rsp_t             rsp_o,
  // Done channel
  input  logic             done_valid_i,
  output logic             done_ready_o,
  input  done_t            done_i,

  // Request into the pipeline: taken in the clock of `pop_grant_i`; the clock after, `pop_busy_o`
  // tells that its tag was in use.
  output logic             pop_valid_o,
  input  logic             pop_grant_i,
  output req_t             pop_req_o,
  output logic [CtxW-1:0]  pop_ctx_o,
  output logic [PartW-1:0] pop_part_o,
  output logic             pop_busy_o,
  input  logic [LaneW-1:0] pop_lane_i,    // lane of pop_req_o

  // Of each lane: result of the check that needs no walk: a refusal, or an empty request (SynOk)
  input  logic [Lanes-1:0]                          dir_valid_i,
  input  logic [Lanes-1:0][CtxW-1:0]                dir_ctx_i,
  input  logic [Lanes-1:0][4:0]                     dir_syndrome_i,

  // Of each lane: chunk from the walker
  input  logic [Lanes-1:0]                          chk_valid_i,
  input  logic [Lanes-1:0][CtxW-1:0]                chk_ctx_i,
  input  logic [Lanes-1:0][LineEnt-1:0][FrameW-1:0] chk_frame_i,
  input  logic [Lanes-1:0][LineLog-1:0]             chk_sel_i,
  input  logic [Lanes-1:0][LineLog:0]               chk_good_i,
  input  logic [Lanes-1:0]                          chk_fault_i,
  input  logic [Lanes-1:0][4:0]                     chk_syndrome_i,
  input  logic [Lanes-1:0]                          chk_first_i,
  input  logic [Lanes-1:0]                          chk_final_i,
  input  logic [Lanes-1:0]                          chk_relaxed_i,
  input  logic [Lanes-1:0][5:0]                     chk_log_page_i,
  input  logic [Lanes-1:0][MaxLogPage-1:0]          chk_off_i,
  input  logic [Lanes-1:0][31:0]                    chk_rem_i,
  input  logic [Lanes-1:0][CtxW-1:0]                pre_ctx_i,    // chk_ctx_i one clock ahead
  input  logic [Lanes-1:0]                          commit_valid_i,
  input  logic [Lanes-1:0][CtxW-1:0]                commit_ctx_i,
  // Next chunk wanted, into context ctx, behind the chunk in context src
  output logic                                      adv_valid_o,
  output logic [LaneW-1:0]                          adv_lane_o,
  output logic [CtxW-1:0]                           adv_ctx_o,
  output logic [CtxW-1:0]                           adv_src_o,
  // Of each lane: the walk of a chunk has begun; the request goes on behind it
  input  logic [Lanes-1:0]                          sub_valid_i,
  input  logic [Lanes-1:0][CtxW-1:0]                sub_ctx_i,
  input  logic [Lanes-1:0]                          sub_more_i,

  // Neighbouring pages of a request go out as one segment.
  input  logic             merge_i,

  // A request waits and there is no free context: no request of this client may wait for the host.
  output logic             starved_o,

  // Fence
  input  logic             epoch_i,
  output logic             old_empty_o,

  // Client reset: hold until done (one clock)
  input  logic             reset_i,
  output logic             reset_done_o,

  // Events
  output logic             ev_request_o,
  output logic             ev_segment_o,
  output logic             ev_refused_o,
  output refusal_t         ev_refusal_o,   // with ev_refused_o
  output logic             ev_bad_done_o,
  output logic             ev_tag_busy_o
);

  if (NumCtx < 2 || (NumCtx & (NumCtx - 1)) != 0) begin : g_bad_ctx
    $fatal(1, "tpt_client: NumCtx must be a power of two, at least 2");
  end
  if (NumStreams < 2 || NumStreams > 64 || (NumStreams & (NumStreams - 1)) != 0) begin : g_bad_str
    $fatal(1, "tpt_client: NumStreams must be a power of two, 2 to 64");
  end
  if (Parts != 1 && (Parts != 4 || NumCtx < 4)) begin : g_bad_parts
    $fatal(1, "tpt_client: Parts must be 1, or 4 with at least 4 contexts");
  end
  if (NumWindows != 0 && NumWindows != NumHostwinBaseLo) begin : g_bad_windows
    $fatal(1, "tpt_client: NumWindows must be 4 or 0");
  end

  /// Beats in the response queue; chunks of one stream in a row while others wait.
  localparam int unsigned QueueDepth = 16;
  localparam int unsigned BurstMax   = 15;

  // Whose beats a context hands out.
  typedef struct packed {
    logic [TagW-1:0]    tag;
    logic [StreamW-1:0] stream;
    logic               abit;
    logic               nodone;   // tag was in use: not counted
  } who_t;

  // State of the sequencer (S0)
  logic             act_q;
  logic [CtxW-1:0]  cur_q;      // context that hands out beats
  logic [StrW-1:0]  cs_q;       // its stream
  logic [NumStreams-1:0] cs_one_q;  // the same one-hot, if active
  logic [LineLog:0] beat_q;
  logic [3:0]       burst_q;    // chunks of this stream in a row
  logic [4:0]       credit_q;   // free places in the response queue
  logic             credit_ok_q;  // there are some
  logic             rsp_pop, merged, x6_drop;
  logic [CtxW-1:0]  end_ctx;    // context whose chunk ends, and its stream
  logic [StrW-1:0]  end_str;

  // ---------------------------------------------------------------------------------------------
  // Run, drain, clear
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [1:0] {
    ClRun   = 2'd0,
    ClDrain = 2'd1,
    ClClear = 2'd2
  } cl_e;
  cl_e  cl_q;
  logic tags_ready, tags_clear, pipe_empty, drain, ctx_idle;

  assign drain      = cl_q == ClDrain;
  assign tags_clear = drain && ctx_idle && pipe_empty;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cl_q         <= ClClear;
      reset_done_o <= 1'b0;
    end else begin
      reset_done_o <= 1'b0;
      unique case (cl_q)
        ClRun: if (reset_i && !reset_done_o) cl_q <= ClDrain;
        ClDrain: if (tags_clear) cl_q <= ClClear;
        ClClear: begin
          if (tags_ready) begin
            cl_q         <= ClRun;
            reset_done_o <= reset_i;
          end
        end
        default: cl_q <= ClClear;
      endcase
    end
  end
  assign ready_o = cl_q == ClRun;

  // ---------------------------------------------------------------------------------------------
  // Acceptance: two requests wait here, then a context is given
  // ---------------------------------------------------------------------------------------------
  logic            skid_valid_q, skid_more_q, skid_pop, skid_push;
  req_t            skid_req_q, skid_more_req_q;
  assign req_ready_o = !skid_more_q && ready_o;
  assign skid_push   = req_valid_i && req_ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || drain) begin
      skid_valid_q <= 1'b0;
      skid_more_q  <= 1'b0;
    end else if (skid_pop || !skid_valid_q) begin
      skid_valid_q <= skid_more_q || skid_push;
      skid_more_q  <= 1'b0;
    end else if (skid_push) begin
      skid_more_q <= 1'b1;
    end
  end
  logic [PartW-1:0] skid_part_q, skid_more_part_q, req_part;
  assign req_part = (Parts > 1) ? pd_part(req_i.pd, isolation_i) : '0;
  always_ff @(posedge clk_i) begin
    if (skid_push) begin
      skid_more_req_q  <= req_i;
      skid_more_part_q <= req_part;
    end
    if (skid_pop || !skid_valid_q) begin
      skid_req_q  <= skid_more_q ? skid_more_req_q : req_i;
      skid_part_q <= skid_more_q ? skid_more_part_q : req_part;
    end
  end

  // Free contexts: handed out once in ascending order, then in the order they were freed.
  logic [1:0]      epoch_empty;
  logic            free_valid, free_room, free_pop, free_push, free_many_q, ext_go;
  logic [CtxW-1:0] free_ctx;
  logic            next_valid_q, next_take;
  logic [CtxW-1:0] next_ctx_q;
  logic [CtxW:0]   fresh_q, free_cnt;
  tpt_fifo #(.Width(CtxW), .Depth(NumCtx), .FallThrough(1'b1)) u_free (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(free_push), .wready_o(free_room), .wdata_i(end_ctx),
    .rvalid_o(free_valid), .rready_i(free_pop), .rdata_o(free_ctx), .count_o(free_cnt)
  );
  logic fresh;
  assign fresh    = !fresh_q[CtxW];
  // the next one stands ready in a register
  assign next_take = skid_pop || ext_go;
  assign free_pop  = (next_take || !next_valid_q) && !fresh && free_valid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fresh_q      <= '0;
      next_valid_q <= 1'b0;
    end else if (next_take || !next_valid_q) begin
      next_valid_q <= fresh || free_valid;
      if (fresh) fresh_q <= fresh_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (next_take || !next_valid_q) next_ctx_q <= fresh ? fresh_q[CtxW-1:0] : free_ctx;
  end
  logic [CtxW:0] free_all;
  assign free_all = ((CtxW + 1)'(NumCtx) - fresh_q) + free_cnt + (CtxW + 1)'(next_valid_q);
  assign ctx_idle = free_all == (CtxW + 1)'(NumCtx);
  // enough for next chunks, as of a clock ago: one more may have been taken since
  always_ff @(posedge clk_i) begin
    if (!rst_ni) free_many_q <= 1'b0;
    else free_many_q <= free_all > (CtxW + 1)'(Reserve + 1);
  end
  assign idle_o   = ctx_idle && (&epoch_empty) && pipe_empty;

  // Contexts of each partition, and its share of them.
  logic            skid_may, ext_may;
  logic [CtxW-1:0] ext_src_q;   // chunk behind which another context is given
  if (Parts > 1) begin : g_shares
    logic [PartW-1:0]           part_mem [NumCtx];
    logic [PartW-1:0]           ext_part, end_part;
    localparam int unsigned CountW = CtxW + 2;
    logic [Parts-1:0][CountW-1:0] used_q, all;  // in contexts; with those that wait for one
    logic [CountW-1:0]            share;
    assign share    = CountW'(NumCtx) >> isolation_i.log_parts;
    assign ext_part = part_mem[ext_src_q];
    assign end_part = part_mem[end_ctx];
    always_ff @(posedge clk_i) begin
      if (skid_pop || ext_go) part_mem[next_ctx_q] <= skid_pop ? skid_part_q : ext_part;
    end
    for (genvar p = 0; p < Parts; p++) begin : g_part
      always_ff @(posedge clk_i) begin
        if (!rst_ni) used_q[p] <= '0;
        else begin
          used_q[p] <= used_q[p] + CountW'(skid_pop && skid_part_q == PartW'(p)) +
                       CountW'(ext_go && ext_part == PartW'(p)) -
                       CountW'(free_push && end_part == PartW'(p));
        end
      end
      assign all[p]    = used_q[p] + CountW'(skid_valid_q && skid_part_q == PartW'(p)) +
                         CountW'(skid_more_q && skid_more_part_q == PartW'(p));
      assign room_o[p] = all[p] < share;
      `TPT_ASSERT(Share_A, used_q[p] <= share)
    end
    assign skid_may = used_q[skid_part_q] < share;
    // one more is left for a request that comes in this clock
    assign ext_may  = (isolation_i.log_parts == 2'd0) || all[ext_part] + 1'b1 < share;
  end else begin : g_one_share
    assign skid_may = 1'b1;
    assign ext_may  = 1'b1;
    assign room_o   = '1;
    logic unused_parts;
    assign unused_parts = ^{skid_part_q, skid_more_part_q, isolation_i, req_part};
  end

  assign pop_part_o  = skid_part_q;
  assign pop_valid_o = skid_valid_q && next_valid_q && ready_o && enable_i && skid_may;
  assign pop_req_o   = skid_req_q;
  assign pop_ctx_o   = next_ctx_q;
  assign skid_pop    = pop_valid_o && pop_grant_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) starved_o <= 1'b0;
    else begin
      starved_o <= (skid_valid_q && ((!next_valid_q && !fresh && !free_valid) || !skid_may)) ||
                   drain;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Tags
  // ---------------------------------------------------------------------------------------------
  logic       t1_valid_q, t1_bit;
  logic [CtxW-1:0] t1_ctx_q;
  req_t       t1_req_q;
  logic       rsp_hand, rsp_nodone, rsp_abit;

  tpt_client_tags u_tags (
    .clk_i, .rst_ni,
    .clear_i      (tags_clear),
    .ready_o      (tags_ready),
    .acc_valid_i  (skid_pop),
    .acc_tag_i    (skid_req_q.tag),
    .epoch_i,
    .chk_busy_o   (pop_busy_o),
    .chk_bit_o    (t1_bit),
    .last_valid_i (rsp_hand && rsp_o.last && !rsp_nodone),
    .last_tag_i   (rsp_o.tag),
    .last_bit_i   (rsp_abit),
    .done_valid_i (done_valid_i && done_ready_o),
    .done_tag_i   (done_i.tag),
    .ev_bad_done_o,
    .empty_o      (epoch_empty)
  );
  assign done_ready_o  = ready_o;
  assign old_empty_o   = epoch_empty[!epoch_i];
  assign ev_tag_busy_o = pop_busy_o;
  assign ev_request_o  = skid_pop;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) t1_valid_q <= 1'b0;
    else t1_valid_q <= skid_pop;
  end
  always_ff @(posedge clk_i) begin
    t1_ctx_q <= next_ctx_q;
    t1_req_q <= skid_req_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Streams: a linked list of contexts each
  // ---------------------------------------------------------------------------------------------
  // A stream: the chunk at its head, the request behind the head one, the last request, the last
  // chunk begun of the head request, and whether that request has ended by a fault.
  logic [NumStreams-1:0]           str_any_q, str_two_q, str_kill_q;
  logic [NumStreams-1:0][CtxW-1:0] str_head_q, str_next_q, str_tail_q, str_end_q;
  logic [CtxW-1:0]                 next_mem [NumCtx];   // request behind this one
  logic [NumCtx-1:0]               next_any_q;
  logic [CtxW-1:0]                 succ_mem [NumCtx];   // chunk behind this one
  logic [NumCtx-1:0]               succ_any_q;
  logic [NumCtx-1:0]               more_q;    // begun, goes on, next chunk not yet asked for
  logic [NumCtx-1:0]               begun_q;   // its walk has begun
  logic [StrW-1:0]                 pop_str;
  logic                            pop_last;  // the request at the head of cs_q ends
  assign pop_str = skid_req_q.stream[StrW-1:0];

  // ---------------------------------------------------------------------------------------------
  // Readiness of contexts
  // ---------------------------------------------------------------------------------------------
  logic [NumCtx-1:0]  rdy_q, direct_q;
  logic [LaneW-1:0]   lane_mem [NumCtx];
  logic [5:0]         str_fsyn [NumStreams];  // of the request that was cut

  // What the sequencer needs to know of a chunk, from the lane that brought it.
  typedef struct packed {
    logic             fin;      // last chunk of the request
    logic             tfirst;   // the fault is the first beat of the request
    logic [4:0]       syndrome;
    logic             one;      // one beat: `nb` is 0, without a look at it
    logic [LineLog:0] nb;       // beats - 1
  } info_t;
  // Read when a context is picked: what the sequencer knows of it does not change any more.
  typedef struct packed {
    logic [CtxW-1:0]  ctx;
    logic [LaneW-1:0] lane;
    logic             direct;   // no chunk: a syndrome from the check
    logic [4:0]       dsyn;
    info_t            info;
  } head_t;
  logic  [CtxW-1:0]       cur_next, oth_ctx;   // context behind the current one, of another stream
  head_t                  cont_head, oth_head;
  info_t [Lanes-1:0]      cont_info, oth_info;
  logic  [Lanes-1:0][4:0] cont_dsyn, oth_dsyn;
  for (genvar l = 0; l < Lanes; l++) begin : g_info
    info_t      info_mem [NumCtx];
    logic [4:0] dsyn_mem [NumCtx];
    always_ff @(posedge clk_i) begin
      if (chk_valid_i[l]) begin
        info_mem[chk_ctx_i[l]] <= '{
            fin: chk_final_i[l], tfirst: chk_first_i[l] && chk_good_i[l] == '0,
            syndrome: chk_syndrome_i[l],
            one: chk_good_i[l] + (LineLog + 1)'(chk_fault_i[l]) == (LineLog + 1)'(1),
            nb: chk_good_i[l] + (LineLog + 1)'(chk_fault_i[l]) - 1'b1};
      end
      if (dir_valid_i[l]) dsyn_mem[dir_ctx_i[l]] <= dir_syndrome_i[l];
    end
    assign cont_info[l] = info_mem[cur_next];
    assign cont_dsyn[l] = dsyn_mem[cur_next];
    assign oth_info[l]  = info_mem[oth_ctx];
    assign oth_dsyn[l]  = dsyn_mem[oth_ctx];
  end
  always_comb begin
    cont_head.ctx    = cur_next;
    cont_head.lane   = (Lanes > 1) ? lane_mem[cur_next] : '0;
    cont_head.direct = direct_q[cur_next];
    cont_head.dsyn   = cont_dsyn[cont_head.lane];
    cont_head.info   = cont_info[cont_head.lane];
    oth_head.ctx     = oth_ctx;
    oth_head.lane    = (Lanes > 1) ? lane_mem[oth_ctx] : '0;
    oth_head.direct  = direct_q[oth_ctx];
    oth_head.dsyn    = oth_dsyn[oth_head.lane];
    oth_head.info    = oth_info[oth_head.lane];
  end

  // ---------------------------------------------------------------------------------------------
  // S0: sequencer
  // ---------------------------------------------------------------------------------------------
  // The chunk that hands out beats, and what follows of it.
  head_t            cur_head_q;
  logic             cur_kill_q;   // the request was cut before: nothing but its last beat
  logic             cur_fin_q;    // last chunk of the request
  logic             cur_succ_q;   // there is a chunk behind it
  logic             cur_begun_q;  // whose walk has begun, unless
  logic             cur_new_q;    // that was told of another chunk
  logic             cur_end_q;    // at its last beat
  logic [LineLog:0] cur_nb_q;     // beats - 1

  logic windows_q;
  always_ff @(posedge clk_i) windows_q <= (NumWindows != 0) && (window_enable_i != '0);

  // A chunk straight from a walker: the whole answer to the request at the head of its stream.
  logic                       fast, x6_valid_q;
  logic                       x6_none_q;    // !x6_valid_q: a wire of its own, X6's is a long one
  logic [LaneW-1:0]           fast_lane;
  logic [Lanes-1:0]           fast_any, fast_head_q, fast_clear;
  logic [Lanes-1:0][StrW-1:0] fast_str_q;
  who_t [Lanes-1:0]           pre_who;      // of the request whose chunk comes next
  for (genvar l = 0; l < Lanes; l++) begin : g_fast
    logic [StrW-1:0] pre_str;
    assign pre_str = pre_who[l].stream[StrW-1:0];
    always_ff @(posedge clk_i) begin
      // it stays the head until it has been answered
      fast_head_q[l] <= str_any_q[pre_str] && !str_kill_q[pre_str] &&
                        str_head_q[pre_str] == pre_ctx_i[l];
      fast_str_q[l]  <= pre_str;
    end
    assign fast_any[l] = chk_valid_i[l] && commit_valid_i[l] && chk_first_i[l] &&
                         chk_final_i[l] && !chk_fault_i[l] &&
                         chk_good_i[l] == (LineLog + 1)'(1) && fast_head_q[l] && fast_clear[l];
  end
  always_comb begin
    fast_lane = '0;
    for (int l = int'(Lanes) - 1; l >= 0; l--) begin
      if (fast_any[l]) fast_lane = LaneW'(l);
    end
  end
  // Not while there are host windows: they are looked at in X5.
  assign fast = (|fast_any) && !act_q && x6_none_q && credit_ok_q && !windows_q;

  // The context that hands out beats: of the sequencer, or straight from the walker.
  assign end_ctx = act_q ? cur_q : chk_ctx_i[fast_lane];
  assign end_str = act_q ? cs_q : fast_str_q[fast_lane];

  logic             cur_fin, cur_succ, cur_end, cur_hold, cut, issue, end_chunk, in_place;
  logic             cur_out;
  assign cur_succ  = act_q && cur_succ_q;
  assign cur_fin   = cur_fin_q;
  assign cur_end   = cur_end_q;
  // A context keeps its place until the walk of the chunk behind it has begun: the walker takes
  // what comes next from the record of this context.
  assign cur_hold  = cur_succ && cur_end && !(cur_begun_q && !cur_new_q);
  // The last beat has to wait for chunks behind: it leaves in place of the last of them.
  assign cut       = act_q && cur_fin && cur_succ && cur_end && !cur_hold;
  assign issue     = act_q && !(cur_fin && cur_succ && cur_end) && !cur_hold && credit_ok_q;
  // the chunk that hands out beats ends
  assign cur_out   = act_q && cur_end && !cur_hold && ((cur_succ_q && cur_fin) || credit_ok_q);
  assign end_chunk = cur_out || fast;
  assign pop_last  = fast || (cur_out && cur_fin && !cur_succ_q);
  assign in_place  = cur_out && !cur_fin && !cur_succ_q;
  assign free_push = end_chunk && !in_place;

  always_ff @(posedge clk_i) begin
    if (cut && !cur_kill_q) str_fsyn[cs_q] <= {cur_head_q.info.tfirst, cur_head_q.info.syndrome};
  end

  // Another context for the next chunk of a long request at the head of a stream: one stream per
  // clock is looked at.
  logic [StrW-1:0] ext_pick_q, ext_str_q;   // of the clock before, and of this one
  logic            ext_live_q;              // the stream had a request a clock ago
  // Not behind the chunk that hands out beats, nor behind one that may end the request, nor while
  // one may go on in place.
  assign ext_go  = ext_live_q && str_any_q[ext_str_q] && !str_kill_q[ext_str_q] &&
                   more_q[ext_src_q] && ready_o &&
                   next_valid_q && free_many_q && !skid_pop && ext_may &&
                   !(cs_one_q[ext_str_q] && (!cur_succ_q || cur_fin)) &&
                   !(act_q && cur_end && !cur_fin && !cur_succ_q);
  logic [CtxW-1:0]  adv_src;
  logic [LaneW-1:0] adv_lane;
  assign adv_src  = in_place ? cur_q : ext_src_q;
  assign adv_lane = (Lanes > 1) ? lane_mem[adv_src] : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) adv_valid_o <= 1'b0;
    else adv_valid_o <= in_place || ext_go;
  end
  always_ff @(posedge clk_i) begin
    adv_ctx_o  <= in_place ? cur_q : next_ctx_q;
    adv_src_o  <= adv_src;
    adv_lane_o <= adv_lane;
    if (skid_pop || ext_go) lane_mem[next_ctx_q] <= skid_pop ? pop_lane_i : adv_lane;
  end

  // Streams whose head request goes on, as of a clock ago; the search for one of them.
  logic [NumStreams-1:0] ext_want_q, unused_ext_gnt;
  logic                  ext_any;
  logic [StrW-1:0]       ext_str_d;
  for (genvar s = 0; s < NumStreams; s++) begin : g_ext
    always_ff @(posedge clk_i) begin
      ext_want_q[s] <= str_any_q[s] && !str_kill_q[s] && more_q[str_end_q[s]];
    end
  end
  tpt_rr_arb #(.N(NumStreams)) u_ext_arb (
    .clk_i, .rst_ni,
    .req_i (ext_want_q),
    .take_i(1'b1),
    .any_o (ext_any),
    .gnt_o (unused_ext_gnt),
    .idx_o (ext_str_d)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ext_pick_q <= '0;
      ext_str_q  <= '0;
    end else begin
      // else the same one: its next chunk may be begun soon; of an empty client the new one, so
      // that nobody can tell whose was the last
      if (ext_any) ext_pick_q <= ext_str_d;
      else if (skid_pop && str_any_q == '0) ext_pick_q <= pop_str;
      ext_str_q <= ext_pick_q;
    end
  end
  // If a chunk still has to have one behind it, that is as true as a clock ago; but the place of a
  // stream that was empty then holds what was left there.
  always_ff @(posedge clk_i) begin
    ext_src_q  <= str_end_q[ext_pick_q];
    ext_live_q <= rst_ni && str_any_q[ext_pick_q];
  end

  // Another stream whose head is ready, chosen a clock ahead from those that were so a clock ago:
  // it stays so until it is served.
  logic                  oth_any_q, oth_any, oth_load;
  logic [StrW-1:0]       oth_str_q, oth_str;
  logic [NumStreams-1:0] head_rdy_q, head_oth, oth_one;
  logic [NumStreams-1:0] oth_one_q;             // oth_str_q if any, one-hot
  for (genvar s = 0; s < NumStreams; s++) begin : g_head
    logic here;   // served now, or next
    assign here        = cs_one_q[s] || oth_one_q[s];
    assign head_oth[s] = head_rdy_q[s] && !here;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) head_rdy_q[s] <= 1'b0;
      else head_rdy_q[s] <= str_any_q[s] && rdy_q[str_head_q[s]] && !here;
    end
  end
  tpt_rr_arb #(.N(NumStreams)) u_oth_arb (
    .clk_i, .rst_ni,
    .req_i (head_oth),
    .take_i(!oth_any_q || oth_load),
    .any_o (oth_any),
    .gnt_o (oth_one),
    .idx_o (oth_str)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      oth_any_q <= 1'b0;
      oth_str_q <= '0;
      oth_one_q <= '0;
    end else if (!oth_any_q || oth_load) begin
      oth_any_q <= oth_any;
      oth_str_q <= oth_str;
      oth_one_q <= oth_one;
    end
  end
  assign oth_ctx = str_head_q[oth_str_q];

  // What comes behind the chunk that ends: the next chunk or the next request of the stream.
  logic            cont, go_on, cs_two_q, cs_last;
  logic [CtxW-1:0] cs_next_q;
  logic [CtxW-1:0] end_next;
  assign cur_next = cur_succ ? succ_mem[cur_q] : cs_next_q;
  assign cont     = (cur_succ || cs_two_q) && rdy_q[cur_next];
  assign end_next = act_q ? cur_next : str_next_q[end_str];
  assign go_on    = cur_out && (cur_fin || cur_succ_q) && cont &&
                    (burst_q != 4'(BurstMax) || !oth_any_q);
  assign oth_load = oth_any_q && !go_on && (cur_out || !act_q);

  always_ff @(posedge clk_i) begin
    // the context of a head request may be in other hands already, so its link is in str_next_q
    if (skid_pop && str_two_q[pop_str]) next_mem[str_tail_q[pop_str]] <= next_ctx_q;
    if (ext_go) succ_mem[ext_src_q] <= next_ctx_q;
  end

  // A new request behind the head request of its stream, which may end in the same clock.
  logic pop_behind;
  assign pop_behind = skid_pop && pop_last && end_str == pop_str;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      str_any_q  <= '0;
      str_two_q  <= '0;
      str_kill_q <= '0;
      str_head_q <= '0;
      str_next_q <= '0;
      str_tail_q <= '0;
      str_end_q  <= '0;
      next_any_q <= '0;
    end else begin
      if (end_chunk && !in_place) begin
        str_head_q[end_str] <= end_next;
        if (!cur_succ) begin
          // the request ends: the one behind it is the head, and has one behind it or not
          str_any_q[end_str]  <= str_two_q[end_str];
          str_end_q[end_str]  <= str_next_q[end_str];
          str_two_q[end_str]  <= str_two_q[end_str] && next_any_q[str_next_q[end_str]];
          str_next_q[end_str] <= next_mem[str_next_q[end_str]];
        end
        str_kill_q[end_str] <= cur_fin && cur_succ;
      end
      if (ext_go) str_end_q[ext_str_q] <= next_ctx_q;
      if (skid_pop) begin
        str_any_q[pop_str]   <= 1'b1;
        str_tail_q[pop_str]  <= next_ctx_q;
        next_any_q[next_ctx_q] <= 1'b0;
        if (!str_any_q[pop_str] || (pop_behind && !str_two_q[pop_str])) begin
          // alone in its stream
          str_head_q[pop_str] <= next_ctx_q;
          str_end_q[pop_str]  <= next_ctx_q;
          str_two_q[pop_str]  <= 1'b0;
        end else begin
          if (str_two_q[pop_str]) next_any_q[str_tail_q[pop_str]] <= 1'b1;
          if (!str_two_q[pop_str] ||
              (pop_behind && str_tail_q[pop_str] == str_next_q[pop_str])) begin
            // second in its stream
            str_two_q[pop_str]  <= 1'b1;
            str_next_q[pop_str] <= next_ctx_q;
          end
        end
      end
    end
  end

  // The request behind the head one of the stream that is served, once more: no choice among all
  // streams is in the way of the next chunk.
  logic            run_two, run_last;
  logic [CtxW-1:0] run_next;
  always_comb begin
    run_two  = cs_two_q;
    run_next = cs_next_q;
    if (go_on && !cur_succ) begin
      run_two  = next_any_q[cs_next_q];
      run_next = next_mem[cs_next_q];
    end
    // the one behind the head becomes the head; the new one is the only one behind it
    run_last = go_on && !cur_succ && cs_last;
    if (skid_pop && pop_str == cs_q && (!cs_two_q || run_last)) begin
      run_two  = 1'b1;
      run_next = next_ctx_q;
    end
    if (oth_load) begin
      run_two  = str_two_q[oth_str_q] || (skid_pop && pop_str == oth_str_q);
      run_next = str_two_q[oth_str_q] ? str_next_q[oth_str_q] : next_ctx_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cs_two_q  <= 1'b0;
      cs_next_q <= '0;
    end else begin
      cs_two_q  <= run_two;
      cs_next_q <= run_next;
    end
  end
  assign cs_last = str_tail_q[cs_q] == cs_next_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      succ_any_q <= '0;
      more_q     <= '0;
      begun_q    <= '0;
    end else begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (sub_valid_i[l]) begin
          more_q[sub_ctx_i[l]]  <= sub_more_i[l];
          begun_q[sub_ctx_i[l]] <= 1'b1;
        end
      end
      if (skid_pop || ext_go) begun_q[next_ctx_q] <= 1'b0;
      if (end_chunk) more_q[end_ctx] <= 1'b0;
      if (ext_go) begin
        more_q[ext_src_q]      <= 1'b0;
        succ_any_q[ext_src_q]  <= 1'b1;
        succ_any_q[next_ctx_q] <= 1'b0;
      end
      if (skid_pop) succ_any_q[next_ctx_q] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rdy_q    <= '0;
      direct_q <= '0;
    end else begin
      if (end_chunk) begin
        rdy_q[end_ctx]    <= 1'b0;
        direct_q[end_ctx] <= 1'b0;
      end
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (commit_valid_i[l] && !(fast && fast_lane == LaneW'(l))) rdy_q[commit_ctx_i[l]] <= 1'b1;
        if (dir_valid_i[l]) begin
          rdy_q[dir_ctx_i[l]]    <= 1'b1;
          direct_q[dir_ctx_i[l]] <= 1'b1;
        end
      end
    end
  end

  logic [4:0] credit_d;
  head_t      load_head;
  logic       load_kill;
  assign credit_d  = credit_q - 5'(issue || fast) + 5'(rsp_pop) + 5'(merged) + 5'(x6_drop);
  assign load_head = go_on ? cont_head : oth_head;
  assign load_kill = go_on ? cur_fin && cur_succ : str_kill_q[oth_str_q];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      act_q       <= 1'b0;
      cs_q        <= '0;
      cs_one_q    <= '0;
      beat_q      <= '0;
      burst_q     <= '0;
      credit_q    <= 5'(QueueDepth);
      credit_ok_q <= 1'b1;
    end else begin
      credit_q    <= credit_d;
      credit_ok_q <= credit_d != '0;
      if (issue && !cur_out) beat_q <= beat_q + 1'b1;
      if (cur_out || !act_q) begin
        beat_q <= '0;
        act_q  <= go_on || oth_load;
        if (!go_on) cs_one_q <= oth_load ? oth_one_q : '0;
        if (!go_on) burst_q <= '0;
        else if (burst_q != 4'(BurstMax)) burst_q <= burst_q + 1'b1;
        if (oth_load) cs_q <= oth_str_q;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cur_head_q <= '0;
      cur_kill_q <= 1'b0;
      cur_succ_q <= 1'b0;
      cur_fin_q  <= 1'b0;
      cur_end_q  <= 1'b0;
      cur_nb_q   <= '0;
    end else if (go_on || oth_load) begin
      cur_head_q <= load_head;
      cur_kill_q <= load_kill;
      cur_succ_q <= succ_any_q[load_head.ctx] || (ext_go && ext_src_q == load_head.ctx);
      cur_fin_q  <= load_head.direct || load_head.info.fin || load_kill || drain;
      cur_end_q  <= load_head.direct || load_head.info.one || load_kill;
      cur_nb_q   <= (load_head.direct || load_kill) ? '0 : load_head.info.nb;
    end else begin
      // in a client reset a long request ends with the chunk that it has
      cur_fin_q  <= cur_fin_q || drain;
      if (issue) cur_end_q <= beat_q + 1'b1 == cur_nb_q;
    end
  end
  assign cur_q = cur_head_q.ctx;
  // told a clock late, and anew for each chunk
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cur_begun_q <= 1'b0;
      cur_new_q   <= 1'b0;
    end else begin
      cur_begun_q <= begun_q[succ_mem[cur_q]];
      cur_new_q   <= go_on || oth_load;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // X1 .. X6: make the beat
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [LineEnt-1:0][FrameW-1:0] frame;
    logic [LineLog-1:0]             sel;
    logic [LineLog:0]               good;
    logic [4:0]                     syndrome;
    logic                           first;
    logic                           relaxed;
    logic [5:0]                     log_page;
    logic [MaxLogPage-1:0]          off;
    logic [31:0]                    rem;
  } chunk_t;
  typedef struct packed {
    logic             valid;
    logic [LineLog:0] beat;
    logic             direct;
    logic [4:0]       dsyn;
    logic             last;
    logic [StrW-1:0]  str;
    logic             cut;      // no beat
    logic             tail;     // last beat of a request that was cut
    logic             tfirst;   // which is also its first
    logic [LaneW-1:0] lane;
  } op_t;
  typedef struct packed {
    rsp_t rsp;
    logic abit;
    logic nodone;
  } beat_t;

  op_t    x1_q, x2_q;
  chunk_t [Lanes-1:0] x2_chunks;
  chunk_t x2_chunk;
  who_t   x2_who;

  for (genvar l = 0; l < Lanes; l++) begin : g_chunk
    tpt_ram_1r1w #(.Width($bits(chunk_t)), .Depth(NumCtx), .OutReg(1'b1)) u_chunk (
      .clk_i,
      .we_i   (chk_valid_i[l]),
      .waddr_i(chk_ctx_i[l]),
      .wdata_i({chk_frame_i[l], chk_sel_i[l], chk_good_i[l], chk_syndrome_i[l], chk_first_i[l],
                chk_relaxed_i[l], chk_log_page_i[l], chk_off_i[l], chk_rem_i[l]}),
      .raddr_i(cur_q),
      .rdata_o(x2_chunks[l])
    );
  end
  assign x2_chunk = x2_chunks[x2_q.lane];
  tpt_ram_1r1w #(.Width($bits(who_t)), .Depth(NumCtx), .OutReg(1'b1)) u_who (
    .clk_i,
    .we_i   (t1_valid_q),
    .waddr_i(t1_ctx_q),
    .wdata_i({t1_req_q.tag, t1_req_q.stream, t1_bit, pop_busy_o}),
    .raddr_i(cur_q),
    .rdata_o(x2_who)
  );

  // X3: entry, remaining bytes and limit of the page
  logic                  x3_valid_q, x3_addr_q, x3_relaxed_q;
  logic [4:0]            x3_syn_q;
  logic                  x3_first_q, x3_last_q;
  logic [StrW-1:0]       x3_str_q;
  who_t                  x3_who_q;
  // X4: lengths and ends of the segment; X5: host windows; X6: the beat
  typedef struct packed {
    logic            addr;      // there is an address
    logic            relaxed;
    logic [4:0]      syn;
    logic            first;
    logic            last;
    who_t            who;
    logic [StrW-1:0] str;
  } seg_t;
  seg_t                  x4_q, x5_q, x6_q;
  logic                  x4_valid_q, x5_valid_q;
  logic [63:0]           x4_pa, x5_pa_q, x6_pa_q;
  logic [31:0]           x4_len, x5_len_q, x6_len_q;
  logic [FrameW-1:0]     x4_page, x5_page_q;           // of the last byte
  logic [FrameW:0]       x4_next, x5_next_q, x6_next_q;  // frame behind the page
  beat_t                 x6_beat;

  // Tag and stream of the request are kept by its first context; chunks in other contexts take them
  // from a copy per stream.
  who_t x2_who_now;
  logic x2_lead;
  who_t str_who [NumStreams];
  assign x2_lead    = !x2_q.tail && (x2_q.direct || x2_chunk.first);
  assign x2_who_now = x2_lead ? x2_who : str_who[x2_q.str];
  always_ff @(posedge clk_i) begin
    if ((x2_q.valid || x2_q.cut) && x2_lead) str_who[x2_q.str] <= x2_who;
  end

  logic x2_good;
  assign x2_good = !x2_q.direct && x2_q.beat < x2_chunk.good;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      x1_q       <= '0;
      x2_q       <= '0;
      x3_valid_q <= 1'b0;
      x4_valid_q <= 1'b0;
      x5_valid_q <= 1'b0;
      x6_valid_q <= 1'b0;
      x6_none_q  <= 1'b1;
    end else begin
      x1_q       <= '{valid: issue, beat: beat_q, direct: cur_head_q.direct || cur_kill_q,
                      dsyn: cur_kill_q ? str_fsyn[cs_q][4:0] : cur_head_q.dsyn,
                      last: end_chunk && cur_fin, str: cs_q, cut: cut && !cur_kill_q,
                      tail: cur_kill_q, tfirst: str_fsyn[cs_q][5], lane: cur_head_q.lane};
      x2_q       <= x1_q;
      x3_valid_q <= x2_q.valid;
      x4_valid_q <= x3_valid_q;
      x5_valid_q <= x4_valid_q;
      x6_valid_q <= x5_valid_q;
      x6_none_q  <= !x5_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    x3_addr_q  <= x2_good;
    x3_syn_q   <= x2_q.direct ? x2_q.dsyn : (x2_good ? SynOk : x2_chunk.syndrome);
    x3_first_q <= x2_q.direct ? (!x2_q.tail || x2_q.tfirst)
                              : (x2_chunk.first && x2_q.beat == '0);
    x3_last_q  <= x2_q.last;
    x3_str_q   <= x2_q.str;
    x3_who_q   <= x2_who_now;
    x3_relaxed_q <= x2_chunk.relaxed;

    x4_q <= '{addr: x3_addr_q, relaxed: x3_relaxed_q, syn: x3_syn_q, first: x3_first_q,
              last: x3_last_q, who: x3_who_q, str: x3_str_q};
    x5_q <= x4_q;
    x6_q <= x5_q;
    x5_pa_q   <= x4_pa;
    x5_len_q  <= x4_len;
    x5_page_q <= x4_page;
    x5_next_q <= x4_next;
    x6_pa_q   <= x5_pa_q;
    x6_len_q  <= x5_len_q;
    x6_next_q <= x5_next_q;
  end

  // X2 to X4: the segment
  tpt_page_split #(.PageW(LineLog + 1), .TellLast(NumWindows != 0)) u_split (
    .clk_i,
    .frame_i   (x2_chunk.frame[x2_chunk.sel + x2_q.beat[LineLog-1:0]]),
    .page_i    (x2_q.beat),
    .log_page_i(x2_chunk.log_page),
    .off_i     (x2_chunk.off),
    .rem_i     (x2_chunk.rem),
    .pa_o      (x4_pa),
    .len_o     (x4_len),
    .last_o    (x4_page),
    .next_o    (x4_next)
  );

  // Host windows: does the segment of X5 lie in one of them? Known in X6.
  logic x6_ok_q;
  if (NumWindows != 0) begin : g_hostwin
    logic x5_ok;
    tpt_hostwin #(.NumWindows(NumWindows)) u_made (
      .enable_i(window_enable_i),
      .base_i  (window_base_i),
      .limit_i (window_limit_i),
      .first_i (x5_pa_q[63:12]),
      .last_i  (x5_page_q),
      .ok_o    (x5_ok)
    );
    always_ff @(posedge clk_i) x6_ok_q <= x5_ok;
  end else begin : g_no_hostwin
    assign x6_ok_q = 1'b1;
    logic unused_windows;
    assign unused_windows = ^{window_enable_i, window_base_i, window_limit_i, x5_page_q};
  end

  // Streams whose request has met an address outside, until its last beat.
  logic [NumStreams-1:0] out_q, out_first_q;
  logic                  x6_out, x6_bad, x6_again;
  logic                  x6_was_q, x6_was_first_q;  // of the stream of X6, read a clock ahead
  assign x6_out   = x6_q.addr && !x6_ok_q;
  assign x6_bad   = x6_out || x6_was_q;
  assign x6_drop  = x6_valid_q && x6_bad && !x6_q.last;
  assign x6_again = x6_valid_q && x6_q.str == x5_q.str;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q    <= '0;
      x6_was_q <= 1'b0;
    end else begin
      if (x6_valid_q && x6_bad) out_q[x6_q.str] <= !x6_q.last;
      x6_was_q <= (x6_again && x6_bad) ? !x6_q.last : out_q[x5_q.str];
    end
  end
  always_ff @(posedge clk_i) begin
    if (x6_valid_q && x6_out && !x6_was_q) out_first_q[x6_q.str] <= x6_q.first;
    x6_was_first_q <= (x6_again && x6_out && !x6_was_q) ? x6_q.first : out_first_q[x5_q.str];
  end
  `TPT_ASSERT(OutIsKnown_A, !x6_valid_q || x6_was_q == out_q[x6_q.str])

  always_comb begin
    x6_beat              = '0;
    x6_beat.rsp.tag      = x6_q.who.tag;
    x6_beat.rsp.stream   = x6_q.who.stream;
    x6_beat.rsp.syndrome = x6_bad ? SynHostWin : x6_q.syn;
    x6_beat.rsp.first    = x6_was_q ? x6_was_first_q : x6_q.first;
    x6_beat.rsp.last     = x6_q.last;
    x6_beat.abit         = x6_q.who.abit;
    x6_beat.nodone       = x6_q.who.nodone;
    if (x6_q.addr && !x6_bad) begin
      x6_beat.rsp.relaxed = x6_q.relaxed;
      x6_beat.rsp.pa  = x6_pa_q;
      x6_beat.rsp.len = x6_len_q;
    end
  end

  // Straight from the walker: one page, so the segment is the request.
  who_t [Lanes-1:0] fast_who_q;
  for (genvar l = 0; l < Lanes; l++) begin : g_fast_who
    who_t who_mem [NumCtx];
    always_ff @(posedge clk_i) begin
      if (t1_valid_q) begin
        who_mem[t1_ctx_q] <= '{tag: t1_req_q.tag, stream: t1_req_q.stream, abit: t1_bit,
                               nodone: pop_busy_o};
      end
    end
    assign pre_who[l] = who_mem[pre_ctx_i[l]];
    always_ff @(posedge clk_i) fast_who_q[l] <= pre_who[l];
    // no beat of this stream is being made
    assign fast_clear[l] = !((x1_q.valid || x1_q.cut) && x1_q.str == fast_str_q[l]) &&
                           !((x2_q.valid || x2_q.cut) && x2_q.str == fast_str_q[l]) &&
                           !(x3_valid_q && x3_str_q == fast_str_q[l]) &&
                           !(x4_valid_q && x4_q.str == fast_str_q[l]) &&
                           !(x5_valid_q && x5_q.str == fast_str_q[l]);
  end

  logic  new_valid;
  beat_t new_beat;
  assign new_valid = (x6_valid_q && !x6_drop) || fast;
  always_comb begin
    new_beat = x6_beat;
    if (!x6_valid_q) begin
      new_beat              = '0;
      new_beat.rsp.tag      = fast_who_q[fast_lane].tag;
      new_beat.rsp.stream   = fast_who_q[fast_lane].stream;
      new_beat.rsp.syndrome = SynOk;
      new_beat.rsp.first    = 1'b1;
      new_beat.rsp.last     = 1'b1;
      new_beat.rsp.relaxed  = chk_relaxed_i[fast_lane];
      new_beat.rsp.pa       = {chk_frame_i[fast_lane][chk_sel_i[fast_lane]], 12'b0} |
                              64'(chk_off_i[fast_lane]);
      new_beat.rsp.len      = chk_rem_i[fast_lane];
      new_beat.abit         = fast_who_q[fast_lane].abit;
      new_beat.nodone       = fast_who_q[fast_lane].nodone;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Merging: a segment waits for the next beat. If that is the page behind it, for the same
  // request, both are one; else it leaves. The last one of a request does not wait.
  // ---------------------------------------------------------------------------------------------
  logic  put_valid, merge_idle;
  beat_t put_beat;
  if (Merge) begin : g_merge
    logic              n_valid_q, m_valid_q, m_wait;
    beat_t             n_beat_q, m_beat_q;
    logic [FrameW:0]   last_next_q;  // frame behind the segment, or the end
    logic              n_same_q;     // n goes on where the one before it ended
    logic              join_up, end_last;
    logic [TagW-1:0]    end_tag;
    logic [StreamW-1:0] end_stream;
    assign join_up = n_valid_q && m_valid_q && n_same_q;
    // of the newest beat
    assign end_last   = n_valid_q ? n_beat_q.rsp.last : m_beat_q.rsp.last;
    assign end_tag    = n_valid_q ? n_beat_q.rsp.tag : m_beat_q.rsp.tag;
    assign end_stream = n_valid_q ? n_beat_q.rsp.stream : m_beat_q.rsp.stream;
    assign m_wait  = !n_valid_q && !m_beat_q.rsp.last;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        n_valid_q <= 1'b0;
        m_valid_q <= 1'b0;
      end else begin
        n_valid_q <= new_valid && merge_i;
        if (n_valid_q) m_valid_q <= 1'b1;
        else if (!m_wait) m_valid_q <= 1'b0;
      end
    end
    always_ff @(posedge clk_i) begin
      n_beat_q <= new_beat;
      // what comes straight from the walker is the first beat of its request
      n_same_q <= x6_valid_q && !x6_bad && !x6_q.first && x6_q.syn == SynOk && !end_last &&
                  x6_q.who.stream == end_stream && x6_q.who.tag == end_tag &&
                  {1'b0, x6_pa_q[63:12]} == last_next_q;
      // the pages of a request are of one size, and all but the last one are used to their end
      if (new_valid) last_next_q <= x6_next_q;
      if (n_valid_q) begin
        m_beat_q <= n_beat_q;
        if (join_up) begin
          m_beat_q           <= m_beat_q;
          m_beat_q.rsp.last  <= n_beat_q.rsp.last;
          m_beat_q.rsp.len   <= m_beat_q.rsp.len + n_beat_q.rsp.len;
        end
      end
    end
    assign merged     = join_up;
    assign put_valid  = merge_i ? m_valid_q && !join_up && !m_wait : new_valid;
    assign put_beat   = merge_i ? m_beat_q : new_beat;
    assign merge_idle = !n_valid_q && !m_valid_q;
    `TPT_ASSERT(NoOldBeat_A, merge_i || merge_idle)
  end else begin : g_no_merge
    assign merged     = 1'b0;
    assign put_valid  = new_valid;
    assign put_beat   = new_beat;
    assign merge_idle = 1'b1;
    logic unused_merge;
    assign unused_merge = ^{merge_i, x6_next_q};
  end

  // ---------------------------------------------------------------------------------------------
  // Response queue
  // ---------------------------------------------------------------------------------------------
  logic                       rq_valid, rq_room;
  logic [$clog2(QueueDepth):0] rq_cnt;
  beat_t                      rq_beat;
  tpt_fifo #(.Width($bits(beat_t)), .Depth(QueueDepth)) u_rspq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(put_valid), .wready_o(rq_room), .wdata_i(put_beat),
    .rvalid_o(rq_valid), .rready_i(rsp_pop), .rdata_o(rq_beat), .count_o(rq_cnt)
  );
  assign rsp_valid_o = rq_valid && !drain;
  assign rsp_o       = rq_beat.rsp;
  assign rsp_abit    = rq_beat.abit;
  assign rsp_nodone  = rq_beat.nodone;
  assign rsp_hand    = rsp_valid_o && rsp_ready_i;
  assign rsp_pop     = rq_valid && (rsp_ready_i || drain);
  assign pipe_empty  = !act_q && !x1_q.valid && !x2_q.valid && !x3_valid_q && !x4_valid_q &&
                       !x5_valid_q && !x6_valid_q &&
                       merge_idle && !rq_valid && !t1_valid_q;

  assign ev_segment_o = put_valid && put_beat.rsp.len != '0;
  assign ev_refused_o = put_valid && put_beat.rsp.syndrome != SynOk;
  assign ev_refusal_o = '{tag: put_beat.rsp.tag, stream: put_beat.rsp.stream,
                          syndrome: put_beat.rsp.syndrome};

  `TPT_ASSERT(FreeRoom_A, !free_push || free_room)
  `TPT_ASSERT(QueueRoom_A, !put_valid || rq_room)
  `TPT_ASSERT(CreditMatches_A, credit_q <= 5'(QueueDepth))
  `TPT_ASSERT(CurIsHead_A, !act_q || (str_any_q[cs_q] && str_head_q[cs_q] == cur_q))
  `TPT_ASSERT(FastIsHead_A, !fast || (str_any_q[end_str] && !rdy_q[end_ctx] &&
              !succ_any_q[end_ctx] && str_head_q[end_str] == end_ctx))
  `TPT_ASSERT(FastIsOnePage_A, !fast || (commit_ctx_i[fast_lane] == end_ctx &&
              new_beat.rsp.len != '0 && (chk_log_page_i[fast_lane][5] ||
              64'(chk_off_i[fast_lane]) + 64'(new_beat.rsp.len) <=
              (64'd1 << chk_log_page_i[fast_lane][4:0]))))
  `TPT_ASSERT(CurIsReady_A, !act_q || rdy_q[cur_q])
  `TPT_ASSERT(CurNext_A, !act_q || (cs_two_q == str_two_q[cs_q] &&
              (!cs_two_q || cs_next_q == str_next_q[cs_q])))
  `TPT_ASSERT(CurEnd_A, !act_q || cur_end_q == (beat_q == cur_nb_q))
  `TPT_ASSERT(CurOut_A, cur_out == (cut || (issue && cur_end)))
  `TPT_ASSERT(CurSucc_A, !act_q || cur_succ_q == succ_any_q[cur_q])
  `TPT_ASSERT(ExtSource_A, !ext_go || ext_src_q == str_end_q[ext_str_q])
  `TPT_ASSERT(ExtAlone_A, !ext_go || !in_place)
  `TPT_ASSERT(ExtNotEnded_A, !ext_go || !end_chunk || end_str != ext_str_q ||
              (cur_succ && !cur_fin))
  `TPT_ASSERT(CurKill_A, !act_q || cur_kill_q == str_kill_q[cs_q])
  `TPT_ASSERT(ServedOneHot_A, cs_one_q == (act_q ? NumStreams'(1) << cs_q : '0) &&
              oth_one_q == (oth_any_q ? NumStreams'(1) << oth_str_q : '0))
  `TPT_ASSERT(CreditOk_A, credit_ok_q == (credit_q != '0))
  `TPT_ASSERT(OtherIsReady_A, !oth_any_q || (str_any_q[oth_str_q] && rdy_q[oth_ctx] &&
                                             !(act_q && cs_q == oth_str_q)))
  `TPT_ASSERT(KillHasMore_A, !(str_kill_q[cs_q] && act_q && cur_head_q.direct))
  `TPT_ASSERT(KeptForNext_A, !(free_push && cur_succ) || begun_q[succ_mem[end_ctx]])
  `TPT_ASSERT(InPlaceBegun_A, !in_place || more_q[cur_q])
  for (genvar l = 0; l < Lanes; l++) begin : g_lane_asserts
    `TPT_ASSERT(CommitOnce_A, !commit_valid_i[l] || !rdy_q[commit_ctx_i[l]])
    `TPT_ASSERT(DirectOnce_A, !dir_valid_i[l] || !rdy_q[dir_ctx_i[l]])
  end
  // an address never goes with a syndrome, and never without a length
  `TPT_ASSERT(NoAddressOnError_A, !x6_valid_q || x6_q.syn == SynOk || !x6_q.addr)
  `TPT_ASSERT(NoEmptySegment_A, !(x6_valid_q && x6_q.addr && !x6_bad) || x6_beat.rsp.len != '0)
  `TPT_ASSERT(BeatInLine_A, !x2_q.valid || x2_q.direct ||
              (32'(x2_q.beat) <= 32'(x2_chunk.good)))

  logic unused_ok;
  assign unused_ok = ^{rq_cnt, t1_req_q};

endmodule
