// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Flat-port wrapper of tpt_csr and tpt_refusal_log for their own bench: packed vectors only, four
/// clients, every part built.
///
///   refusal_i     of client c from bit 21 c on: syndrome 0:5  stream 5:6  tag 11:10
///   isolation_o   log_parts 0:2  pd_shift 2:5  map 7:32
///   alarm_set_o   clear_all 0  clear_pd 1  clear_stream 2  slot 3:4  stream 7:6  client 13:2
///                 block 15  pd_threshold 16:8  stream_threshold 24:8
///   alarm_show_i  pd_last 0:24  pd_count 24:8  stream_blocked 32  stream_count 33:8
module tb_csr
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
#(
  parameter int unsigned NumClients = 4
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  input  logic [CsrAddrW-1:0]       awaddr_i,
  input  logic                      awvalid_i,
  output logic                      awready_o,
  input  logic [31:0]               wdata_i,
  input  logic [3:0]                wstrb_i,
  input  logic                      wvalid_i,
  output logic                      wready_o,
  output logic [1:0]                bresp_o,
  output logic                      bvalid_o,
  input  logic                      bready_i,
  input  logic [CsrAddrW-1:0]       araddr_i,
  input  logic                      arvalid_i,
  output logic                      arready_o,
  output logic [31:0]               rdata_o,
  output logic [1:0]                rresp_o,
  output logic                      rvalid_o,
  input  logic                      rready_i,

  output logic                      irq_o,
  output logic                      enable_o,
  output logic                      plain_o,
  output logic                      merge_o,
  output logic                      phys_o,
  output logic [63:0]               mpt_base_o,
  output logic [IndexW:0]           mpt_size_o,
  output logic [127:0]              perm_secret_o,
  output logic [127:0]              tag_secret_o,
  output logic [31:0]               fence_time_o,
  output logic [NumClients-1:0]     client_reset_o,
  input  logic [NumClients-1:0]     client_reset_done_i,
  input  logic                      ready_i,
  input  logic                      clearing_i,
  input  logic                      clear_error_i,
  input  logic                      fence_busy_i,
  input  logic                      idle_i,
  input  logic [4*NumCounters-1:0]  cnt_inc_i,
  input  logic [NumErrors-1:0]      err_set_i,
  input  logic [NumClients-1:0]     refused_i,
  input  logic [21*NumClients-1:0]  refusal_i,
  input  logic [7:0]                fault_count_i,
  input  logic                      fault_valid_i,
  input  logic [IndexW-1:0]         fault_index_i,
  input  logic [PageIdxW-1:0]       fault_page_i,
  input  logic                      fault_write_i,
  input  logic [6:0]                fault_slot_i,
  input  logic                      fault_held_i,
  input  logic [1:0]                fault_client_i,
  input  logic [TagW-1:0]           fault_tag_i,
  input  logic                      fault_event_i,
  output logic                      fault_pop_o,
  output logic                      queue_enable_o,
  output logic                      queue_arm_o,
  output logic [63:0]               cmdq_base_o,
  output logic [4:0]                cmdq_log_size_o,
  output logic [15:0]               cmdq_tail_o,
  output logic                      cmdq_doorbell_o,
  output logic [63:0]               cplq_base_o,
  output logic [4:0]                cplq_log_size_o,
  output logic [15:0]               cplq_head_o,
  output logic                      cplq_doorbell_o,
  input  logic [15:0]               cmdq_head_i,
  input  logic [15:0]               cplq_tail_i,
  input  logic                      queue_enabled_i,
  input  logic                      queue_busy_i,
  input  logic                      queue_error_i,
  input  logic                      queue_full_i,
  input  logic                      queue_event_i,
  output logic [31:0]               doorbell_value_o,
  input  logic                      cmdq_tail_bad_i,
  input  logic                      cplq_head_bad_i,
  output logic [3:0]                window_enable_o,
  output logic [4*FrameW-1:0]       window_base_o,
  output logic [4*FrameW-1:0]       window_limit_o,
  output logic [$bits(isolation_t)-1:0]  isolation_o,
  output logic [RefusalTimeW-1:0]   refusal_clocks_o,
  output logic [$bits(alarm_set_t)-1:0]  alarm_set_o,
  input  logic [$bits(alarm_show_t)-1:0] alarm_show_i,
  input  logic [16*NumClients-1:0]  blocked_i,
  input  logic                      alarm_i
);

  if ($bits(refusal_t) != 21) begin : g_bad_widths
    $fatal(1, "tb_csr: refusal_t is not that of the table above");
  end

  logic                        refused;
  logic [NumSynCount-1:0][2:0] syn_inc;
  logic [31:0]                 log_count;
  refusal_t [NumLog-1:0]       log_entry;
  logic [NumLog-1:0][1:0]      log_client;

  tpt_refusal_log #(.NumClients(NumClients)) u_log (
    .clk_i, .rst_ni,
    .valid_i  (refused_i),
    .refusal_i(refusal_i),
    .any_o    (refused),
    .inc_o    (syn_inc),
    .count_o  (log_count),
    .entry_o  (log_entry),
    .client_o (log_client)
  );

  tpt_csr #(
    .NumClients(NumClients), .Frmr(1), .Queues(1), .Windows(1), .FaultSlots(8), .Partitions(4),
    .GuessAlarm(1), .AlarmPds(128), .RefusalTime(1)
  ) u_csr (
    .clk_i, .rst_ni,
    .s_axil_awaddr_i (awaddr_i),
    .s_axil_awvalid_i(awvalid_i),
    .s_axil_awready_o(awready_o),
    .s_axil_wdata_i  (wdata_i),
    .s_axil_wstrb_i  (wstrb_i),
    .s_axil_wvalid_i (wvalid_i),
    .s_axil_wready_o (wready_o),
    .s_axil_bresp_o  (bresp_o),
    .s_axil_bvalid_o (bvalid_o),
    .s_axil_bready_i (bready_i),
    .s_axil_araddr_i (araddr_i),
    .s_axil_arvalid_i(arvalid_i),
    .s_axil_arready_o(arready_o),
    .s_axil_rdata_o  (rdata_o),
    .s_axil_rresp_o  (rresp_o),
    .s_axil_rvalid_o (rvalid_o),
    .s_axil_rready_i (rready_i),
    .irq_o, .enable_o, .plain_o, .merge_o, .phys_o, .mpt_base_o, .mpt_size_o, .perm_secret_o,
    .tag_secret_o, .fence_time_o, .client_reset_o, .client_reset_done_i,
    .ready_i, .clearing_i, .clear_error_i, .fence_busy_i, .idle_i,
    .cnt_inc_i,
    .syn_inc_i       (syn_inc),
    .err_set_i,
    .refused_i       (refused),
    .log_count_i     (log_count),
    .log_entry_i     (log_entry),
    .log_client_i    (log_client),
    .fault_count_i, .fault_valid_i,
    .fault_i ('{client: fault_client_i, tag: fault_tag_i, write: fault_write_i, held: fault_held_i,
                slot: fault_slot_i, index: fault_index_i, page: fault_page_i}),
    .fault_event_i, .fault_pop_o,
    .queue_enable_o, .queue_arm_o, .cmdq_base_o, .cmdq_log_size_o, .cmdq_tail_o, .cmdq_doorbell_o,
    .cplq_base_o, .cplq_log_size_o, .cplq_head_o, .cplq_doorbell_o, .cmdq_head_i, .cplq_tail_i,
    .queue_enabled_i, .queue_busy_i, .queue_error_i, .queue_full_i, .queue_event_i,
    .doorbell_value_o, .cmdq_tail_bad_i, .cplq_head_bad_i,
    .window_enable_o, .window_base_o, .window_limit_o,
    .isolation_o, .refusal_clocks_o, .alarm_set_o, .alarm_show_i, .blocked_i, .alarm_i
  );

endmodule
