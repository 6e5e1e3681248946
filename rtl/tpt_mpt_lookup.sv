// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// MPT look-up: entries in memory behind a non-blocking on-chip cache.
///
/// In goes a request with the index field of its key, out comes the request with its MPT entry, in
/// any order between contexts, one per clock. Requests that need no entry pass through.
///
/// The cache is looked up with the *field as it is in the key*, still permuted, so that a hit does
/// not wait for the permutation; role and index are kept with the entry. The key is decoded beside
/// the look-up, and only a miss waits for it:
///
///     field ──┬──► cache ───hit──────────────────────────────► entry, role, index
///             │      └─miss─► read queue ──► address ──► memory ──► CRC ──► fill
///             └──► key decoder ──► {role, index} of the context ─┴── index too large: refused
///
/// An entry may be cached twice, under its L_Key's field and under its R_Key's.
///
/// The CRC covers the entry and its index: the entry of another index is a corrupted one. Only
/// entries that are VALID and have the right CRC are kept in the cache; FREE, INVALID and
/// corrupted ones, and those that memory answered with an error, are used once and forgotten. So is
/// an entry of another PD or tag than those of the request that it was read for: a key that was
/// guessed leaves no trace that tells whether its index is in use.
///
/// The cache can be divided into partitions: a request looks into that of its PD.
module tpt_mpt_lookup
  import tpt_pkg::*;
