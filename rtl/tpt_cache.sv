// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Non-blocking, set-associative cache of table lines, used for the MPT and for the MTT.
///
/// A look-up belongs to a context. It is a *pass* through a pipeline of five stages, one pass per
/// clock, that never stalls:
///
///     P0            P1             P2              P3              P4
///     pick pass ->  tag RAM     -> payload RAM  -> tag compare, -> act: hit, join, miss, fill ...
///                   address        address         data RAM        data and payload out
///                                                  address, victim
///
/// A look-up that is submitted while no other pass waits goes straight into P1; its payload may be
/// given one clock later.
///
/// * hit: result of kind HIT with the line.
/// * the line is on its way: the context joins the list of the context that asked for it and
///   sleeps; no second read is made. The fill wakes the list.
/// * miss: a way is reserved (PEND, owner = context) and one read is asked for. If the look-up is
///   a probe and the user does not know where to read (`p4_known_i`), nothing is reserved and the
///   result is MISS. If every way of the set is reserved, the pass is repeated.
/// * fill: the data go straight to the reserved way; the owner then makes a FILL pass that ends
///   with its result in any case, so there is always progress, however small the cache. A fill of
///   one beat needs no tags and brings its data: it takes the place of a pass from P2 on, as soon
///   as there is none; only if that takes too long it makes a pass.
///
/// The victim of a miss is an empty way, else one that was not used since its set was last cleared
/// of such marks, else any that is not reserved; the search begins behind the way taken last. Lines
/// that are used all the time are marked again at once, so a stream of misses does not evict them.
///
/// A pass that read its tags before an older pass changed the same set is stale and is repeated.
///
/// The cache can be divided into partitions (`Parts`): the top bits of a set number are then the
/// partition, and the user sees to it. A pass changes nothing outside of its own set, and the
/// search for a victim has a place of its own in each quarter of the sets, so what one partition
/// does leaves no trace in another. An invalidation looks into every partition.
///
/// Invalidation of one key removes a stored line; a line that is on its way is poisoned: its data
/// are not used, not even by its owner, who reads again. A sweep removes all lines of one index
/// (or all lines).
///
/// Every queue has room for every context, so nothing here can overflow: the user must keep each
/// context in at most one place, which is asserted.
module tpt_cache #(
  /// Number of contexts, a power of two.
  parameter int unsigned NumCtx   = 16,
  /// Sets and ways, sets a power of two.
  parameter int unsigned Sets     = 32,
  parameter int unsigned Ways     = 2,
  /// Width of the full key of a line; its top IndexW bits are matched by a sweep.
  parameter int unsigned KeyW     = 23,
  /// Width of the index part of the key.
  parameter int unsigned IndexW   = 23,
  /// Width of what travels with a look-up, and of what goes with its key.
  parameter int unsigned PayW     = 8,
  parameter int unsigned AuxW     = 1,
  /// Width of a line and the number of beats in which it is filled.
  parameter int unsigned DataW    = 512,
  parameter int unsigned Beats    = 1,
  /// Width of the user's error code of a fill.
  parameter int unsigned ErrW     = 2,
  /// Most partitions, 1 (none) or 4.
  parameter int unsigned Parts    = 1,
  localparam int unsigned CtxW  = $clog2(NumCtx),
  localparam int unsigned SetW  = $clog2(Sets),
  localparam int unsigned WayW  = (Ways > 1) ? $clog2(Ways) : 1,
  localparam int unsigned BeatW = DataW / Beats
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// The cache is empty and ready after reset.
  output logic             ready_o,

  // Submit a look-up of a context. Always accepted.
  input  logic             sub_valid_i,
  input  logic [CtxW-1:0]  sub_ctx_i,
  input  logic [SetW-1:0]  sub_set_i,
  input  logic [KeyW-1:0]  sub_key_i,
  input  logic [AuxW-1:0]  sub_aux_i,     // goes with the key to the user's logic beside P1
  // What travels with it: in the clock of the submission or the next one.
  input  logic             pay_valid_i,
  input  logic [CtxW-1:0]  pay_ctx_i,
  input  logic             pay_bypass_i,  // no look-up: result BYPASS
  input  logic             pay_probe_i,   // see p4_known_i
  input  logic [PayW-1:0]  pay_i,

  // The user's own look-up beside this one, stage by stage.
  output logic [AuxW-1:0]  p1_aux_o,
  output logic [KeyW-1:0]  p2_key_o,
  output logic [AuxW-1:0]  p2_aux_o,
  input  logic             p4_known_i,    // a probe that misses may reserve and read

  // Result of a look-up (kinds one-hot).
  output logic             res_valid_o,
  output logic [CtxW-1:0]  res_ctx_o,
  output logic             res_hit_o,
  output logic             res_fill_o,
  output logic             res_miss_o,    // probe only
  output logic             res_bypass_o,
  output logic             res_killed_o,  // the line was removed as asked
  output logic [ErrW-1:0]  res_err_o,     // FILL only: the user's error code
  output logic [KeyW-1:0]  res_key_o,
  output logic [PayW-1:0]  res_pay_o,
  output logic [DataW-1:0] res_data_o,    // HIT and FILL

  // Read of a line, to be made by the user. Always accepted.
  output logic             rd_valid_o,
  output logic [CtxW-1:0]  rd_ctx_o,
  output logic [PayW-1:0]  rd_pay_o,
  output logic             rd_probe_o,    // the look-up was a probe

  // Fill: data beats; `fdone` with the last one, or without any if there are none. With Beats = 1
  // `fill_pre_ctx_i` is `fill_ctx_i` one clock ahead.
  input  logic [CtxW-1:0]  fill_pre_ctx_i,
  input  logic [Beats-1:0] fill_we_i,
  input  logic [CtxW-1:0]  fill_ctx_i,
  input  logic [BeatW-1:0] fill_data_i,
  input  logic             fdone_valid_i,
  input  logic [CtxW-1:0]  fdone_ctx_i,
  input  logic             fdone_store_i,  // keep the line in the cache
  input  logic [ErrW-1:0]  fdone_err_i,

  // Remove the line that this context has just used (its payload is still in place).
  input  logic             kill_valid_i,
  input  logic [CtxW-1:0]  kill_ctx_i,

  // log2 of the partitions, 0 to log2(Parts). Constant while the cache is in use.
  input  logic [1:0]       log_parts_i,

  // Invalidate one key, in all partitions. Hold valid until done (one clock).
  input  logic             inv_valid_i,
  input  logic [SetW-1:0]  inv_set_i,
  input  logic [KeyW-1:0]  inv_key_i,
  output logic             inv_done_o,

  // Remove all lines of an index, or all lines. Hold valid until done (one clock).
  input  logic              sweep_valid_i,
  input  logic              sweep_all_i,
  input  logic [IndexW-1:0] sweep_index_i,
  output logic              sweep_done_o,

  // Events for counters.
  output logic             ev_hit_o,    // first pass of a look-up was a hit
  output logic             ev_miss_o,   // a read was asked for
  output logic             ev_evict_o   // a stored line was replaced
);

  if (NumCtx < 2 || (NumCtx & (NumCtx - 1)) != 0) begin : g_bad_ctx
    $fatal(1, "tpt_cache: NumCtx must be a power of two, at least 2");
  end
  if (Sets < 2 || (Sets & (Sets - 1)) != 0) begin : g_bad_sets
    $fatal(1, "tpt_cache: Sets must be a power of two, at least 2");
  end
  if (DataW % Beats != 0) begin : g_bad_beats
    $fatal(1, "tpt_cache: DataW must be a multiple of Beats");
  end
  if (Parts != 1 && (Parts != 4 || Sets < 8)) begin : g_bad_parts
    $fatal(1, "tpt_cache: Parts must be 1, or 4 with at least 8 sets");
  end
  if (KeyW < IndexW) begin : g_bad_key
    $fatal(1, "tpt_cache: KeyW must not be smaller than IndexW");
  end

  typedef enum logic [1:0] {
    LineInv   = 2'd0,
    LineValid = 2'd1,
    LinePend  = 2'd2
  } line_e;

  typedef struct packed {
    logic [1:0]      state;  // line_e
    logic [CtxW-1:0] owner;  // of a reserved way
    logic [KeyW-1:0] key;
  } tag_t;

  typedef enum logic [2:0] {
    PassLook  = 3'd0,
    PassFill  = 3'd1,
    PassKill  = 3'd2,
    PassInv   = 3'd3,
    PassSweep = 3'd4
  } pass_e;

  typedef struct packed {
    logic [SetW-1:0] set;
    logic [KeyW-1:0] key;
    logic [AuxW-1:0] aux;
  } key_t;
  typedef struct packed {
    logic            bypass;
    logic            probe;
    logic [PayW-1:0] pay;
  } look_t;

  // ---------------------------------------------------------------------------------------------
  // Empty the tags after reset
  // ---------------------------------------------------------------------------------------------
  logic            init_q;
  logic [SetW-1:0] init_set_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      init_q     <= 1'b1;
      init_set_q <= '0;
    end else if (init_q) begin
      init_set_q <= init_set_q + 1'b1;
      if (&init_set_q) init_q <= 1'b0;
    end
  end
  assign ready_o = !init_q;

  // ---------------------------------------------------------------------------------------------
  // Queues of contexts that wait for a pass
  // ---------------------------------------------------------------------------------------------
  logic            newq_valid, newq_pop;
  logic [CtxW-1:0] newq_ctx;
  logic            rtyq_valid, rtyq_pop, rtyq_push;
  logic            rtyq_kill;
  logic [CtxW-1:0] rtyq_ctx;
  logic            filq_valid, filq_pop;
  logic [CtxW-1:0] filq_ctx;
  logic            filq_store;
  logic [ErrW-1:0] filq_err;
  logic            kilq_valid, kilq_pop;
  logic [CtxW-1:0] kilq_ctx;
  logic            wlq_valid, wlq_pop, wlq_push;
  logic [CtxW-1:0] wlq_ctx, wlq_push_ctx;
  logic [4:0]      q_ready;
  logic [CtxW:0]   newq_cnt, rtyq_cnt, filq_cnt, kilq_cnt, wlq_cnt;

  logic sub_direct;   // straight into P1
  tpt_fifo #(.Width(CtxW), .Depth(NumCtx)) u_newq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(sub_valid_i && !sub_direct), .wready_o(q_ready[0]), .wdata_i(sub_ctx_i),
    .rvalid_o(newq_valid), .rready_i(newq_pop), .rdata_o(newq_ctx), .count_o(newq_cnt)
  );
  logic filq_push;
  logic [CtxW+ErrW:0] filq_in;
  tpt_fifo #(.Width(CtxW + 1 + ErrW), .Depth(NumCtx)) u_filq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(filq_push), .wready_o(q_ready[1]), .wdata_i(filq_in),
    .rvalid_o(filq_valid), .rready_i(filq_pop), .rdata_o({filq_ctx, filq_store, filq_err}),
    .count_o(filq_cnt)
  );

  // ---------------------------------------------------------------------------------------------
  // Stages
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic            valid;
    logic [2:0]      kind;    // pass_e
    logic            first;   // first pass of a look-up
    logic [CtxW-1:0] ctx;
    logic            store;
    logic [ErrW-1:0] err;
    logic            direct;  // its key is in p1_direct_q
    logic [SetW-1:0] set;     // PassInv and PassSweep at P1, all from P2 on
    logic            stale;
  } stage_t;

  stage_t p1_q, p2_q, p3_q, p4_q;
  logic              inj_now, inj_act;        // a fill without a pass: at P3, at P4
  stage_t            inj_stage;
  logic [KeyW-1:0]   inj_key;
  logic [DataW-1:0]  inj_data_q;
  key_t   p1_direct_q, p1_read, p1_key, p2_key_q, p3_key_q;
  look_t  act_look;                           // at P4
  logic   [CtxW-1:0] look_ctx;
  logic   [KeyW-1:0] p4_key_q;
  logic   [Ways-1:0] p4_hit_q, p4_pend_q, p4_sweep_q, p4_used_q;
  logic   [CtxW-1:0] p4_owner_q;
  logic   [WayW-1:0] p4_fway_q, p4_vic_q;
  logic              p4_room_q, p4_empty_q;   // a way may be taken; it is an empty one

  // Tag write port, from P4 (or from the start-up sweep).
  logic [Ways-1:0] tag_we;
  logic [SetW-1:0] tag_wset;
  tag_t            tag_wdata;
  tag_t [Ways-1:0] tag_rdata;

  // ---------------------------------------------------------------------------------------------
  // P0: pick
  // ---------------------------------------------------------------------------------------------
  logic            wk_valid_q, wk_pop;
  logic [CtxW-1:0] wk_ctx_q;
  logic            rr_q;           // alternate between repeated and new passes
  logic            ctl_busy_q;     // an invalidate or sweep pass is in the pipeline
  logic [SetW-1:0] inv_set;        // of the next invalidate pass
  logic [SetW-1:0] swp_set_q;
  stage_t          p0;
  logic [CtxW-1:0] key_ctx;

  always_comb begin
    p0       = '0;
    filq_pop = 1'b0;
    kilq_pop = 1'b0;
    wk_pop   = 1'b0;
    rtyq_pop = 1'b0;
    newq_pop = 1'b0;
    sub_direct = 1'b0;
    if (!init_q) begin
      if (filq_valid) begin
        filq_pop = 1'b1;
        p0.valid = 1'b1;
        p0.kind  = PassFill;
        p0.ctx   = filq_ctx;
        p0.store = filq_store;
        p0.err   = filq_err;
      end else if (!ctl_busy_q && inv_valid_i && !inv_done_o) begin
        p0.valid = 1'b1;
        p0.kind  = PassInv;
        p0.set   = inv_set;
      end else if (!ctl_busy_q && sweep_valid_i && !sweep_done_o) begin
        p0.valid = 1'b1;
        p0.kind  = PassSweep;
        p0.set   = swp_set_q;
      end else if (kilq_valid) begin
        kilq_pop = 1'b1;
        p0.valid = 1'b1;
        p0.kind  = PassKill;
        p0.ctx   = kilq_ctx;
      end else if (wk_valid_q) begin
        wk_pop   = 1'b1;
        p0.valid = 1'b1;
        p0.kind  = PassLook;
        p0.ctx   = wk_ctx_q;
      end else if (rtyq_valid && (rr_q || !(newq_valid || sub_valid_i))) begin
        rtyq_pop = 1'b1;
        p0.valid = 1'b1;
        p0.kind  = rtyq_kill ? PassKill : PassLook;
        p0.ctx   = rtyq_ctx;
      end else if (newq_valid) begin
        newq_pop = 1'b1;
        p0.valid = 1'b1;
        p0.kind  = PassLook;
        p0.first = 1'b1;
        p0.ctx   = newq_ctx;
      end else begin
        sub_direct = sub_valid_i;
        p0.valid   = sub_valid_i;
        p0.kind    = PassLook;
        p0.first   = 1'b1;
        p0.direct  = 1'b1;
        p0.ctx     = sub_ctx_i;
      end
    end
  end

  // What was submitted with each context: its key is needed at P1, the rest at P4. The key of a
  // look-up that goes straight into P1 is not read.
  assign key_ctx = filq_valid ? filq_ctx : kilq_valid ? kilq_ctx : wk_valid_q ? wk_ctx_q :
                   rtyq_pop ? rtyq_ctx : newq_ctx;
  tpt_ram_1r1w #(.Width($bits(key_t)), .Depth(NumCtx)) u_key (
    .clk_i,
    .we_i   (sub_valid_i),
    .waddr_i(sub_ctx_i),
    .wdata_i({sub_set_i, sub_key_i, sub_aux_i}),
    .raddr_i(key_ctx),
    .rdata_o(p1_read)
  );
  tpt_ram_1r1w #(.Width($bits(look_t)), .Depth(NumCtx), .OutReg(1'b1)) u_look (
    .clk_i,
    .we_i   (pay_valid_i),
    .waddr_i(pay_ctx_i),
    .wdata_i({pay_bypass_i, pay_probe_i, pay_i}),
    .raddr_i(look_ctx),
    .rdata_o(act_look)
  );
  always_ff @(posedge clk_i) begin
    p1_direct_q <= '{set: sub_set_i, key: sub_key_i, aux: sub_aux_i};
  end
  assign p1_key   = p1_q.direct ? p1_direct_q : p1_read;
  assign p1_aux_o = p1_key.aux;
  assign p2_key_o = p2_key_q.key;
  assign p2_aux_o = p2_key_q.aux;

  // ---------------------------------------------------------------------------------------------
  // P1 .. P3: tags, then data one stage later
  // ---------------------------------------------------------------------------------------------
  logic [SetW-1:0] p1_set;
  assign p1_set = (p1_q.kind == PassInv || p1_q.kind == PassSweep) ? p1_q.set : p1_key.set;

  // Reserved way of each context that has a read under way.
  logic [SetW-1:0]   mshr_set [NumCtx];
  logic [WayW-1:0]   mshr_way [NumCtx];
  logic [NumCtx-1:0] poison_q;

  logic [Ways-1:0] p3_match, p3_hit;
  for (genvar w = 0; w < Ways; w++) begin : g_way
    tpt_ram_1r1w #(.Width($bits(tag_t)), .Depth(Sets), .OutReg(1'b1)) u_tag (
      .clk_i,
      .we_i   (tag_we[w]),
      .waddr_i(tag_wset),
      .wdata_i(tag_wdata),
      .raddr_i(p1_set),
      .rdata_o(tag_rdata[w])
    );

    assign p3_match[w] = tag_rdata[w].key == p3_key_q.key;
    assign p3_hit[w]   = p3_match[w] && tag_rdata[w].state == LineValid;

    always_ff @(posedge clk_i) begin
      p4_hit_q[w]  <= p3_hit[w];
      p4_pend_q[w] <= p3_match[w] && tag_rdata[w].state == LinePend;
      p4_sweep_q[w] <= tag_rdata[w].state == LineValid &&
                       (sweep_all_i || tag_rdata[w].key[KeyW-1 -: IndexW] == sweep_index_i);
    end
  end

  // Data of all ways in one RAM: the way is known before it is read.
  localparam int unsigned DataDepth = Sets * Ways;
  localparam int unsigned DataAddrW = $clog2(DataDepth);
  logic [WayW-1:0]  p3_fway, p3_hway;
  logic [DataW-1:0] p4_data;
  always_comb begin
    p3_hway = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (p3_hit[w]) p3_hway = p3_hway | WayW'(w);
    end
  end
  for (genvar b = 0; b < Beats; b++) begin : g_beat
    tpt_ram_1r1w #(.Width(BeatW), .Depth(DataDepth)) u_data (
      .clk_i,
      .we_i   (fill_we_i[b]),
      .waddr_i(DataAddrW'({mshr_way[fill_ctx_i], mshr_set[fill_ctx_i]})),
      .wdata_i(fill_data_i),
      .raddr_i(DataAddrW'({(p3_q.kind == PassFill) ? p3_fway : p3_hway, p3_q.set})),
      .rdata_o(p4_data[b*BeatW +: BeatW])
    );
  end

  logic [CtxW-1:0] p3_owner;
  always_comb begin
    p3_owner = '0;
    for (int unsigned w = 0; w < Ways; w++) begin
      if (p3_match[w] && tag_rdata[w].state == LinePend) p3_owner = p3_owner | tag_rdata[w].owner;
    end
  end

  // Way to take in case of a miss. Marks of use are read with the tags and written at P4; a write
  // that is lost or late does no harm.
  logic [Ways-1:0] used_rdata, used_wdata;
  logic            used_we;
  logic [SetW-1:0] used_wset;
  tpt_ram_1r1w #(.Width(Ways), .Depth(Sets), .OutReg(1'b1)) u_used (
    .clk_i,
    .we_i   (used_we),
    .waddr_i(used_wset),
    .wdata_i(used_wdata),
    .raddr_i(p1_set),
    .rdata_o(used_rdata)
  );

  logic            look_alloc;           // P4 takes a way
  logic            p3_room, p3_empty, p3_plain;
  logic [WayW-1:0] p3_vic, vic_from;     // the search begins behind the way taken last
  always_comb begin
    p3_room  = 1'b0;
    p3_empty = 1'b0;
    p3_plain = 1'b0;
    p3_vic   = '0;
    for (int unsigned k = 0; k < Ways; k++) begin
      automatic logic [WayW-1:0] w = WayW'((32'(vic_from) + k) % Ways);
      if (tag_rdata[w].state != LinePend && !p3_plain) begin
        if (!p3_room || !used_rdata[w]) p3_vic = w;
        p3_room = 1'b1;
        if (!used_rdata[w]) p3_plain = 1'b1;
      end
    end
    for (int unsigned w = 0; w < Ways; w++) begin
      if (tag_rdata[w].state == LineInv) begin
        p3_room  = 1'b1;
        p3_empty = 1'b1;
        p3_vic   = WayW'(w);
      end
    end
  end
  // In each quarter of the sets, if there are partitions.
  if (Parts > 1) begin : g_vic_parts
    logic [Parts-1:0][WayW-1:0] vic_from_q;
    assign vic_from = vic_from_q[p3_q.set[SetW-1 -: 2]];
    always_ff @(posedge clk_i) begin
      if (!rst_ni) vic_from_q <= '0;
      else if (look_alloc) begin
        vic_from_q[p4_q.set[SetW-1 -: 2]] <= WayW'((32'(p4_vic_q) + 1) % Ways);
      end
    end
  end else begin : g_vic_all
    logic [WayW-1:0] vic_from_q;
    assign vic_from = vic_from_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) vic_from_q <= '0;
      else if (look_alloc) vic_from_q <= WayW'((32'(p4_vic_q) + 1) % Ways);
    end
  end

  // A pass is stale if its set is written after its tags were read.
  logic p1_stale, p2_stale, p3_stale;
  logic any_we;
  assign any_we   = (|tag_we) && !init_q;
  assign p1_stale = any_we && p1_set == tag_wset;
  assign p2_stale = any_we && p2_q.set == tag_wset;
  assign p3_stale = any_we && p3_q.set == tag_wset;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      p1_q <= '0;
      p2_q <= '0;
      p3_q <= '0;
      p4_q <= '0;
    end else begin
      p1_q       <= p0;
      p2_q       <= p1_q;
      p2_q.set   <= p1_set;
      p2_q.stale <= p1_stale;
      p3_q       <= p2_q;
      p3_q.stale <= p2_q.stale || p2_stale;
      p4_q       <= inj_now ? inj_stage : p3_q;
      p4_q.stale <= p3_q.stale || p3_stale;
    end
  end
  assign p3_fway = mshr_way[inj_now ? inj_stage.ctx : p3_q.ctx];
  always_ff @(posedge clk_i) begin
    p2_key_q   <= p1_key;
    p3_key_q   <= p2_key_q;
    if (p2_q.kind == PassInv) p3_key_q.key <= inv_key_i;
    p4_key_q   <= inj_now ? inj_key : p3_key_q.key;
    p4_owner_q <= p3_owner;
    p4_fway_q  <= p3_fway;
    p4_vic_q   <= p3_vic;
    p4_room_q  <= p3_room;
    p4_empty_q <= p3_empty;
    p4_used_q  <= used_rdata;
  end

  // A fill of one beat takes the place of a pass. P2 empty in one clock means P4 empty two clocks
  // later. In that clock the payload is read: of the fill that waits, else of the one whose data
  // come now, else of the one whose data come next, if any.
  if (Beats == 1) begin : g_inject
    localparam int unsigned InjectWait = 3;   // clocks
    stage_t          wait_q;       // the fill that waits, or is acted on
    key_t            wait_key_q;
    logic            go_q;         // it has its place: acted on in the next clock
    logic            here_q;       // so would be the one whose data come now
    logic            act_q;        // it is acted on now
    logic            open, late, fill, load, drop;
    logic [1:0]      age_q;
    key_t            read_key;
    stage_t          here;
    tpt_ram_1r1w #(.Width($bits(key_t)), .Depth(NumCtx)) u_key (
      .clk_i,
      .we_i   (sub_valid_i),
      .waddr_i(sub_ctx_i),
      .wdata_i({sub_set_i, sub_key_i, sub_aux_i}),
      .raddr_i(fill_pre_ctx_i),
      .rdata_o(read_key)
    );
    assign open     = wait_q.valid && !go_q && !act_q;
    assign look_ctx = p2_q.valid ? p2_q.ctx : open ? wait_q.ctx : late ? fdone_ctx_i :
                      fill_pre_ctx_i;
    assign fill     = fdone_valid_i && fill_we_i[0];
    // the one whose data come now has no place yet
    assign late     = fill && !here_q && !go_q;
    assign load     = fill && !go_q && !(open && !p2_q.valid);
    // it makes room for the next one, or has waited long enough: a pass of its own
    assign drop     = open && p2_q.valid &&
                      (fill || (age_q == 2'(InjectWait) && !fdone_valid_i));
    always_comb begin
      here       = '0;
      here.valid = fill;
      here.kind  = PassFill;
      here.ctx   = fdone_ctx_i;
      here.store = fdone_store_i;
      here.err   = fdone_err_i;
      here.set   = read_key.set;
    end
    assign inj_now   = go_q || here_q;
    assign inj_stage = go_q ? wait_q : here;
    assign inj_key   = go_q ? wait_key_q.key : read_key.key;
    always_comb begin
      filq_push = drop || (fdone_valid_i && !load);
      filq_in   = {wait_q.ctx, wait_q.store, wait_q.err};
      if (fdone_valid_i && !load) filq_in = {fdone_ctx_i, fdone_store_i, fdone_err_i};
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        wait_q <= '0;
        go_q   <= 1'b0;
        here_q <= 1'b0;
        act_q  <= 1'b0;
        age_q  <= '0;
      end else begin
        here_q <= !p2_q.valid && !open && !late;
        go_q   <= !p2_q.valid && (open || late);
        act_q  <= go_q || (here_q && fill);
        age_q  <= (age_q == 2'(InjectWait)) ? age_q : age_q + 1'b1;
        if (act_q || drop) wait_q.valid <= 1'b0;
        if (load) begin
          wait_q <= here;
          age_q  <= '0;
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (load) begin
        inj_data_q <= fill_data_i;
        wait_key_q <= read_key;
      end
    end
    assign inj_act = act_q;
    `TPT_ASSUME(FillWithDone_A, !fill_we_i[0] || (fdone_valid_i && fill_ctx_i == fdone_ctx_i))
    `TPT_ASSERT(FillOnePush_A, !(drop && fdone_valid_i && !load))
    `TPT_ASSERT(FillPlace_A, !(p3_q.valid && inj_now))
    `TPT_ASSERT(FillActed_A, !act_q || (wait_q.valid && p4_q.valid && p4_q.ctx == wait_q.ctx))
    logic unused_aux;
    assign unused_aux = ^{read_key.aux, wait_key_q.aux, wait_key_q.set};
  end else begin : g_no_inject
    assign look_ctx   = p2_q.ctx;
    assign inj_now    = 1'b0;
    assign inj_act    = 1'b0;
    assign inj_stage  = '0;
    assign inj_data_q = '0;
    assign inj_key    = '0;
    assign filq_push  = fdone_valid_i;
    assign filq_in    = {fdone_ctx_i, fdone_store_i, fdone_err_i};
    logic unused_pre;
    assign unused_pre = ^fill_pre_ctx_i;
  end

  // ---------------------------------------------------------------------------------------------
  // P4: act
  // ---------------------------------------------------------------------------------------------
  logic p4_look, p4_fill, p4_kill, p4_inv, p4_swp;
  assign p4_look = p4_q.valid && p4_q.kind == PassLook;
  assign p4_fill = p4_q.valid && p4_q.kind == PassFill;
  assign p4_kill = p4_q.valid && p4_q.kind == PassKill;
  assign p4_inv  = p4_q.valid && p4_q.kind == PassInv;
  assign p4_swp  = p4_q.valid && p4_q.kind == PassSweep;

  logic look_ok, look_hit, look_join, look_miss, look_read_on, look_retry;
  assign look_ok    = p4_look && !act_look.bypass && !p4_q.stale;
  assign look_hit   = look_ok && (|p4_hit_q);
  assign look_join  = look_ok && (|p4_pend_q);
  assign look_miss  = look_ok && !(|p4_hit_q) && !(|p4_pend_q);
  assign look_read_on = !act_look.probe || p4_known_i;
  assign look_alloc = look_miss && look_read_on && p4_room_q;
  assign look_retry = (p4_look && !act_look.bypass && p4_q.stale) ||
                      (look_miss && look_read_on && !p4_room_q);

  logic fill_poison;
  assign fill_poison = poison_q[p4_q.ctx];

  always_comb begin
    tag_we    = '0;
    tag_wset  = p4_q.set;
    tag_wdata = '{state: LineInv, owner: p4_q.ctx, key: p4_key_q};
    if (init_q) begin
      tag_we   = '1;
      tag_wset = init_set_q;
    end else if (look_alloc) begin
      tag_we[p4_vic_q] = 1'b1;
      tag_wdata.state = LinePend;
    end else if (p4_fill) begin
      tag_we[p4_fway_q] = 1'b1;
      tag_wdata.state   = (p4_q.store && !fill_poison) ? LineValid : LineInv;
    end else if ((p4_kill || p4_inv) && !p4_q.stale) begin
      tag_we = p4_hit_q;
    end else if (p4_swp && !p4_q.stale) begin
      tag_we = p4_sweep_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (look_alloc) begin
      mshr_set[p4_q.ctx] <= p4_q.set;
      mshr_way[p4_q.ctx] <= p4_vic_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      poison_q <= '0;
    end else begin
      if (look_alloc) poison_q[p4_q.ctx] <= 1'b0;
      if (p4_inv && !p4_q.stale && (|p4_pend_q)) poison_q[p4_owner_q] <= 1'b1;
    end
  end

  // Marks of use: of a line that is hit, and of a new one. When all are marked, the others lose
  // their marks.
  logic [Ways-1:0] used_now;
  always_comb begin
    used_now = p4_hit_q;
    if (look_alloc) used_now = Ways'(1) << p4_vic_q;
    used_wset  = p4_q.set;
    used_wdata = p4_used_q | used_now;
    used_we    = (look_hit || look_alloc) && used_wdata != p4_used_q;
    if (&used_wdata) used_wdata = used_now;
    if (init_q) begin
      used_we    = 1'b1;
      used_wset  = init_set_q;
      used_wdata = '0;
    end
  end

  // Repeated passes.
  logic            kill_retry, hand_on;    // hand_on: the list of waiting ones goes to its first
  logic [CtxW-1:0] wfirst;
  assign kill_retry = p4_kill && p4_q.stale;
  assign rtyq_push  = look_retry || kill_retry || (p4_fill && fill_poison) || hand_on;
  tpt_fifo #(.Width(CtxW + 1), .Depth(NumCtx)) u_rtyq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(rtyq_push), .wready_o(q_ready[2]),
    .wdata_i({kill_retry, hand_on ? wfirst : p4_q.ctx}),
    .rvalid_o(rtyq_valid), .rready_i(rtyq_pop), .rdata_o({rtyq_kill, rtyq_ctx}),
    .count_o(rtyq_cnt)
  );

  // Lines to remove.
  tpt_fifo #(.Width(CtxW), .Depth(NumCtx)) u_kilq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(kill_valid_i), .wready_o(q_ready[3]), .wdata_i(kill_ctx_i),
    .rvalid_o(kilq_valid), .rready_i(kilq_pop), .rdata_o(kilq_ctx), .count_o(kilq_cnt)
  );

  // ---------------------------------------------------------------------------------------------
  // Lists of contexts that wait for a line on its way: one list per owner, first in first out. When
  // the line comes all of them ask again. A line that is not kept answers its owner only: then the
  // first of the list asks again, with the others in its list, so that none waits for ever. If it
  // does not become an owner, its list asks again.
  // ---------------------------------------------------------------------------------------------
  logic [CtxW-1:0]   whead [NumCtx];  // of an owner
  logic [CtxW-1:0]   wtail [NumCtx];  // of an owner
  logic [NumCtx-1:0] wany_q;          // this owner's list is not empty
  logic [CtxW-1:0]   wnext [NumCtx];  // of a member
  logic [NumCtx-1:0] wmore_q;         // this member has a next

  logic [CtxW-1:0] wlast;
  assign wlast   = wtail[p4_owner_q];
  assign wfirst  = whead[p4_q.ctx];
  assign hand_on = p4_fill && !fill_poison && !p4_q.store && wany_q[p4_q.ctx];
  always_ff @(posedge clk_i) begin
    if (look_join) begin
      wtail[p4_owner_q] <= p4_q.ctx;
      if (wany_q[p4_owner_q]) wnext[wlast] <= p4_q.ctx;
      else whead[p4_owner_q] <= p4_q.ctx;
    end else if (hand_on) begin
      whead[wfirst] <= wnext[wfirst];
      wtail[wfirst] <= wtail[p4_q.ctx];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wany_q  <= '0;
      wmore_q <= '0;
    end else begin
      if (wlq_push || hand_on) wany_q[p4_q.ctx] <= 1'b0;
      if (hand_on) wany_q[wfirst] <= wmore_q[wfirst];
      if (look_join) begin
        if (wany_q[p4_owner_q]) wmore_q[wlast] <= 1'b1;
        wmore_q[p4_q.ctx]   <= 1'b0;
        wany_q[p4_owner_q] <= 1'b1;
      end
    end
  end

  assign wlq_push     = wany_q[p4_q.ctx] &&
                        ((p4_fill && !fill_poison && p4_q.store) ||
                         (p4_look && !look_alloc && !look_retry));
  assign wlq_push_ctx = wfirst;
  tpt_fifo #(.Width(CtxW), .Depth(NumCtx)) u_wlq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(wlq_push), .wready_o(q_ready[4]), .wdata_i(wlq_push_ctx),
    .rvalid_o(wlq_valid), .rready_i(wlq_pop), .rdata_o(wlq_ctx), .count_o(wlq_cnt)
  );
  assign wlq_pop = wlq_valid && !wk_valid_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wk_valid_q <= 1'b0;
      wk_ctx_q   <= '0;
      rr_q       <= 1'b0;
    end else begin
      rr_q <= !rr_q;
      if (wlq_pop) begin
        wk_valid_q <= 1'b1;
        wk_ctx_q   <= wlq_ctx;
      end else if (wk_pop) begin
        wk_valid_q <= wmore_q[wk_ctx_q];
        wk_ctx_q   <= wnext[wk_ctx_q];
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Invalidate and sweep
  // ---------------------------------------------------------------------------------------------
  logic inv_done_q, sweep_done_q, inv_last;
  if (Parts > 1) begin : g_inv_parts
    // the set of the key in the partition whose turn it is
    logic [1:0] inv_part_q;
    always_comb begin
      inv_set = inv_set_i;
      if (log_parts_i == 2'd1) inv_set[SetW-1] = inv_part_q[0];
      if (log_parts_i == 2'd2) inv_set[SetW-1 -: 2] = inv_part_q;
    end
    assign inv_last = inv_part_q == ~(2'b11 << log_parts_i);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) inv_part_q <= '0;
      else if (p4_inv && !p4_q.stale) inv_part_q <= inv_last ? '0 : inv_part_q + 1'b1;
    end
  end else begin : g_inv_one
    assign inv_set  = inv_set_i;
    assign inv_last = 1'b1;
    logic unused_parts;
    assign unused_parts = ^log_parts_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ctl_busy_q   <= 1'b0;
      inv_done_q   <= 1'b0;
      sweep_done_q <= 1'b0;
      swp_set_q    <= '0;
    end else begin
      inv_done_q   <= p4_inv && !p4_q.stale && inv_last;
      sweep_done_q <= p4_swp && !p4_q.stale && (&swp_set_q);
      if (p0.valid && (p0.kind == PassInv || p0.kind == PassSweep)) ctl_busy_q <= 1'b1;
      else if (p4_inv || p4_swp) ctl_busy_q <= 1'b0;
      if (p4_swp && !p4_q.stale) swp_set_q <= swp_set_q + 1'b1;
    end
  end
  assign inv_done_o   = inv_done_q;
  assign sweep_done_o = sweep_done_q;

  // ---------------------------------------------------------------------------------------------
  // Results
  // ---------------------------------------------------------------------------------------------
  assign res_hit_o    = look_hit;
  assign res_fill_o   = p4_fill && !fill_poison;
  assign res_miss_o   = look_miss && !look_read_on;
  assign res_bypass_o = p4_look && act_look.bypass;
  assign res_killed_o = p4_kill && !p4_q.stale;
  assign res_valid_o  = res_hit_o || res_fill_o || res_miss_o || res_bypass_o || res_killed_o;
  assign res_ctx_o    = p4_q.ctx;
  assign res_err_o    = p4_fill ? p4_q.err : '0;
  assign res_pay_o    = act_look.pay;
  assign res_key_o    = p4_key_q;
  assign res_data_o   = inj_act ? inj_data_q : p4_data;

  assign rd_valid_o = look_alloc;
  assign rd_ctx_o   = p4_q.ctx;
  assign rd_pay_o   = act_look.pay;
  assign rd_probe_o = act_look.probe;

  assign ev_hit_o   = look_hit && p4_q.first;
  assign ev_miss_o  = look_alloc;
  assign ev_evict_o = look_alloc && !p4_empty_q;

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSUME(SubRoom_A, !sub_valid_i || sub_direct || q_ready[0])
  `TPT_ASSERT(KeyOfPass_A, !p0.valid || p0.direct || p0.kind == PassInv ||
              p0.kind == PassSweep || key_ctx == p0.ctx)
  `TPT_ASSERT(FillRoom_A, !filq_push || q_ready[1])
  `TPT_ASSERT(RetryRoom_A, !rtyq_push || q_ready[2])
  `TPT_ASSUME(KillRoom_A, !kill_valid_i || q_ready[3])
  `TPT_ASSERT(WakeRoom_A, !wlq_push || q_ready[4])
  `TPT_ASSUME(SubReady_A, !sub_valid_i || ready_o)
  // a fill goes into the set in which its way was reserved
  `TPT_ASSERT(FillSet_A, !p4_fill || p4_q.set == mshr_set[p4_q.ctx])
  // one key is in one way only
  `TPT_ASSERT(HitOneHot_A, !look_ok || $onehot0(p4_hit_q))
  `TPT_ASSERT(PendOneHot_A, !look_ok || $onehot0(p4_pend_q))
  `TPT_ASSERT(HitOrPend_A, !look_ok || !((|p4_hit_q) && (|p4_pend_q)))
  `TPT_ASSERT(ResultOneHot_A,
              $onehot0({res_hit_o, res_fill_o, res_miss_o, res_bypass_o, res_killed_o}))
  `TPT_ASSERT(NoOwnJoin_A, !look_join || p4_owner_q != p4_q.ctx)

  logic unused_ok;
  assign unused_ok = ^{newq_cnt, rtyq_cnt, filq_cnt, kilq_cnt, wlq_cnt, p3_key_q.set, p3_key_q.aux,
                       p4_q.direct};

endmodule
