// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Flat-port wrapper of tpt_mtt_walker for its own bench: packed vectors only, the sizes of the
/// small configuration (16 contexts, 128 lines of two entries).
///
/// Bit offsets (least significant bit : width), from the packed structs of tpt_pkg:
///
///   in_desc_i  frame[0..3] 0:52 each  write 208:1  encoding 209:2  log_tpage 211:3
///              log_page 214:6  level 220:3  gen 223:8  index 231:23  relaxed 254:1
///              ondemand 255:1  tag 256:10                                      (266 bits)
///   in_pos_i   rem 0:32  off 32:43  np 75:20  idx 95:40                          (135 bits)
module tb_mtt_walker import tpt_pkg::*; (
  input  logic              clk_i,
  input  logic              rst_ni,
  output logic              ready_o,

  input  logic              in_valid_i,
  input  logic [3:0]        in_ctx_i,
  input  logic [265:0]      in_desc_i,
  input  logic [134:0]      in_pos_i,
  input  logic              adv_valid_i,
  output logic              adv_ready_o,
  input  logic [3:0]        adv_ctx_i,
  input  logic [3:0]        adv_src_i,
  output logic              sub_valid_o,
  output logic [3:0]        sub_ctx_o,
  output logic              sub_more_o,

  output logic              out_valid_o,
  output logic [3:0]        out_ctx_o,
  output logic [51:0]       out_frame0_o,
  output logic [51:0]       out_frame1_o,
  output logic              out_sel_o,
  output logic [1:0]        out_good_o,
  output logic              out_fault_o,
  output logic [4:0]        out_syndrome_o,
  output logic              out_first_o,
  output logic              out_final_o,
  output logic              out_relaxed_o,
  output logic [5:0]        out_log_page_o,
  output logic [42:0]       out_off_o,
  output logic [31:0]       out_rem_o,
  output logic              commit_valid_o,
  output logic [3:0]        commit_ctx_o,

  output logic              ar_valid_o,
  input  logic              ar_ready_i,
  output logic [3:0]        ar_ctx_o,
  output logic [63:0]       ar_addr_o,
  input  logic              r_valid_i,
  input  logic [3:0]        r_ctx_i,
  input  logic [127:0]      r_data_i,
  input  logic              r_err_i,

  input  logic              sweep_valid_i,
  input  logic              sweep_all_i,
  input  logic [IndexW-1:0] sweep_index_i,
  output logic              sweep_done_o
);

  if (($bits(desc_t) != 266) || ($bits(pos_t) != 135)) begin : g_bad_widths
    $fatal(1, "tb_mtt_walker: the package's structs are not those of the table above");
  end

  logic [1:0][FrameW-1:0] frame;
  logic                   ev_hit, ev_miss, ev_evict, ev_bus, unused_ok;
  logic [3:0]             pre_ctx;

  // The walker is told the context of an answer a clock ahead.
  logic                   r_valid_q, r_err_q;
  logic [3:0]             r_ctx_q;
  logic [127:0]           r_data_q;
  always_ff @(posedge clk_i) begin
    r_valid_q <= rst_ni && r_valid_i;
    r_ctx_q   <= r_ctx_i;
    r_data_q  <= r_data_i;
    r_err_q   <= r_err_i;
  end

  logic   unused_ar_soon, unused_fault_valid, unused_ans_ok;
  fault_t unused_fault;
  tpt_mtt_walker #(
    .NumCtx   (16),
    .Sets     (32),
    .Ways     (4),
    .DirSets  (8),
    .AxiDataW (128),
    .FaultSlots(0)
  ) u_walker (
    .clk_i,
    .rst_ni,
    .ready_o,
    .log_parts_i   (2'd0),
    .in_valid_i,
    .in_ctx_i,
    .in_desc_i     (desc_t'(in_desc_i)),
    .in_pos_i      (pos_t'(in_pos_i)),
    .in_part_i     ('0),
    .adv_valid_i,
    .adv_ready_o,
    .adv_ctx_i,
    .adv_src_i,
    .sub_valid_o,
    .sub_ctx_o,
    .sub_more_o,
    .out_valid_o,
    .out_ctx_o,
    .out_frame_o   (frame),
    .out_sel_o,
    .out_good_o,
    .out_fault_o,
    .out_syndrome_o,
    .out_first_o,
    .out_final_o,
    .out_relaxed_o,
    .out_log_page_o,
    .out_off_o,
    .out_rem_o,
    .pre_ctx_o     (pre_ctx),
    .commit_valid_o,
    .commit_ctx_o,
    .ar_valid_o,
    .ar_ready_i,
    .ar_soon_o (unused_ar_soon),
    .ar_ctx_o,
    .ar_addr_o,
    .r_pre_ctx_i   (r_ctx_i),
    .r_valid_i     (r_valid_q),
    .r_ctx_i       (r_ctx_q),
    .r_data_i      (r_data_q),
    .r_err_i       (r_err_q),
    .fault_valid_o (unused_fault_valid),
    .fault_o       (unused_fault),
    .stop_i        (1'b0),
    .taken_valid_i (1'b0),
    .taken_slot_i  (1'b0),
    .ans_valid_i   (1'b0),
    .ans_slot_i    (1'b0),
    .ans_refuse_i  (1'b0),
    .ans_ok_o      (unused_ans_ok),
    .fault_clear_i (1'b0),
    .sweep_valid_i,
    .sweep_all_i,
    .sweep_index_i,
    .sweep_done_o,
    .ev_hit_o      (ev_hit),
    .ev_miss_o     (ev_miss),
    .ev_evict_o    (ev_evict),
    .ev_bus_o      (ev_bus)
  );

  assign {out_frame1_o, out_frame0_o} = frame;
  assign unused_ok = ^{ev_hit, ev_miss, ev_evict, ev_bus, pre_ctx};

endmodule