#(
  /// Number of contexts, a power of two.
  parameter int unsigned NumCtx   = 16,
  /// Cache geometry.
  parameter int unsigned Sets     = 32,
  parameter int unsigned Ways     = 2,
  /// Width of the memory port, 64 to 512.
  parameter int unsigned AxiDataW = 128,
  /// Most partitions of the cache, 1 (none) or 4.
  parameter int unsigned Parts    = 1,
  localparam int unsigned CtxW  = $clog2(NumCtx),
  localparam int unsigned Beats = MptW / AxiDataW,
  localparam int unsigned BeatCntW = (Beats > 1) ? $clog2(Beats) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                ready_o,
  // Settings, constant while requests are inside: table base, 64-byte aligned, and size in
  // entries; permutation off, and its secret.
  input  logic [63:0]         mpt_base_i,
  input  logic [IndexW:0]     mpt_size_i,
  input  logic                plain_i,
  input  logic [127:0]        perm_secret_i,
  input  logic [1:0]          log_parts_i,     // log2 of the partitions in use

  // Request; the clock after, whether its tag was in use, and whether the unit serves requests.
  input  logic                in_valid_i,
  input  logic [CtxW-1:0]     in_ctx_i,
  input  req_t                in_req_i,
  input  logic                in_parent_i,     // second look-up of a request: the parent
  input  logic [PartW-1:0]    in_part_i,       // partition; not looked at with in_parent_i
  input  logic                late_busy_i,
  input  logic                late_blocked_i,
  input  logic                late_enabled_i,

  // Request with its entry
  output logic                out_valid_o,
  output logic [CtxW-1:0]     out_ctx_o,
  output req_t                out_req_o,
  output logic                out_parent_o,
  output logic                out_busy_o,
  output logic                out_blocked_o,
  output logic [PartW-1:0]    out_part_o,
  output logic                out_enabled_o,
  output logic                out_looked_up_o,
  output logic                out_bus_err_o,
  output logic                out_bad_o,       // CRC wrong, or of another index
  output logic                out_index_ok_o,  // index below the size of the table
  output mpt_entry_t          out_entry_o,
  output logic                out_role_o,      // these two only if looked up
  output logic [IndexW-1:0]   out_index_o,

  // Memory: 64-byte reads
  output logic                ar_valid_o,
  input  logic                ar_ready_i,
  output logic                ar_soon_o,       // ar_valid_o one clock ahead
  output logic [CtxW-1:0]     ar_ctx_o,
  output logic [63:0]         ar_addr_o,
  input  logic                r_valid_i,
  input  logic [CtxW-1:0]     r_ctx_i,
  input  logic [AxiDataW-1:0] r_data_i,
  input  logic                r_last_i,
  input  logic                r_err_i,

  // Invalidate the copy of an entry that is cached under a field. Hold valid until done (one
  // clock).
  input  logic                inv_valid_i,
  input  logic [FieldW-1:0]   inv_field_i,
  output logic                inv_done_o,
  // Empty the cache. Hold valid until done (one clock).
  input  logic                flush_valid_i,
  output logic                flush_done_o,

  // Events
  output logic                ev_hit_o,
  output logic                ev_miss_o,
  output logic                ev_evict_o,
  output logic                ev_bus_o,
  output logic                ev_bad_o
);

  if (MptW % AxiDataW != 0 || AxiDataW < 128) begin : g_bad_width
    $fatal(1, "tpt_mpt_lookup: AxiDataW must be 128, 256 or 512");
  end

  localparam int unsigned SetW = $clog2(Sets);

  typedef struct packed {
    logic busy;
    logic blocked;
    logic enabled;
    logic parent;
    req_t req;
  } pay_t;

  /// Error codes of a fill.
  localparam int unsigned FillBad   = 0;  // CRC wrong, or of another index
  localparam int unsigned FillBus   = 1;  // memory answered with an error
  localparam int unsigned FillIndex = 2;  // no such entry: nothing was read

  // The payload follows a clock later.
  logic            p_valid_q;
  logic [CtxW-1:0] p_ctx_q;
  req_t            p_req_q;
  logic            p_parent_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) p_valid_q <= 1'b0;
    else p_valid_q <= in_valid_i;
  end
  always_ff @(posedge clk_i) begin
    p_ctx_q <= in_ctx_i;
    p_req_q <= in_req_i;
    p_parent_q <= in_parent_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Key decoder beside the look-up; {role, index} of each context
  // ---------------------------------------------------------------------------------------------
  logic              dec_valid, dec_role;
  logic [IndexW-1:0] dec_index;
  logic [CtxW-1:0]   dec_ctx;
  tpt_key_dec #(.PayW(CtxW)) u_key_dec (
    .clk_i, .rst_ni,
    .valid_i      (p_valid_q),
    .field_i      (p_req_q.key[31:8]),
    .pay_i        (p_ctx_q),
    .plain_i, .perm_secret_i,
    .valid_o      (dec_valid),
    .role_o       (dec_role),
    .index_o      (dec_index),
    .pay_o        (dec_ctx)
  );

  logic [FieldW-1:0] id_mem [NumCtx];   // {role, index}
  logic              id_in  [NumCtx];   // the index is below the size of the table
  logic [NumCtx-1:0] id_there_q;
  logic              dec_in;
  assign dec_in = {1'b0, dec_index} < mpt_size_i;
  always_ff @(posedge clk_i) begin
    if (dec_valid) begin
      id_mem[dec_ctx] <= {dec_role, dec_index};
      id_in[dec_ctx]  <= dec_in;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      id_there_q <= '0;
    end else begin
      if (dec_valid) id_there_q[dec_ctx] <= 1'b1;
      if (in_valid_i) id_there_q[in_ctx_i] <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Fill: CRC over the beats of an entry; the last beat brings `fdone`
  // ---------------------------------------------------------------------------------------------
  // Running state of each entry under way.
  logic [BeatCntW-1:0] run_cnt  [NumCtx];
  logic [NumCtx-1:0]   run_mid_q;  // not at the first beat
  logic [NumCtx-1:0]   run_err_q;

  logic                r_first;
  logic [BeatCntW-1:0] r_cnt;
  logic                r_bus;
  logic [AxiDataW-1:0] r_checked;
  logic [15:0]         r_fold, unused_turn;

  assign r_first = !run_mid_q[r_ctx_i];
  assign r_cnt   = r_first ? '0 : run_cnt[r_ctx_i];
  assign r_bus   = r_err_i || (!r_first && run_err_q[r_ctx_i]);
  always_comb begin
    r_checked = r_data_i;
    if (r_first) r_checked[127:112] = '0;   // the CRC itself
  end
  tpt_crc16 #(.DataW(AxiDataW)) u_fold (
    .data_i(r_checked),
    .fold_o(r_fold),
    .crc_i (16'd0),
    .turn_o(unused_turn)
  );

  always_ff @(posedge clk_i) begin
    if (r_valid_i) run_cnt[r_ctx_i] <= r_cnt + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_mid_q <= '0;
      run_err_q <= '0;
    end else if (r_valid_i) begin
      run_mid_q[r_ctx_i] <= !r_last_i;
      run_err_q[r_ctx_i] <= r_bus;
    end
  end

  // One clock later: into the cache. Role and index take the place of the CRC and of a field that
  // is 0.
  logic                f_valid_q, f_last_q, f_first_q, f_bus_q;
  logic [CtxW-1:0]     f_ctx_q;
  logic [AxiDataW-1:0] f_data_q, f_data;
  logic [BeatCntW-1:0] f_cnt_q;
  logic [15:0]         f_fold_q, f_crc, f_want, f_here;
  logic [1:0]          f_state;
  logic [IndexW-1:0]   f_index;
  logic                f_moved, f_moved_here;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) f_valid_q <= 1'b0;
    else f_valid_q <= r_valid_i;
  end
  always_ff @(posedge clk_i) begin
    f_last_q  <= r_last_i;
    f_first_q <= r_first;
    f_cnt_q   <= r_cnt;
    f_ctx_q   <= r_ctx_i;
    f_data_q  <= r_data_i;
    f_bus_q   <= r_bus;
    f_fold_q  <= r_fold;
  end
  always_comb begin
    f_data = f_data_q;
    if (f_first_q) {f_data[127:112], f_data[63:56]} = id_mem[f_ctx_q];
  end
  // The entry is of another PD, or its tag another one: not kept. Parents of windows have no tag to
  // be compared, and their PD is the window's.
  typedef struct packed {
    logic           parent;
    logic [7:0]     tag;
    logic [PdW-1:0] pd;
  } want_t;
  want_t want_mem [NumCtx];
  want_t f_ask;
  logic  f_foreign_here, f_foreign;
  always_ff @(posedge clk_i) begin
    if (p_valid_q) want_mem[p_ctx_q] <= '{parent: p_parent_q, tag: p_req_q.key[7:0],
                                          pd: p_req_q.pd};
  end
  assign f_ask          = want_mem[f_ctx_q];
  assign f_foreign_here = !f_ask.parent &&
                          (f_data_q[64 +: PdW] != f_ask.pd ||
                           ((id_mem[f_ctx_q][IndexW] == RoleLocal) ? f_data_q[39:32]
                                                                   : f_data_q[47:40]) != f_ask.tag);
  // What the first beat must have, for the index that was asked for.
  assign f_index      = id_mem[f_ctx_q][IndexW-1:0];
  assign f_here       = f_data_q[127:112] ^ mpt_place(f_data_q[1:0], f_index);
  assign f_moved_here = mpt_moved(f_data_q[1:0], f_data_q[62:56], f_index);

  logic            fdone, fdone_bus, fdone_bad, fdone_store;
  logic [CtxW-1:0] fdone_ctx;
  if (Beats == 1) begin : g_one_beat
    assign f_crc       = f_fold_q;
    assign f_want      = f_here;
    assign f_state     = f_data_q[1:0];
    assign f_moved     = f_moved_here;
    assign f_foreign   = f_foreign_here;
    assign fdone       = f_valid_q;
    assign fdone_ctx   = f_ctx_q;
    assign fdone_bus   = f_bus_q;
    assign fdone_bad   = f_crc != f_want || f_moved;
    assign fdone_store = !f_bus_q && !fdone_bad && f_state == StValid && !f_foreign;
  end else begin : g_beats
    // CRC so far, CRC and state of the entry; the verdict a clock behind the last beat.
    logic [15:0] run_crc [NumCtx];
    logic [15:0] run_want [NumCtx];
    logic [1:0]  run_state [NumCtx];
    logic        run_moved [NumCtx];
    logic        run_foreign [NumCtx];
    logic [15:0] f_turn, unused_fold;
    tpt_crc16 #(.DataW(AxiDataW)) u_turn (
      .data_i('0),
      .fold_o(unused_fold),
      .crc_i (run_crc[f_ctx_q]),
      .turn_o(f_turn)
    );
    assign f_crc   = f_first_q ? f_fold_q : f_turn ^ f_fold_q;
    assign f_want  = f_first_q ? f_here : run_want[f_ctx_q];
    assign f_moved = f_first_q ? f_moved_here : run_moved[f_ctx_q];
    assign f_foreign = f_first_q ? f_foreign_here : run_foreign[f_ctx_q];
    assign f_state = f_first_q ? f_data_q[1:0] : run_state[f_ctx_q];
    always_ff @(posedge clk_i) begin
      if (f_valid_q) begin
        run_crc[f_ctx_q]   <= f_crc;
        run_want[f_ctx_q]  <= f_want;
        run_state[f_ctx_q] <= f_state;
        run_moved[f_ctx_q] <= f_moved;
        run_foreign[f_ctx_q] <= f_foreign;
      end
    end
    logic            g_valid_q, g_bus_q, g_keep_q, g_moved_q;
    logic [15:0]     g_crc_q, g_want_q;
    logic [CtxW-1:0] g_ctx_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) g_valid_q <= 1'b0;
      else g_valid_q <= f_valid_q && f_last_q;
    end
    always_ff @(posedge clk_i) begin
      g_ctx_q   <= f_ctx_q;
      g_bus_q   <= f_bus_q;
      g_crc_q   <= f_crc;
      g_want_q  <= f_want;
      g_moved_q <= f_moved;
      g_keep_q  <= f_state == StValid && !f_foreign;
    end
    assign fdone       = g_valid_q;
    assign fdone_ctx   = g_ctx_q;
    assign fdone_bus   = g_bus_q;
    assign fdone_bad   = g_crc_q != g_want_q || g_moved_q;
    assign fdone_store = !g_bus_q && !fdone_bad && g_keep_q;
  end
  assign ev_bus_o = fdone && fdone_bus;
  assign ev_bad_o = fdone && !fdone_bus && fdone_bad;

  logic [Beats-1:0] fill_we;
  always_comb begin
    fill_we          = '0;
    fill_we[f_cnt_q] = f_valid_q;
  end

  // ---------------------------------------------------------------------------------------------
  // Cache
  // ---------------------------------------------------------------------------------------------
  logic            res_hit, res_fill, res_miss, res_killed, res_bypass, res_valid;
  logic [CtxW-1:0] res_ctx;
  logic [2:0]      res_err;
  pay_t            res_pay, rd_pay;
  logic [MptW-1:0] res_data;
  logic            rd_valid;
  logic [CtxW-1:0] rd_ctx;

  // The set: the field is as good as random, but not in plain mode, where its top bit is the role.
  function automatic logic [SetW-1:0] set_of(logic [FieldW-1:0] field);
    logic [SetW-1:0] set;
    set    = field[SetW-1:0];
    set[0] = set[0] ^ field[FieldW-1];
    return set;
  endfunction

  // The partition of a request, and the same one for the parent of its window.
  logic [SetW-1:0] sub_set;
  if (Parts > 1) begin : g_parts
    logic [PartW-1:0] part_mem [NumCtx];
    logic [PartW-1:0] part;
    always_ff @(posedge clk_i) begin
      if (in_valid_i && !in_parent_i) part_mem[in_ctx_i] <= in_part_i;
    end
    assign part = in_parent_i ? part_mem[in_ctx_i] : in_part_i;
    always_ff @(posedge clk_i) out_part_o <= part_mem[res_ctx];
    always_comb begin
      sub_set = set_of(in_req_i.key[31:8]);
      sub_set[SetW-1 -: PartW] = part_top(sub_set[SetW-1 -: PartW], part, log_parts_i);
    end
  end else begin : g_no_parts
    assign sub_set = set_of(in_req_i.key[31:8]);
    logic unused_part;
    assign unused_part = ^in_part_i;
    assign out_part_o  = '0;
  end

  // A read that is not made, because there is no such entry: its fill comes when no other does.
  logic            no_valid;
  logic [CtxW-1:0] arq_ctx;

  logic              unused_p1_aux, unused_p2_aux, unused_probe;
  logic [FieldW-1:0] unused_p2_key, unused_res_key;
  tpt_cache #(
    .NumCtx(NumCtx), .Sets(Sets), .Ways(Ways), .KeyW(FieldW), .IndexW(FieldW),
    .PayW($bits(pay_t)), .DataW(MptW), .Beats(Beats), .ErrW(3),
    .Parts(Parts)
  ) u_cache (
    .clk_i, .rst_ni, .ready_o,
    .sub_valid_i  (in_valid_i),
    .sub_ctx_i    (in_ctx_i),
    .sub_set_i    (sub_set),
    .sub_key_i    (in_req_i.key[31:8]),
    .sub_aux_i    (1'b0),
    .pay_valid_i  (p_valid_q),
    .pay_ctx_i    (p_ctx_q),
    .pay_bypass_i (!late_enabled_i || late_busy_i || late_blocked_i ||
                     !req_needs_lookup(p_req_q)),
    .pay_probe_i  (1'b0),
    .pay_i        ({late_busy_i, late_blocked_i, late_enabled_i, p_parent_q, p_req_q}),
    .p1_aux_o     (unused_p1_aux),
    .p2_key_o     (unused_p2_key),
    .p2_aux_o     (unused_p2_aux),
    .p4_known_i   (1'b0),
    .res_valid_o  (res_valid),
    .res_ctx_o    (res_ctx),
    .res_hit_o    (res_hit),
    .res_fill_o   (res_fill),
    .res_miss_o   (res_miss),
    .res_bypass_o (res_bypass),
    .res_killed_o (res_killed),
    .res_err_o    (res_err),
    .res_key_o    (unused_res_key),
    .res_pay_o    (res_pay),
    .res_data_o   (res_data),
    .rd_valid_o   (rd_valid),
    .rd_ctx_o     (rd_ctx),
    .rd_pay_o     (rd_pay),
    .rd_probe_o   (unused_probe),
    .fill_pre_ctx_i(r_ctx_i),
    .fill_we_i    (fill_we),
    .fill_ctx_i   (f_ctx_q),
    .fill_data_i  (f_data),
    .fdone_valid_i(fdone || no_valid),
    .fdone_ctx_i  (fdone ? fdone_ctx : arq_ctx),
    .fdone_store_i(fdone && fdone_store),
    .fdone_err_i  (fdone ? {1'b0, fdone_bus, fdone_bad} : {1'b1, 2'b00}),
    .kill_valid_i (1'b0),
    .kill_ctx_i   ('0),
    .log_parts_i,
    .inv_valid_i,
    .inv_set_i    (set_of(inv_field_i)),
    .inv_key_i    (inv_field_i),
    .inv_done_o,
    .sweep_valid_i(flush_valid_i),
    .sweep_all_i  (1'b1),
    .sweep_index_i('0),
    .sweep_done_o (flush_done_o),
    .ev_hit_o, .ev_miss_o, .ev_evict_o
  );

  // ---------------------------------------------------------------------------------------------
  // Reads, when the key is decoded
  // ---------------------------------------------------------------------------------------------
  logic              arq_valid, arq_room, arq_pop, arq_known, ar_free;
  logic [CtxW:0]     arq_cnt;
  logic [IndexW-1:0] ar_index_q;
  tpt_fifo #(.Width(CtxW), .Depth(NumCtx)) u_arq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(rd_valid), .wready_o(arq_room), .wdata_i(rd_ctx),
    .rvalid_o(arq_valid), .rready_i(arq_pop), .rdata_o(arq_ctx),
    .count_o(arq_cnt)
  );
  // The key may be decoded just now.
  logic arq_now, arq_in;
  assign arq_now   = dec_valid && dec_ctx == arq_ctx;
  assign arq_known = arq_valid && (id_there_q[arq_ctx] || arq_now);
  assign arq_in    = arq_now ? dec_in : id_in[arq_ctx];
  assign no_valid  = arq_known && !arq_in && !fdone;
  assign ar_free   = !ar_valid_o || ar_ready_i;
  assign arq_pop   = arq_known && (arq_in ? ar_free : !fdone);

  assign ar_soon_o = !ar_free || (arq_known && arq_in);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ar_valid_o <= 1'b0;
    else ar_valid_o <= ar_soon_o;
  end
  always_ff @(posedge clk_i) begin
    if (ar_free) begin
      ar_ctx_o   <= arq_ctx;
      ar_index_q <= arq_now ? dec_index : id_mem[arq_ctx][IndexW-1:0];
    end
  end
  assign ar_addr_o = mpt_base_i + {{(64 - IndexW - 6){1'b0}}, ar_index_q, 6'b0};

  // ---------------------------------------------------------------------------------------------
  // Result
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_valid_o <= 1'b0;
    else out_valid_o <= res_hit || res_fill || res_bypass;
  end
  always_ff @(posedge clk_i) begin
    out_ctx_o       <= res_ctx;
    out_req_o       <= res_pay.req;
    out_parent_o    <= res_pay.parent;
    out_busy_o      <= res_pay.busy;
    out_blocked_o   <= res_pay.blocked;
    out_enabled_o   <= res_pay.enabled;
    out_looked_up_o <= !res_bypass;
    out_bus_err_o   <= res_fill && res_err[FillBus];
    out_bad_o       <= res_fill && res_err[FillBad];
    out_index_ok_o  <= !(res_fill && res_err[FillIndex]);
    out_entry_o     <= res_data;
  end
  assign {out_role_o, out_index_o} =
      {out_entry_o.crc, out_entry_o.rsvd1, out_entry_o.index_hi};

  `TPT_ASSERT(ReadRoom_A, !rd_valid || arq_room)
  `TPT_ASSERT(NoOtherResult_A, !res_miss && !res_killed)
  `TPT_ASSERT(LastBeat_A, !f_valid_q || (f_last_q == (32'(f_cnt_q) == Beats - 1)))

  logic unused_ok;
  assign unused_ok = ^{arq_cnt, unused_probe, rd_pay, res_valid, unused_p1_aux, unused_p2_aux,
                       unused_p2_key, unused_res_key, unused_turn};

endmodule
