// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// MPT look-up: entries in memory behind a non-blocking on-chip cache.
///
/// In goes a request with its decoded key, out comes the request with its MPT entry, in any order
/// between contexts, one per clock. Requests that need no entry (see `in_lookup_i`) pass through.
/// Only entries that are VALID and have the right CRC are kept in the cache; FREE, INVALID and
/// corrupted ones, and those that memory answered with an error, are used once and forgotten.
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
  /// Width of what travels with a request.
  parameter int unsigned PayW     = 8,
  localparam int unsigned CtxW  = $clog2(NumCtx),
  localparam int unsigned Beats = MptW / AxiDataW,
  localparam int unsigned BeatCntW = (Beats > 1) ? $clog2(Beats) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                ready_o,
  // Table base, 64-byte aligned.
  input  logic [63:0]         mpt_base_i,

  // Request
  input  logic                in_valid_i,
  input  logic [CtxW-1:0]     in_ctx_i,
  input  logic                in_lookup_i,
  input  logic [IndexW-1:0]   in_index_i,
  input  logic [PayW-1:0]     in_pay_i,

  // Request with its entry
  output logic                out_valid_o,
  output logic [CtxW-1:0]     out_ctx_o,
  output logic                out_looked_up_o,
  output logic                out_bus_err_o,
  output logic                out_bad_o,       // CRC wrong
  output mpt_entry_t          out_entry_o,
  output logic [IndexW-1:0]   out_index_o,
  output logic [PayW-1:0]     out_pay_o,

  // Memory: 64-byte reads
  output logic                ar_valid_o,
  input  logic                ar_ready_i,
  output logic [CtxW-1:0]     ar_ctx_o,
  output logic [63:0]         ar_addr_o,
  input  logic                r_valid_i,
  input  logic [CtxW-1:0]     r_ctx_i,
  input  logic [AxiDataW-1:0] r_data_i,
  input  logic                r_last_i,
  input  logic                r_err_i,

  // Invalidate the cached copy of an entry. Hold valid until done (one clock).
  input  logic                inv_valid_i,
  input  logic [IndexW-1:0]   inv_index_i,
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
    logic [IndexW-1:0] index;
    logic [PayW-1:0]   pay;
  } pay_t;

  // ---------------------------------------------------------------------------------------------
  // Fill: CRC over the beats of an entry, then one `fdone`
  // ---------------------------------------------------------------------------------------------
  logic                f_valid_q, f_last_q, f_err_q;
  logic [CtxW-1:0]     f_ctx_q;
  logic [AxiDataW-1:0] f_data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) f_valid_q <= 1'b0;
    else f_valid_q <= r_valid_i;
  end
  always_ff @(posedge clk_i) begin
    f_last_q <= r_last_i;
    f_err_q  <= r_err_i;
    f_ctx_q  <= r_ctx_i;
    f_data_q <= r_data_i;
  end

  // Running state of each entry under way.
  logic [BeatCntW-1:0] run_cnt  [NumCtx];
  logic [15:0]         run_crc  [NumCtx];
  logic [15:0]         run_want [NumCtx];
  logic [1:0]          run_state[NumCtx];
  logic [NumCtx-1:0]   run_mid_q;  // not at the first beat
  logic [NumCtx-1:0]   run_err_q;

  logic                f_first;
  logic [BeatCntW-1:0] f_cnt;
  logic [15:0]         f_crc, f_want;
  logic [1:0]          f_state;
  logic                f_bus;

  assign f_first = !run_mid_q[f_ctx_q];
  assign f_cnt   = f_first ? '0 : run_cnt[f_ctx_q];
  assign f_want  = f_first ? f_data_q[127:112] : run_want[f_ctx_q];
  assign f_state = f_first ? f_data_q[1:0] : run_state[f_ctx_q];
  assign f_bus   = f_err_q || (!f_first && run_err_q[f_ctx_q]);

  always_comb begin
    f_crc = f_first ? '0 : run_crc[f_ctx_q];
    for (int unsigned b = 0; b < AxiDataW / 8; b++) begin
      f_crc = crc16_step(f_crc, (f_first && (b == 14 || b == 15)) ? 8'h00 : f_data_q[8*b +: 8]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (f_valid_q) begin
      run_cnt[f_ctx_q]   <= f_cnt + 1'b1;
      run_crc[f_ctx_q]   <= f_crc;
      run_want[f_ctx_q]  <= f_want;
      run_state[f_ctx_q] <= f_state;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_mid_q <= '0;
      run_err_q <= '0;
    end else if (f_valid_q) begin
      run_mid_q[f_ctx_q] <= !f_last_q;
      run_err_q[f_ctx_q] <= f_bus;
    end
  end

  logic [Beats-1:0] fill_we;
  always_comb begin
    fill_we        = '0;
    fill_we[f_cnt] = f_valid_q;
  end

  logic            d_valid_q, d_store_q, d_bus_q, d_bad_q;
  logic [CtxW-1:0] d_ctx_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) d_valid_q <= 1'b0;
    else d_valid_q <= f_valid_q && f_last_q;
  end
  always_ff @(posedge clk_i) begin
    d_ctx_q   <= f_ctx_q;
    d_bus_q   <= f_bus;
    d_bad_q   <= f_crc != f_want;
    d_store_q <= !f_bus && f_crc == f_want && f_state == StValid;
  end
  assign ev_bus_o = d_valid_q && d_bus_q;
  assign ev_bad_o = d_valid_q && !d_bus_q && d_bad_q;

  // ---------------------------------------------------------------------------------------------
  // Cache
  // ---------------------------------------------------------------------------------------------
  logic            res_hit, res_fill, res_miss, res_killed, res_bypass, res_valid;
  logic [CtxW-1:0] res_ctx;
  logic [1:0]      res_err;
  pay_t            res_pay;
  logic [MptW-1:0] res_data;
  logic            rd_valid;
  logic [CtxW-1:0] rd_ctx;
  pay_t            rd_pay;

  tpt_cache #(
    .NumCtx(NumCtx), .Sets(Sets), .Ways(Ways), .KeyW(IndexW), .IndexW(IndexW),
    .PayW($bits(pay_t)), .DataW(MptW), .Beats(Beats), .ErrW(2)
  ) u_cache (
    .clk_i, .rst_ni, .ready_o,
    .sub_valid_i  (in_valid_i),
    .sub_ctx_i    (in_ctx_i),
    .sub_bypass_i (!in_lookup_i),
    .sub_probe_i  (1'b0),
    .sub_set_i    (in_index_i[SetW-1:0]),
    .sub_key_i    (in_index_i),
    .sub_pay_i    ({in_index_i, in_pay_i}),
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
    .fill_we_i    (fill_we),
    .fill_ctx_i   (f_ctx_q),
    .fill_data_i  (f_data_q),
    .fdone_valid_i(d_valid_q),
    .fdone_ctx_i  (d_ctx_q),
    .fdone_store_i(d_store_q),
    .fdone_err_i  ({d_bus_q, d_bad_q}),
    .kill_valid_i (1'b0),
    .kill_ctx_i   ('0),
    .inv_valid_i,
    .inv_set_i    (inv_index_i[SetW-1:0]),
    .inv_key_i    (inv_index_i),
    .inv_done_o,
    .sweep_valid_i(flush_valid_i),
    .sweep_all_i  (1'b1),
    .sweep_index_i('0),
    .sweep_done_o (flush_done_o),
    .ev_hit_o, .ev_miss_o, .ev_evict_o
  );

  // ---------------------------------------------------------------------------------------------
  // Reads
  // ---------------------------------------------------------------------------------------------
  logic              arq_ready;
  logic [IndexW-1:0] arq_index;
  logic [CtxW:0]     arq_cnt;
  tpt_fifo #(.Width(CtxW + IndexW), .Depth(NumCtx)) u_arq (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .wvalid_i(rd_valid), .wready_o(arq_ready), .wdata_i({rd_ctx, rd_pay.index}),
    .rvalid_o(ar_valid_o), .rready_i(ar_ready_i), .rdata_o({ar_ctx_o, arq_index}),
    .count_o(arq_cnt)
  );
  assign ar_addr_o = mpt_base_i + {{(64 - IndexW - 6){1'b0}}, arq_index, 6'b0};

  // ---------------------------------------------------------------------------------------------
  // Result
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_valid_o <= 1'b0;
    else out_valid_o <= res_hit || res_fill || res_bypass;
  end
  always_ff @(posedge clk_i) begin
    out_ctx_o       <= res_ctx;
    out_looked_up_o <= !res_bypass;
    out_bus_err_o   <= res_fill && res_err[1];
    out_bad_o       <= res_fill && res_err[0];
    out_entry_o     <= res_data;
    out_index_o     <= res_pay.index;
    out_pay_o       <= res_pay.pay;
  end

  `TPT_ASSERT(ReadRoom_A, !rd_valid || arq_ready)
  `TPT_ASSERT(NoOtherResult_A, !res_miss && !res_killed)
  `TPT_ASSERT(LastBeat_A, !f_valid_q || (f_last_q == (32'(f_cnt) == Beats - 1)))

  logic unused_ok;
  assign unused_ok = ^{arq_cnt, rd_pay.pay, res_valid};

endmodule
