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
/// Table lines of all levels share one non-blocking cache, so upper levels act as a walk cache. A
/// walk starts at the leaf; while the line is missing it goes up until it finds a line (or the
/// root, whose address it knows), then down again, one read per missing level:
///
///     new / next chunk ──► look up leaf line ──hit──► judge entries ──► result
///                           │ miss                        │ bad entry: drop the line, then result
///                           ▼
///                          look up directory line ... root: read
///
/// Level 0 regions (pages inside the MPT entry) take the same path without a look-up.
///
/// Lines are tagged with {MPT index, generation, level, line number}: a line of an earlier
/// registration of an index never matches. When the generation wraps the owner sweeps the index.
module tpt_mtt_walker
  import tpt_pkg::*;
#(
  /// Number of contexts, a power of two.
  parameter int unsigned NumCtx    = 16,
  /// Cache geometry.
  parameter int unsigned Sets      = 32,
  parameter int unsigned Ways      = 4,
  /// Width of the memory port: 128, 256 or 512.
  parameter int unsigned AxiDataW  = 128,
  localparam int unsigned CtxW     = $clog2(NumCtx),
  localparam int unsigned LineEnt  = AxiDataW / 64,
  localparam int unsigned LineLog  = $clog2(LineEnt)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                ready_o,

  // New request: first chunk. Always accepted.
  input  logic                in_valid_i,
  input  logic [CtxW-1:0]     in_ctx_i,
  input  desc_t               in_desc_i,
  input  pos_t                in_pos_i,
  // Next chunk of a request, into context `adv_ctx_i`, behind the chunk that was last begun in
  // `adv_src_i` (the same context or another one).
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
  output logic [5:0]                      out_log_page_o,
  output logic [MaxLogPage-1:0]           out_off_o,     // offset inside the first page
  output logic [31:0]                     out_rem_o,     // bytes from here to the request's end
  // The chunk of this context may be used (with `out_valid_o` or later).
  output logic                            commit_valid_o,
  output logic [CtxW-1:0]                 commit_ctx_o,

  // Memory: reads of one line
  output logic                ar_valid_o,
  input  logic                ar_ready_i,
  output logic [CtxW-1:0]     ar_ctx_o,
  output logic [63:0]         ar_addr_o,
  input  logic                r_valid_i,
  input  logic [CtxW-1:0]     r_ctx_i,
  input  logic [AxiDataW-1:0] r_data_i,
  input  logic                r_err_i,

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

  localparam int unsigned SetW  = $clog2(Sets);
  localparam int unsigned LineW = PageIdxW - LineLog;
  localparam int unsigned KeyW  = IndexW + GenW + 3 + LineW;

  typedef struct packed {
    desc_t               desc;   // frame[1] is the table page of a level below the top
    pos_t                pos;
    logic                first;
    logic [2:0]          lvl;    // level that is looked up, 1 is the leaf
    logic [PageIdxW-1:0] eidx;   // number of the entry at this level, whole region
  } pay_t;

  // ---------------------------------------------------------------------------------------------
  // S0: queue of new chunks, or the next chunk on offer; S1: descriptor and position from RAM
  // ---------------------------------------------------------------------------------------------
  logic            newq_valid, newq_pop, newq_room;
  logic [CtxW-1:0] newq_ctx;
  logic [CtxW:0]   newq_cnt, arq_cnt;

  tpt_fifo #(.Width(CtxW), .Depth(NumCtx)) u_newq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(in_valid_i), .wready_o(newq_room), .wdata_i(in_ctx_i),
    .rvalid_o(newq_valid), .rready_i(newq_pop), .rdata_o(newq_ctx), .count_o(newq_cnt)
  );

  logic            int_valid_q;   // a walk goes on at another level
  logic [CtxW-1:0] int_ctx_q;
  pay_t            int_pay_q;
  logic            int_probe_q;

  logic            s1_valid_q, s1_adv_q, s1_stall;
  logic [CtxW-1:0] s1_ctx_q, s1_src_q, s0_ctx, s0_src;
  assign s1_stall = s1_valid_q && int_valid_q;
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

  logic            s2_valid_q, s2_probe_q, s2_begin_q;
  logic [CtxW-1:0] s2_ctx_q;
  pay_t            s2_pay_q;

  // What the check said of a new request; what comes behind a chunk.
  desc_t s1_new_desc, s1_adv_desc;
  pos_t  s1_new_pos, s1_adv_pos;
  logic  next_we;
  pos_t  next_pos;

  tpt_ram_1r1w #(.Width($bits(desc_t) + $bits(pos_t)), .Depth(NumCtx)) u_new (
    .clk_i,
    .we_i   (in_valid_i),
    .waddr_i(in_ctx_i),
    .wdata_i({in_desc_i, in_pos_i}),
    .raddr_i(s0_src),
    .rdata_o({s1_new_desc, s1_new_pos})
  );
  tpt_ram_1r1w #(.Width($bits(desc_t) + $bits(pos_t)), .Depth(NumCtx)) u_next (
    .clk_i,
    .we_i   (next_we),
    .waddr_i(s2_ctx_q),
    .wdata_i({s2_pay_q.desc, next_pos}),
    .raddr_i(s0_src),
    .rdata_o({s1_adv_desc, s1_adv_pos})
  );

  // ---------------------------------------------------------------------------------------------
  // S1: choose between a walk under way and a chunk; number of the entry at the level
  // ---------------------------------------------------------------------------------------------
  pay_t       s1_pay;
  logic       s1_probe;
  logic [5:0] s1_shift;
  logic [5:0] s1_e;

  always_comb begin
    if (int_valid_q) begin
      s1_pay   = int_pay_q;
      s1_probe = int_probe_q;
    end else begin
      s1_pay       = '0;
      s1_pay.desc  = s1_adv_q ? s1_adv_desc : s1_new_desc;
      s1_pay.pos   = s1_adv_q ? s1_adv_pos : s1_new_pos;
      s1_pay.first = !s1_adv_q;
      s1_pay.lvl   = 3'd1;
      if (s1_pay.desc.level == LevelFlat) s1_pay.desc.level = 3'd1;
      s1_probe = s1_pay.desc.level > 3'd1;
    end
    s1_e = 6'(s1_pay.desc.log_tpage) + 6'd9;
    unique case (s1_pay.lvl)
      3'd2:    s1_shift = s1_e;
      3'd3:    s1_shift = s1_e + s1_e;
      3'd4:    s1_shift = s1_e + s1_e + s1_e;
      default: s1_shift = '0;
    endcase
    s1_pay.eidx = s1_pay.pos.idx >> s1_shift;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s2_valid_q <= 1'b0;
      s2_begin_q <= 1'b0;
    end else begin
      s2_valid_q <= int_valid_q || s1_valid_q;
      s2_begin_q <= !int_valid_q && s1_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    s2_probe_q <= s1_probe;
    s2_ctx_q   <= int_valid_q ? int_ctx_q : s1_ctx_q;
    s2_pay_q   <= s1_pay;
  end

  // What comes behind this chunk. The bytes of the chunk are modulo 2^32: they only matter if it
  // does not reach the end, and then it is shorter than the request, which is at most 2^31 bytes.
  logic [LineLog:0] s2_room;
  logic             s2_end;
  logic [31:0]      s2_bytes;
  assign s2_room  = (LineLog + 1)'(LineEnt) - (LineLog + 1)'(s2_pay_q.eidx[LineLog-1:0]);
  assign s2_end   = s2_pay_q.pos.np <= 20'(s2_room);
  assign s2_bytes = (s2_pay_q.desc.log_page[5] ? '0 :
                     32'(s2_room) << s2_pay_q.desc.log_page[4:0]) - s2_pay_q.pos.off[31:0];
  assign next_we  = s2_begin_q;
  always_comb begin
    next_pos.idx = s2_pay_q.pos.idx + PageIdxW'(s2_room);
    next_pos.np  = s2_pay_q.pos.np - 20'(s2_room);
    next_pos.off = '0;
    next_pos.rem = s2_pay_q.pos.rem - s2_bytes;
  end
  assign sub_valid_o = s2_begin_q;
  assign sub_ctx_o   = s2_ctx_q;
  assign sub_more_o  = !s2_end;

  logic [LineW-1:0] s2_line;
  logic [SetW-1:0]  s2_set;
  logic [KeyW-1:0]  s2_key;
  assign s2_line = s2_pay_q.eidx[PageIdxW-1:LineLog];
  assign s2_key  = {s2_pay_q.desc.index, s2_pay_q.desc.gen, s2_pay_q.lvl, s2_line};
  assign s2_set  = s2_line[SetW-1:0] ^ s2_line[2*SetW-1:SetW] ^ s2_pay_q.desc.index[SetW-1:0] ^
                   {s2_pay_q.lvl - 3'd1, {(SetW - 3){1'b0}}};

  // ---------------------------------------------------------------------------------------------
  // Cache
  // ---------------------------------------------------------------------------------------------
  logic                res_valid, res_hit, res_fill, res_miss, res_bypass, res_killed;
  logic [CtxW-1:0]     res_ctx;
  logic                res_err;
  pay_t                res_pay;
  logic [AxiDataW-1:0] res_data;
  logic                rd_valid;
  logic [CtxW-1:0]     rd_ctx;
  pay_t                rd_pay;
  logic                kill_valid_q, unused_inv_done;
  logic [CtxW-1:0]     kill_ctx_q;

  logic                f_valid_q, f_err_q, d_valid_q, d_err_q;
  logic [CtxW-1:0]     f_ctx_q, d_ctx_q;
  logic [AxiDataW-1:0] f_data_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      f_valid_q <= 1'b0;
      d_valid_q <= 1'b0;
    end else begin
      f_valid_q <= r_valid_i;
      d_valid_q <= f_valid_q;
    end
  end
  always_ff @(posedge clk_i) begin
    f_ctx_q  <= r_ctx_i;
    f_data_q <= r_data_i;
    f_err_q  <= r_err_i;
    d_ctx_q  <= f_ctx_q;
    d_err_q  <= f_err_q;
  end
  assign ev_bus_o = d_valid_q && d_err_q;

  tpt_cache #(
    .NumCtx(NumCtx), .Sets(Sets), .Ways(Ways), .KeyW(KeyW), .IndexW(IndexW),
    .PayW($bits(pay_t)), .DataW(AxiDataW), .Beats(1), .ErrW(1)
  ) u_cache (
    .clk_i, .rst_ni, .ready_o,
    .sub_valid_i  (s2_valid_q),
    .sub_ctx_i    (s2_ctx_q),
    .sub_bypass_i (s2_pay_q.desc.level == LevelInline),
    .sub_probe_i  (s2_probe_q),
    .sub_set_i    (s2_set),
    .sub_key_i    (s2_key),
    .sub_pay_i    (s2_pay_q),
    .res_valid_o  (res_valid),
    .res_ctx_o    (res_ctx),
    .res_hit_o    (res_hit),
    .res_fill_o   (res_fill),
    .res_miss_o   (res_miss),
    .res_bypass_o (res_bypass),
    .res_killed_o (res_killed),
    .res_err_o    (res_err),
    .res_pay_o    (res_pay),
    .res_data_o   (res_data),
    .rd_valid_o   (rd_valid),
    .rd_ctx_o     (rd_ctx),
    .rd_pay_o     (rd_pay),
    .fill_we_i    (f_valid_q),
    .fill_ctx_i   (f_ctx_q),
    .fill_data_i  (f_data_q),
    .fdone_valid_i(d_valid_q),
    .fdone_ctx_i  (d_ctx_q),
    .fdone_store_i(!d_err_q),
    .fdone_err_i  (d_err_q),
    .kill_valid_i (kill_valid_q),
    .kill_ctx_i   (kill_ctx_q),
    .inv_valid_i  (1'b0),
    .inv_set_i    ('0),
    .inv_key_i    ('0),
    .inv_done_o   (unused_inv_done),
    .sweep_valid_i, .sweep_all_i, .sweep_index_i, .sweep_done_o,
    .ev_hit_o, .ev_miss_o, .ev_evict_o
  );

  // ---------------------------------------------------------------------------------------------
  // Reads: table page + entry number * 8, aligned to the line
  // ---------------------------------------------------------------------------------------------
  logic                arw_valid_q, arq_room;
  logic [CtxW-1:0]     arw_ctx_q;
  logic [FrameW-1:0]   arw_base_q;
  logic [PageIdxW-1:0] arw_eidx_q;
  logic [PageIdxW-1:0] rd_mask;
  logic                rd_top;

  assign rd_top = rd_pay.lvl == rd_pay.desc.level;
  // entries of one table page below the top; everything at the top (flat arrays)
  assign rd_mask = rd_top ? '1 : ~({PageIdxW{1'b1}} << (6'(rd_pay.desc.log_tpage) + 6'd9));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) arw_valid_q <= 1'b0;
    else arw_valid_q <= rd_valid;
  end
  always_ff @(posedge clk_i) begin
    arw_ctx_q  <= rd_ctx;
    arw_base_q <= rd_top ? rd_pay.desc.frame[0] : rd_pay.desc.frame[1];
    arw_eidx_q <= rd_pay.eidx & rd_mask;
  end

  logic [63:0] arw_addr;
  logic [63:0] arw_offs;
  assign arw_offs = {{(61 - PageIdxW){1'b0}}, arw_eidx_q[PageIdxW-1:LineLog],
                     {(LineLog + 3){1'b0}}};
  assign arw_addr = {arw_base_q, 12'b0} + arw_offs;

  tpt_fifo #(.Width(CtxW + 64), .Depth(NumCtx)) u_arq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(arw_valid_q), .wready_o(arq_room), .wdata_i({arw_ctx_q, arw_addr}),
    .rvalid_o(ar_valid_o), .rready_i(ar_ready_i), .rdata_o({ar_ctx_o, ar_addr_o}),
    .count_o(arq_cnt)
  );

  // ---------------------------------------------------------------------------------------------
  // P5: the line and what to do with it
  // ---------------------------------------------------------------------------------------------
  logic                p5_valid_q, p5_line_q, p5_miss_q, p5_inline_q, p5_killed_q, p5_err_q;
  logic [CtxW-1:0]     p5_ctx_q;
  pay_t                p5_pay_q;
  logic [AxiDataW-1:0] p5_data_q;
  logic [AxiDataW-1:0] res_inline;

  // pages of a level 0 region, as if they were a table line
  always_comb begin
    res_inline = '0;
    for (int unsigned j = 0; j < LineEnt; j++) begin
      if (LineEnt >= 4) begin
        if (j < 4) res_inline[64*j +: 64] = {res_pay.desc.frame[2'(j)], 12'b0};
      end else begin
        res_inline[64*j +: 64] = {res_pay.desc.frame[{res_pay.eidx[1], 1'(j)}], 12'b0};
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) p5_valid_q <= 1'b0;
    else p5_valid_q <= res_valid;
  end
  always_ff @(posedge clk_i) begin
    p5_line_q   <= res_hit || res_fill;
    p5_miss_q   <= res_miss;
    p5_inline_q <= res_bypass;
    p5_killed_q <= res_killed;
    p5_err_q    <= res_fill && res_err;
    p5_ctx_q    <= res_ctx;
    p5_pay_q    <= res_pay;
    p5_data_q   <= res_bypass ? res_inline : res_data;
  end

  // Judgement of one entry: {absent, bad}. `low` has ones below the page size.
  function automatic logic [1:0] judge(logic [63:0] ent, logic [MaxLogPage-1:0] low, logic flagged,
                                       logic write);
    logic absent, bad;
    if (flagged) begin
      absent = !ent[0];
      bad    = (|(ent[MaxLogPage-1:2] & low[MaxLogPage-1:2])) || (write && !ent[1]);
    end else begin
      absent = ent == '0;
      bad    = |(ent[MaxLogPage-1:0] & low);
    end
    return {absent, bad};
  endfunction

  logic                  p5_leaf, p5_flagged;
  logic [5:0]            p5_logp;
  logic [MaxLogPage-1:0] p5_low;
  logic [LineEnt-1:0][1:0] p5_judge;
  logic [LineLog-1:0]    p5_sel;
  logic [LineLog:0]      p5_room, p5_n, p5_good;
  logic                  p5_fault;
  logic [4:0]            p5_syn;
  logic                  p5_end;      // the chunk reaches the end of the request

  assign p5_leaf    = p5_inline_q || p5_pay_q.lvl == 3'd1;
  assign p5_flagged = p5_pay_q.desc.encoding == EncFlagged && !p5_inline_q;
  assign p5_logp    = p5_leaf ? p5_pay_q.desc.log_page : 6'(p5_pay_q.desc.log_tpage) + 6'd12;
  assign p5_low     = ~({MaxLogPage{1'b1}} << p5_logp);
  assign p5_sel     = p5_pay_q.eidx[LineLog-1:0];
  assign p5_room    = (LineLog + 1)'(LineEnt) - (LineLog + 1)'(p5_sel);
  assign p5_end     = p5_pay_q.pos.np <= 20'(p5_room);
  assign p5_n       = !p5_leaf ? (LineLog + 1)'(1) :
                      p5_end ? p5_pay_q.pos.np[LineLog:0] : p5_room;

  always_comb begin
    for (int unsigned j = 0; j < LineEnt; j++) begin
      p5_judge[j] = judge(p5_data_q[64*j +: 64], p5_low, p5_flagged,
                          p5_leaf && p5_pay_q.desc.write);
    end
    // first entry from p5_sel on, below p5_sel + p5_n, that is not good
    p5_good  = p5_n;
    p5_fault = 1'b0;
    p5_syn   = SynMttAbsent;
    for (int j = int'(LineEnt) - 1; j >= 0; j--) begin
      if (j >= int'(p5_sel) && (j - int'(p5_sel)) < int'(p5_n) && (|p5_judge[j])) begin
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
  end

  logic [63:0] p5_entry;
  assign p5_entry = p5_data_q[64*p5_sel +: 64];

  // ---------------------------------------------------------------------------------------------
  // P6: result, next level, or removal of a line that must not be kept
  // ---------------------------------------------------------------------------------------------
  logic p5_use, p5_result, p5_down, p5_kill;
  assign p5_use    = p5_valid_q && (p5_line_q || p5_inline_q);
  assign p5_result = p5_use && (p5_leaf || p5_fault);
  assign p5_down   = p5_use && !p5_leaf && !p5_fault;
  assign p5_kill   = p5_result && p5_fault && p5_line_q && !p5_err_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_o    <= 1'b0;
      commit_valid_o <= 1'b0;
      kill_valid_q   <= 1'b0;
      int_valid_q    <= 1'b0;
    end else begin
      out_valid_o    <= p5_result;
      commit_valid_o <= (p5_result && !p5_kill) || (p5_valid_q && p5_killed_q);
      kill_valid_q   <= p5_kill;
      int_valid_q    <= p5_down || (p5_valid_q && p5_miss_q);
    end
  end

  always_ff @(posedge clk_i) begin
    out_ctx_o      <= p5_ctx_q;
    commit_ctx_o   <= p5_ctx_q;
    kill_ctx_q     <= p5_ctx_q;
    for (int unsigned j = 0; j < LineEnt; j++) begin
      out_frame_o[j] <= p5_data_q[64*j + 12 +: FrameW];
    end
    out_sel_o      <= p5_leaf ? p5_sel : '0;
    out_good_o     <= p5_leaf ? p5_good : '0;
    out_fault_o    <= p5_fault;
    out_syndrome_o <= p5_fault ? p5_syn : SynOk;
    out_first_o    <= p5_pay_q.first;
    out_final_o    <= p5_fault || p5_end;
    out_log_page_o <= p5_pay_q.desc.log_page;
    out_off_o      <= p5_pay_q.pos.off;
    out_rem_o      <= p5_pay_q.pos.rem;

    // another level: up after a miss of a probe, down with the table page just found
    int_ctx_q   <= p5_ctx_q;
    int_pay_q   <= p5_pay_q;
    if (p5_miss_q) begin
      int_pay_q.lvl <= p5_pay_q.lvl + 3'd1;
      int_probe_q   <= (p5_pay_q.lvl + 3'd1) != p5_pay_q.desc.level;
    end else begin
      int_pay_q.lvl           <= p5_pay_q.lvl - 3'd1;
      int_pay_q.desc.frame[1] <= p5_entry[63:12];
      int_probe_q             <= 1'b0;
    end
  end

  `TPT_ASSERT(NewRoom_A, !in_valid_i || newq_room)
  `TPT_ASSERT(ReadRoom_A, !arw_valid_q || arq_room)
  `TPT_ASSERT(LevelUp_A, !(p5_valid_q && p5_miss_q) || p5_pay_q.lvl < p5_pay_q.desc.level)
  `TPT_ASSERT(LevelDown_A, !p5_down || p5_pay_q.lvl > 3'd1)
  `TPT_ASSERT(SomePages_A, !(p5_use && p5_leaf) || p5_pay_q.pos.np != '0)
  `TPT_ASSERT(InlineRange_A, !(p5_valid_q && p5_inline_q) || p5_pay_q.pos.idx < 40'd4)
  `TPT_ASSERT(GoodOrFault_A, !out_valid_o || out_good_o != '0 || out_fault_o)

  logic unused_ok;
  assign unused_ok = ^{newq_cnt, arq_cnt, p5_entry[11:0], rd_pay,
                       arw_eidx_q[LineLog-1:0]};

endmodule
