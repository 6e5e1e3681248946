// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Translation and protection unit with struct ports.
///
///                 ┌────────── lane ────────────────────┐  (Lanes of them)
///     clients ──► MPT look-up ──► check ──► MTT walker ──► clients
///       │ contexts     │ cache,      │ refusals    │ cache       │ beats
///       │ order, tags  │ key decoder │             │ directory   │
///       │              └──── AXI read manager ─────┘             │
///       └──────────────── epochs ◄── fence ◄── registration engine ──► AXI write manager
///
/// Each lane takes one request per clock; nothing in it stalls. A key belongs to one lane, by bits
/// of its index field, so all of one request happens in one lane. See
/// docs/theory-of-operation.md.
module tpt_core
  import tpt_pkg::*;
  import tpt_csr_pkg::*;
#(
  /// Clients, 1 to 4.
  parameter int unsigned NumClients  = 2,
  /// Streams per client, a power of two, 2 to 64.
  parameter int unsigned NumStreams  = 16,
  /// Contexts of all clients together, a power of two, at least 2 per client.
  parameter int unsigned NumContexts = 16,
  /// MPT cache: sets (power of two) and ways.
  parameter int unsigned MptSets     = 32,
  parameter int unsigned MptWays     = 2,
  /// MTT cache: sets (power of two, at least 8) and ways.
  parameter int unsigned MttSets     = 32,
  parameter int unsigned MttWays     = 4,
  /// Directory lines of the MTT walker, a power of two, at least 8.
  parameter int unsigned DirSets     = 32,
  /// Width of the memory port: 128, 256 or 512.
  parameter int unsigned AxiDataW    = 128,
  /// Deepest tree of table pages: 3 or 4.
  parameter int unsigned MaxLevels   = 3,
  /// Lanes: 1, 2 or 4. Each has its own MPT look-up, check and walker, with caches of the sizes
  /// above, and takes one request per clock.
  parameter int unsigned Lanes       = 1,
  /// Neighbouring pages of a request can be merged into one segment: 0 leaves it out.
  parameter int unsigned MergeSegs   = 1,
  /// Command and completion queue in host memory: 0 leaves them out.
  parameter int unsigned CmdQueue    = 1,
  /// Table entries can be CHECKED: 0 leaves it out.
  parameter int unsigned MttChecked  = 1,
  /// Slots for page faults of each lane, a power of two up to 32; 0 leaves on-demand regions out.
  parameter int unsigned FaultSlots  = 4,
  /// Host windows: 4, or 0 to leave them out.
  parameter int unsigned NumWindows  = 4,
  /// Partitions of caches, contexts and slots for page faults: 4, or 1 to leave them out.
  parameter int unsigned Partitions  = 4,
  /// Counts of bad keys and blocked streams: 0 leaves them out.
  parameter int unsigned GuessAlarm  = 1,
  /// Counts of bad keys of PDs, a power of two, 16 to 256: PDs equal modulo that share one.
  parameter int unsigned AlarmPds    = 16,
  /// Refusals of peers can leave at a fixed time: 0 leaves that out.
  parameter int unsigned RefusalTime = 1,
  localparam int unsigned CtxW   = $clog2(NumContexts),
  localparam int unsigned AxiIdW = CtxW + $clog2(Lanes) + 4
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,

  // Request, response, done: one of each per client
  input  logic  [NumClients-1:0]  req_valid_i,
  output logic  [NumClients-1:0]  req_ready_o,
  input  req_t  [NumClients-1:0]  req_i,
  output logic  [NumClients-1:0]  rsp_valid_o,
  input  logic  [NumClients-1:0]  rsp_ready_i,
  output rsp_t  [NumClients-1:0]  rsp_o,
  output logic  [NumClients-1:0][3:0] req_room_o,  // partitions with a context left
  input  logic  [NumClients-1:0]  done_valid_i,
  output logic  [NumClients-1:0]  done_ready_o,
  input  done_t [NumClients-1:0]  done_i,

  // Command, completion
  input  logic                    cmd_valid_i,
  output logic                    cmd_ready_o,
  input  cmd_t                    cmd_i,
  output logic                    cpl_valid_o,
  input  logic                    cpl_ready_i,
  output cpl_t                    cpl_o,

  // Registers: AXI4-Lite subordinate
  input  logic [CsrAddrW-1:0]     s_axil_awaddr_i,
  input  logic                    s_axil_awvalid_i,
  output logic                    s_axil_awready_o,
  input  logic [31:0]             s_axil_wdata_i,
  input  logic [3:0]              s_axil_wstrb_i,
  input  logic                    s_axil_wvalid_i,
  output logic                    s_axil_wready_o,
  output logic [1:0]              s_axil_bresp_o,
  output logic                    s_axil_bvalid_o,
  input  logic                    s_axil_bready_i,
  input  logic [CsrAddrW-1:0]     s_axil_araddr_i,
  input  logic                    s_axil_arvalid_i,
  output logic                    s_axil_arready_o,
  output logic [31:0]             s_axil_rdata_o,
  output logic [1:0]              s_axil_rresp_o,
  output logic                    s_axil_rvalid_o,
  input  logic                    s_axil_rready_i,
  // Interrupt: a level
  output logic                    irq_o,

  // Memory: AXI4 manager
  output logic [AxiIdW-1:0]       m_axi_awid_o,
  output logic [63:0]             m_axi_awaddr_o,
  output logic [7:0]              m_axi_awlen_o,
  output logic [2:0]              m_axi_awsize_o,
  output logic [1:0]              m_axi_awburst_o,
  output logic                    m_axi_awvalid_o,
  input  logic                    m_axi_awready_i,
  output logic [AxiDataW-1:0]     m_axi_wdata_o,
  output logic [AxiDataW/8-1:0]   m_axi_wstrb_o,
  output logic                    m_axi_wlast_o,
  output logic                    m_axi_wvalid_o,
  input  logic                    m_axi_wready_i,
  input  logic [AxiIdW-1:0]       m_axi_bid_i,
  input  logic [1:0]              m_axi_bresp_i,
  input  logic                    m_axi_bvalid_i,
  output logic                    m_axi_bready_o,
  output logic [AxiIdW-1:0]       m_axi_arid_o,
  output logic [63:0]             m_axi_araddr_o,
  output logic [7:0]              m_axi_arlen_o,
  output logic [2:0]              m_axi_arsize_o,
  output logic [1:0]              m_axi_arburst_o,
  output logic                    m_axi_arvalid_o,
  input  logic                    m_axi_arready_i,
  input  logic [AxiIdW-1:0]       m_axi_rid_i,
  input  logic [AxiDataW-1:0]     m_axi_rdata_i,
  input  logic [1:0]              m_axi_rresp_i,
  input  logic                    m_axi_rlast_i,
  input  logic                    m_axi_rvalid_i,
  output logic                    m_axi_rready_o
);

  // A context number is {client, context of the client}.
  localparam int unsigned ClientW     = (NumClients > 1) ? $clog2(NumClients) : 1;
  localparam int unsigned ClientSlots = (NumClients > 1) ? (1 << ClientW) : 1;
  localparam int unsigned LCtx        = NumContexts / ClientSlots;
  localparam int unsigned LCtxW       = $clog2(LCtx);
  localparam int unsigned StrW        = $clog2(NumStreams);
  localparam int unsigned LineEnt     = AxiDataW / 64;
  localparam int unsigned LineLog     = $clog2(LineEnt);

  if (NumClients < 1 || NumClients > 4) begin : g_bad_clients
    $fatal(1, "tpt_core: NumClients must be 1 to 4");
  end
  if ((NumContexts & (NumContexts - 1)) != 0 || NumContexts / ClientSlots < 2) begin : g_bad_ctx
    $fatal(1, "tpt_core: NumContexts must be a power of two, at least 2 per client");
  end
  localparam int unsigned LaneW = (Lanes > 1) ? $clog2(Lanes) : 1;
  if (Lanes != 1 && Lanes != 2 && Lanes != 4) begin : g_bad_lanes
    $fatal(1, "tpt_core: Lanes must be 1, 2 or 4");
  end
  localparam int unsigned SlotW    = (FaultSlots > 1) ? $clog2(FaultSlots) : 0;
  localparam int unsigned SlotBits = (SlotW > 0) ? SlotW : 1;
  localparam int unsigned AllSlots = FaultSlots * Lanes;
  if (FaultSlots > 32 || (FaultSlots & (FaultSlots - 1)) != 0) begin : g_bad_slots
    $fatal(1, "tpt_core: FaultSlots must be 0 or a power of two up to 32");
  end
  if (Partitions != 1 && (Partitions != 4 || LCtx < 4)) begin : g_bad_parts
    $fatal(1, "tpt_core: Partitions must be 1, or 4 with at least 4 contexts per client");
  end
  if (AlarmPds < 16 || AlarmPds > 256 || (AlarmPds & (AlarmPds - 1)) != 0) begin : g_bad_pds
    $fatal(1, "tpt_core: AlarmPds must be a power of two, 16 to 256");
  end
  if (MaxLevels < 3 || MaxLevels > 4) begin : g_bad_levels
    $fatal(1, "tpt_core: MaxLevels must be 3 or 4");
  end

  // ---------------------------------------------------------------------------------------------
  // Reset generation: not reset itself. Any start value will do; it has one so that simulators
  // with unknown values know it, too.
  // ---------------------------------------------------------------------------------------------
  logic       rst_q;
  logic [1:0] gen_q;
  initial begin
    rst_q = 1'b0;
    gen_q = 2'd0;
  end
  always_ff @(posedge clk_i) begin
    rst_q <= rst_ni;
    if (rst_q && !rst_ni) gen_q <= gen_q + 2'd1;
  end

  // ---------------------------------------------------------------------------------------------
  // Registers, fence, registration engine
  // ---------------------------------------------------------------------------------------------
  logic                          csr_enable, csr_plain, csr_merge, csr_phys;
  logic [63:0]                   csr_mpt_base;
  logic [IndexW:0]               csr_mpt_size;
  logic [127:0]                  csr_perm_secret, csr_tag_secret;
  logic [31:0]                   csr_fence_time;
  logic [NumClients-1:0]         client_reset, client_reset_done;
  logic                          eng_ready, eng_clearing, eng_clear_error, eng_fence_busy;
  logic                          all_idle;
  logic                          enter_q;    // requests may enter
  logic [NumCounters-1:0][3:0]   cnt_inc;
  logic [NumErrors-1:0]          err_set;
  logic [NumSynCount-1:0][2:0]   syn_inc;
  logic                          refused;
  logic [31:0]                   log_count;
  refusal_t [NumLog-1:0]         log_entry;
  logic [NumLog-1:0][1:0]        log_client;
  // Page faults
  logic                          fault_valid, fault_event, fault_pop, fault_taken;
  logic                          ans_valid, ans_refuse, ans_ok;
  logic [6:0]                    ans_slot;
  logic [7:0]                    fault_count;
  fault_t                        fault;
  // Queues in memory
  logic                          queue_enable, queue_arm, queue_enabled, queue_busy, queue_error;
  logic                          queue_full, queue_event, queue_ev_bus;
  logic [31:0]                   doorbell_value;
  logic                          cmdq_tail_bad, cplq_head_bad;
  logic [15:0]                   cmdq_head, cplq_tail;

  logic [63:0]                   cmdq_base, cplq_base;
  logic [4:0]                    cmdq_log_size, cplq_log_size;
  logic [15:0]                   cmdq_tail, cplq_head;
  logic                          cmdq_doorbell, cplq_doorbell;
  logic [NumHostwinBaseLo-1:0]             window_enable;
  logic [NumHostwinBaseLo-1:0][FrameW-1:0] window_base, window_limit;
  // Tenants, bad keys, time of refusals
  isolation_t                    isolation;
  alarm_set_t                    alarm_set;
  alarm_show_t                   alarm_show;
  logic [RefusalTimeW-1:0]       refusal_clocks;
  logic [NumClients-1:0][NumStreams-1:0] blocked;
  logic                          alarm;
  logic unused_parts;
  assign unused_parts = ^{cmdq_doorbell, cplq_doorbell, cmdq_base[11:0], cplq_base[11:0]};

  tpt_csr #(
    .NumClients(NumClients), .NumContexts(NumContexts), .NumStreams(NumStreams),
    .MptSets(MptSets), .MptWays(MptWays), .MttSets(MttSets), .MttWays(MttWays),
    .AxiDataW(AxiDataW), .MaxLevels(MaxLevels), .Lanes(Lanes), .MergeSegs(MergeSegs),
    .Frmr(1), .Queues(CmdQueue), .FaultSlots(AllSlots), .MttChecked(MttChecked),
    .Windows(NumWindows), .Partitions(Partitions), .GuessAlarm(GuessAlarm),
    .AlarmPds(AlarmPds), .RefusalTime(RefusalTime)
  ) u_csr (
    .clk_i, .rst_ni,
    .s_axil_awaddr_i, .s_axil_awvalid_i, .s_axil_awready_o,
    .s_axil_wdata_i, .s_axil_wstrb_i, .s_axil_wvalid_i, .s_axil_wready_o,
    .s_axil_bresp_o, .s_axil_bvalid_o, .s_axil_bready_i,
    .s_axil_araddr_i, .s_axil_arvalid_i, .s_axil_arready_o,
    .s_axil_rdata_o, .s_axil_rresp_o, .s_axil_rvalid_o, .s_axil_rready_i,
    .irq_o,
    .enable_o           (csr_enable),
    .plain_o            (csr_plain),
    .merge_o            (csr_merge),
    .phys_o             (csr_phys),
    .mpt_base_o         (csr_mpt_base),
    .mpt_size_o         (csr_mpt_size),
    .perm_secret_o      (csr_perm_secret),
    .tag_secret_o       (csr_tag_secret),
    .fence_time_o       (csr_fence_time),
    .client_reset_o     (client_reset),
    .client_reset_done_i(client_reset_done),
    .ready_i            (eng_ready),
    .clearing_i         (eng_clearing),
    .clear_error_i      (eng_clear_error),
    .fence_busy_i       (eng_fence_busy),
    .idle_i             (all_idle),
    .cnt_inc_i          (cnt_inc),
    .syn_inc_i          (syn_inc),
    .err_set_i          (err_set),
    .refused_i          (refused),
    .log_count_i        (log_count),
    .log_entry_i        (log_entry),
    .log_client_i       (log_client),
    .fault_count_i      (fault_count),
    .fault_valid_i      (fault_valid),
    .fault_i            (fault_valid ? fault : '0),
    .fault_event_i      (fault_event),
    .fault_pop_o        (fault_pop),
    .queue_enable_o     (queue_enable),
    .queue_arm_o        (queue_arm),
    .cmdq_base_o        (cmdq_base),
    .cmdq_log_size_o    (cmdq_log_size),
    .cmdq_tail_o        (cmdq_tail),
    .cmdq_doorbell_o    (cmdq_doorbell),
    .cplq_base_o        (cplq_base),
    .cplq_log_size_o    (cplq_log_size),
    .cplq_head_o        (cplq_head),
    .cplq_doorbell_o    (cplq_doorbell),
    .cmdq_head_i        (cmdq_head),
    .cplq_tail_i        (cplq_tail),
    .queue_enabled_i    (queue_enabled),
    .queue_busy_i       (queue_busy),
    .queue_error_i      (queue_error),
    .queue_full_i       (queue_full),
    .queue_event_i      (queue_event && queue_arm),
    .doorbell_value_o   (doorbell_value),
    .cmdq_tail_bad_i    (cmdq_tail_bad),
    .cplq_head_bad_i    (cplq_head_bad),
    .window_enable_o    (window_enable),
    .window_base_o      (window_base),
    .window_limit_o     (window_limit),
    .isolation_o        (isolation),
    .refusal_clocks_o   (refusal_clocks),
    .alarm_set_o        (alarm_set),
    .alarm_show_i       (alarm_show),
    .blocked_i          (blocked),
    .alarm_i            (alarm)
  );

  logic                  epoch, fence_req, fence_busy, fence_flip;
  logic [7:0]            fence_ticket, fence_done_ticket;
  logic [NumClients-1:0] old_empty;
  tpt_fence #(.NumClients(NumClients)) u_fence (
    .clk_i, .rst_ni,
    .epoch_o      (epoch),
    .old_empty_i  (old_empty),
    .req_i        (fence_req),
    .ticket_o     (fence_ticket),
    .done_ticket_o(fence_done_ticket),
    .busy_o       (fence_busy),
    .flip_o       (fence_flip)
  );

  logic              eng_rd_valid, eng_rd_ready, eng_rsp_valid, eng_rsp_err;
  logic [63:0]       eng_rd_addr;
  logic [MptW-1:0]   eng_rsp_data;
  logic              eng_wr_valid, eng_wr_ready, eng_wr_done, eng_wr_err;
  logic [63:0]       eng_wr_addr;
  logic [MptW-1:0]   eng_wr_data;
  logic              inv_valid, inv_done, sweep_valid, sweep_done, flush_valid, flush_done;
  logic [FieldW-1:0] inv_field;
  logic [IndexW-1:0] sweep_index;
  logic              eng_ev_bus, eng_ev_bad, eng_ev_time;
  logic              eng_cmd_valid, eng_cmd_ready, eng_cmd_src;
  logic              eng_cpl_valid, eng_cpl_ready, eng_cpl_src;
  cmd_t              eng_cmd;
  cpl_t              eng_cpl;

  tpt_reg_engine #(
    .MaxLevels(MaxLevels), .FaultSlots(AllSlots), .MttChecked(MttChecked)
  ) u_engine (
    .clk_i, .rst_ni,
    .cmd_valid_i   (eng_cmd_valid),
    .cmd_ready_o   (eng_cmd_ready),
    .cmd_i         (eng_cmd),
    .cmd_src_i     (eng_cmd_src),
    .cpl_valid_o   (eng_cpl_valid),
    .cpl_ready_i   (eng_cpl_ready),
    .cpl_o         (eng_cpl),
    .cpl_src_o     (eng_cpl_src),
    .enable_i      (csr_enable),
    .plain_i       (csr_plain),
    .phys_i        (csr_phys),
    .mpt_base_i    (csr_mpt_base),
    .mpt_size_i    (csr_mpt_size),
    .perm_secret_i (csr_perm_secret),
    .tag_secret_i  (csr_tag_secret),
    .fence_time_i  (csr_fence_time),
    .rd_valid_o    (eng_rd_valid),
    .rd_ready_i    (eng_rd_ready),
    .rd_addr_o     (eng_rd_addr),
    .rd_rsp_valid_i(eng_rsp_valid),
    .rd_rsp_data_i (eng_rsp_data),
    .rd_rsp_err_i  (eng_rsp_err),
    .wr_valid_o    (eng_wr_valid),
    .wr_ready_i    (eng_wr_ready),
    .wr_addr_o     (eng_wr_addr),
    .wr_data_o     (eng_wr_data),
    .wr_done_i     (eng_wr_done),
    .wr_err_i      (eng_wr_err),
    .inv_valid_o   (inv_valid),
    .inv_field_o   (inv_field),
    .inv_done_i    (inv_done),
    .sweep_valid_o (sweep_valid),
    .sweep_index_o (sweep_index),
    .sweep_done_i  (sweep_done),
    .flush_o       (flush_valid),
    .flush_done_i  (flush_done),
    .idle_i        (all_idle && !enter_q),   // no request is inside, and none can enter
    .fence_req_o   (fence_req),
    .fence_ticket_i(fence_ticket),
    .fence_done_ticket_i(fence_done_ticket),
    .ans_valid_o   (ans_valid),
    .ans_slot_o    (ans_slot),
    .ans_refuse_o  (ans_refuse),
    .ans_ok_i      (ans_ok),
    .ready_o       (eng_ready),
    .clearing_o    (eng_clearing),
    .clear_error_o (eng_clear_error),
    .fence_busy_o  (eng_fence_busy),
    .err_bus_o     (eng_ev_bus),
    .err_mpt_bad_o (eng_ev_bad),
    .err_fence_time_o(eng_ev_time)
  );

  // ---------------------------------------------------------------------------------------------
  // Command queue: shares the engine with the direct channel, and the write port with the engine
  // ---------------------------------------------------------------------------------------------
  logic                wr_valid, wr_ready, wr_done;
  logic [63:0]         wr_addr;
  logic [MptW-1:0]     wr_data;
  logic                que_rd_valid, que_rd_ready, que_r_valid, que_r_last;
  logic [63:0]         que_rd_addr;
  logic [AxiDataW-1:0] r_data;
  logic                r_err;

  assign cpl_o = eng_cpl;

  if (CmdQueue != 0) begin : g_cmd_queue
    logic            que_cmd_valid, que_cmd_ready, que_cpl_valid, que_cpl_ready;
    cmd_t            que_cmd;
    logic            que_wr_valid, que_wr_ready, que_wr_done;
    logic [63:0]     que_wr_addr;
    logic [MptW-1:0] que_wr_data;
    logic            unused_clear;

    tpt_cmd_queue #(.AxiDataW(AxiDataW)) u_queue (
      .clk_i, .rst_ni,
      .enable_i       (queue_enable),
      .cmdq_base_i    (cmdq_base[63:12]),
      .cmdq_log_size_i(cmdq_log_size),
      .cplq_base_i    (cplq_base[63:12]),
      .cplq_log_size_i(cplq_log_size),
      .cmdq_tail_i    (cmdq_tail),
      .cplq_head_i    (cplq_head),
      .db_value_i     (doorbell_value),
      .cmdq_tail_bad_o(cmdq_tail_bad),
      .cplq_head_bad_o(cplq_head_bad),
      .db_clear_o     (unused_clear),
      .cmdq_head_o    (cmdq_head),
      .cplq_tail_o    (cplq_tail),
      .enabled_o      (queue_enabled),
      .busy_o         (queue_busy),
      .error_o        (queue_error),
      .full_o         (queue_full),
      .event_o        (queue_event),
      .err_bus_o      (queue_ev_bus),
      .cmd_valid_o    (que_cmd_valid),
      .cmd_ready_i    (que_cmd_ready),
      .cmd_o          (que_cmd),
      .cpl_valid_i    (que_cpl_valid),
      .cpl_ready_o    (que_cpl_ready),
      .cpl_i          (eng_cpl),
      .rd_valid_o     (que_rd_valid),
      .rd_ready_i     (que_rd_ready),
      .rd_addr_o      (que_rd_addr),
      .rd_beat_i      (que_r_valid),
      .rd_last_i      (que_r_last),
      .rd_data_i      (r_data),
      .rd_err_i       (r_err),
      .wr_valid_o     (que_wr_valid),
      .wr_ready_i     (que_wr_ready),
      .wr_addr_o      (que_wr_addr),
      .wr_data_o      (que_wr_data),
      .wr_done_i      (que_wr_done),
      .wr_err_i       (eng_wr_err)
    );

    tpt_cmd_arb u_cmd_arb (
      .clk_i, .rst_ni,
      .dir_cmd_valid_i(cmd_valid_i),
      .dir_cmd_ready_o(cmd_ready_o),
      .dir_cmd_i      (cmd_i),
      .dir_cpl_valid_o(cpl_valid_o),
      .dir_cpl_ready_i(cpl_ready_i),
      .que_cmd_valid_i(que_cmd_valid),
      .que_cmd_ready_o(que_cmd_ready),
      .que_cmd_i      (que_cmd),
      .que_cpl_valid_o(que_cpl_valid),
      .que_cpl_ready_i(que_cpl_ready),
      .cmd_valid_o    (eng_cmd_valid),
      .cmd_ready_i    (eng_cmd_ready),
      .cmd_o          (eng_cmd),
      .cmd_src_o      (eng_cmd_src),
      .cpl_valid_i    (eng_cpl_valid),
      .cpl_ready_o    (eng_cpl_ready),
      .cpl_src_i      (eng_cpl_src)
    );

    tpt_wr_arb u_wr_arb (
      .clk_i, .rst_ni,
      .a_valid_i(eng_wr_valid),
      .a_ready_o(eng_wr_ready),
      .a_addr_i (eng_wr_addr),
      .a_data_i (eng_wr_data),
      .a_done_o (eng_wr_done),
      .b_valid_i(que_wr_valid),
      .b_ready_o(que_wr_ready),
      .b_addr_i (que_wr_addr),
      .b_data_i (que_wr_data),
      .b_done_o (que_wr_done),
      .valid_o  (wr_valid),
      .ready_i  (wr_ready),
      .addr_o   (wr_addr),
      .data_o   (wr_data),
      .done_i   (wr_done)
    );
  end else begin : g_no_cmd_queue
    logic unused_queue;
    assign unused_queue = ^{queue_enable, cmdq_base, cplq_base, cmdq_log_size, cplq_log_size,
                            cmdq_tail, cplq_head, doorbell_value, eng_cpl_src, que_rd_ready,
                            que_r_valid, que_r_last};
    assign {queue_enabled, queue_busy, queue_error, queue_full} = '0;
    assign {queue_event, queue_ev_bus, cmdq_head, cplq_tail}    = '0;
    assign {cmdq_tail_bad, cplq_head_bad}                       = '1;
    assign eng_cmd_valid = cmd_valid_i;
    assign cmd_ready_o   = eng_cmd_ready;
    assign eng_cmd       = cmd_i;
    assign eng_cmd_src   = 1'b0;
    assign cpl_valid_o   = eng_cpl_valid;
    assign eng_cpl_ready = cpl_ready_i;
    assign que_rd_valid  = 1'b0;
    assign que_rd_addr   = '0;
    assign wr_valid      = eng_wr_valid;
    assign eng_wr_ready  = wr_ready;
    assign wr_addr       = eng_wr_addr;
    assign wr_data       = eng_wr_data;
    assign eng_wr_done   = wr_done;
  end

  tpt_axi_wr #(.AxiDataW(AxiDataW), .AxiIdW(AxiIdW)) u_axi_wr (
    .clk_i, .rst_ni,
    .gen_i      (gen_q),
    .req_valid_i(wr_valid),
    .req_ready_o(wr_ready),
    .req_addr_i (wr_addr),
    .req_data_i (wr_data),
    .done_o     (wr_done),
    .err_o      (eng_wr_err),
    .m_axi_awid_o, .m_axi_awaddr_o, .m_axi_awlen_o, .m_axi_awsize_o, .m_axi_awburst_o,
    .m_axi_awvalid_o, .m_axi_awready_i,
    .m_axi_wdata_o, .m_axi_wstrb_o, .m_axi_wlast_o, .m_axi_wvalid_o, .m_axi_wready_i,
    .m_axi_bid_i, .m_axi_bresp_i, .m_axi_bvalid_i, .m_axi_bready_o
  );

  // ---------------------------------------------------------------------------------------------
  // Caches are emptied once when the unit is enabled: no request enters until that has happened.
  // ---------------------------------------------------------------------------------------------
  logic mpt_ready, mtt_ready, flushed_q, hold;
  logic mpt_flush_done, mtt_sweep_done, mpt_flushed_q, mtt_flushed_q;
  logic [Lanes-1:0] ln_mpt_ready, ln_mtt_ready, ln_inv_done, ln_flush_done, ln_sweep_done;
  // what a lane has done while others have not; what a cache has while the other has not
  logic [Lanes-1:0] inv_done_q, flush_done_q, sweep_done_q;
  assign hold       = eng_clearing && !flushed_q;
  assign sweep_done = mtt_sweep_done && !flush_valid;
  assign mpt_ready      = &ln_mpt_ready;
  assign mtt_ready      = &ln_mtt_ready;
  tpt_all_done #(.N(Lanes)) u_inv_done (
    .clk_i, .rst_ni, .done_i(ln_inv_done), .done_q_o(inv_done_q), .all_o(inv_done)
  );
  tpt_all_done #(.N(Lanes)) u_flush_done (
    .clk_i, .rst_ni, .done_i(ln_flush_done), .done_q_o(flush_done_q), .all_o(mpt_flush_done)
  );
  tpt_all_done #(.N(Lanes)) u_sweep_done (
    .clk_i, .rst_ni, .done_i(ln_sweep_done), .done_q_o(sweep_done_q), .all_o(mtt_sweep_done)
  );
  tpt_all_done #(.N(2)) u_both_flushed (
    .clk_i, .rst_ni,
    .done_i  ({mpt_flush_done, mtt_sweep_done && flush_valid}),
    .done_q_o({mpt_flushed_q, mtt_flushed_q}),
    .all_o   (flush_done)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      flushed_q <= 1'b0;
      enter_q   <= 1'b0;
    end else begin
      flushed_q <= eng_clearing && (flushed_q || flush_done);
      enter_q   <= mpt_ready && mtt_ready && !hold;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Clients
  // ---------------------------------------------------------------------------------------------
  logic  [NumClients-1:0]            cl_ready, cl_idle, pop_valid, pop_grant, pop_busy;
  req_t  [NumClients-1:0]            pop_req;
  logic  [NumClients-1:0][LCtxW-1:0] pop_ctx;
  logic  [NumClients-1:0][PartW-1:0] pop_part;
  logic  [NumClients-1:0]            pop_blocked;
  logic  [NumClients-1:0][LaneW-1:0] pop_lane, adv_lane;
  logic  [NumClients-1:0]            adv_valid;
  logic  [NumClients-1:0][LCtxW-1:0] adv_ctx, adv_src;
  logic  [NumClients-1:0]            ev_request, ev_segment, ev_refused, ev_bad_done, ev_tag_busy;
  refusal_t [NumClients-1:0]         ev_refusal;
  logic  [NumClients-1:0]            starved;
  logic  [ClientSlots-1:0]           stop_q;    // its requests must not wait for the host

  // Of each lane
  logic [Lanes-1:0]                          sub_valid, sub_more;
  logic [Lanes-1:0][CtxW-1:0]                sub_ctx;
  logic [Lanes-1:0]                          dir_valid;
  logic [Lanes-1:0][CtxW-1:0]                dir_ctx;
  logic [Lanes-1:0][4:0]                     dir_syn;
  logic [Lanes-1:0]                          chk_valid, chk_fault, chk_first, chk_final, com_valid;
  logic [Lanes-1:0][CtxW-1:0]                chk_ctx, pre_ctx, com_ctx;
  logic [Lanes-1:0][LineEnt-1:0][FrameW-1:0] chk_frame;
  logic [Lanes-1:0][LineLog-1:0]             chk_sel;
  logic [Lanes-1:0][LineLog:0]               chk_good;
  logic [Lanes-1:0][4:0]                     chk_syn;
  logic [Lanes-1:0]                          chk_relaxed;
  logic [Lanes-1:0][5:0]                     chk_log_page;
  logic [Lanes-1:0][MaxLogPage-1:0]          chk_off;
  logic [Lanes-1:0][31:0]                    chk_rem;

  function automatic logic is_client(logic [CtxW-1:0] ctx, int unsigned c);
    return (ClientSlots == 1) || (32'(ctx >> LCtxW) == c);
  endfunction

  // Lane of a key: bits of its index field, which is as good as random if it is permuted.
  function automatic logic [LaneW-1:0] lane_of(logic [FieldW-1:0] field);
    logic unused_bits;
    unused_bits = ^field;
    return (Lanes == 1) ? '0 : field[LaneW-1:0] ^ field[12 +: LaneW];
  endfunction

  for (genvar c = 0; c < NumClients; c++) begin : g_client
    // results of the lanes that are for this client
    logic [Lanes-1:0]            dir_mine, chk_mine, com_mine, sub_mine;
    logic [Lanes-1:0][LCtxW-1:0] dir_lctx, chk_lctx, pre_lctx, com_lctx, sub_lctx;
    for (genvar l = 0; l < Lanes; l++) begin : g_mine
      assign dir_mine[l] = dir_valid[l] && is_client(dir_ctx[l], c);
      assign chk_mine[l] = chk_valid[l] && is_client(chk_ctx[l], c);
      assign com_mine[l] = com_valid[l] && is_client(com_ctx[l], c);
      assign sub_mine[l] = sub_valid[l] && is_client(sub_ctx[l], c);
      assign dir_lctx[l] = dir_ctx[l][LCtxW-1:0];
      assign chk_lctx[l] = chk_ctx[l][LCtxW-1:0];
      assign pre_lctx[l] = pre_ctx[l][LCtxW-1:0];
      assign com_lctx[l] = com_ctx[l][LCtxW-1:0];
      assign sub_lctx[l] = sub_ctx[l][LCtxW-1:0];
    end
    assign pop_lane[c] = lane_of(pop_req[c].key[31:8]);

    // Told with pop_busy: the stream is blocked.
    logic [StrW-1:0] pop_str_q;
    always_ff @(posedge clk_i) pop_str_q <= pop_req[c].stream[StrW-1:0];
    assign pop_blocked[c] = blocked[c][pop_str_q];

    tpt_client #(
      .NumCtx(LCtx), .NumStreams(NumStreams), .LineEnt(LineEnt), .Lanes(Lanes),
      .Merge(MergeSegs != 0), .NumWindows(NumWindows), .Parts(Partitions)
    ) u_client (
      .clk_i, .rst_ni,
      .enable_i      (enter_q),
      .isolation_i   (isolation),
      .room_o        (req_room_o[c]),
      .window_enable_i(window_enable),
      .window_base_i (window_base),
      .window_limit_i(window_limit),
      .ready_o       (cl_ready[c]),
      .idle_o        (cl_idle[c]),
      .req_valid_i   (req_valid_i[c]),
      .req_ready_o   (req_ready_o[c]),
      .req_i         (req_i[c]),
      .rsp_valid_o   (rsp_valid_o[c]),
      .rsp_ready_i   (rsp_ready_i[c]),
      .rsp_o         (rsp_o[c]),
      .done_valid_i  (done_valid_i[c]),
      .done_ready_o  (done_ready_o[c]),
      .done_i        (done_i[c]),
      .pop_valid_o   (pop_valid[c]),
      .pop_grant_i   (pop_grant[c]),
      .pop_req_o     (pop_req[c]),
      .pop_ctx_o     (pop_ctx[c]),
      .pop_part_o    (pop_part[c]),
      .pop_busy_o    (pop_busy[c]),
      .pop_lane_i    (pop_lane[c]),
      .dir_valid_i   (dir_mine),
      .dir_ctx_i     (dir_lctx),
      .dir_syndrome_i(dir_syn),
      .chk_valid_i   (chk_mine),
      .chk_ctx_i     (chk_lctx),
      .chk_frame_i   (chk_frame),
      .chk_sel_i     (chk_sel),
      .chk_good_i    (chk_good),
      .chk_fault_i   (chk_fault),
      .chk_syndrome_i(chk_syn),
      .chk_first_i   (chk_first),
      .chk_final_i   (chk_final),
      .chk_relaxed_i (chk_relaxed),
      .chk_log_page_i(chk_log_page),
      .chk_off_i     (chk_off),
      .chk_rem_i     (chk_rem),
      .pre_ctx_i     (pre_lctx),
      .commit_valid_i(com_mine),
      .commit_ctx_i  (com_lctx),
      .adv_valid_o   (adv_valid[c]),
      .adv_lane_o    (adv_lane[c]),
      .adv_ctx_o     (adv_ctx[c]),
      .adv_src_o     (adv_src[c]),
      .sub_valid_i   (sub_mine),
      .sub_ctx_i     (sub_lctx),
      .sub_more_i    (sub_more),
      .merge_i       (csr_merge),
      .starved_o     (starved[c]),
      .epoch_i       (epoch),
      .old_empty_o   (old_empty[c]),
      .reset_i       (client_reset[c]),
      .reset_done_o  (client_reset_done[c]),
      .ev_request_o  (ev_request[c]),
      .ev_segment_o  (ev_segment[c]),
      .ev_refused_o  (ev_refused[c]),
      .ev_refusal_o  (ev_refusal[c]),
      .ev_bad_done_o (ev_bad_done[c]),
      .ev_tag_busy_o (ev_tag_busy[c])
    );
  end
  assign all_idle = (&cl_idle) && mpt_ready && mtt_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) stop_q <= '0;
    else stop_q <= ClientSlots'(starved) | {ClientSlots{fence_busy || !eng_ready}};
  end

  // ---------------------------------------------------------------------------------------------
  // Requests into the lanes, one per clock and lane, round robin over the clients. With one lane
  // they go straight from the client; with more, each client has a queue in front of each lane, so
  // that a busy lane does not hold up requests for the others.
  // ---------------------------------------------------------------------------------------------
  // New requests; and those that come again, in the same lane, to look up the parent of a window:
  // they go first.
  logic [Lanes-1:0]            in_new, new_busy_q, new_blocked_q, par_valid_q, late_par_q;
  logic [Lanes-1:0][PartW-1:0] new_part;
  logic [Lanes-1:0][CtxW-1:0]  new_ctx, par_ctx_q;
  req_t [Lanes-1:0]            new_req, par_req;

  if (Lanes == 1) begin : g_straight
    logic [ClientW-1:0]    gnt_cl, late_cl_q;
    logic                  pop_any;
    logic [NumClients-1:0] pop_gnt;
    // who waits for a parent still asks, so that the arbiter does not forget
    tpt_rr_arb #(.N(NumClients)) u_pop_arb (
      .clk_i, .rst_ni,
      .req_i (pop_valid),
      .take_i(!par_valid_q[0]),
      .any_o (pop_any),
      .gnt_o (pop_gnt),
      .idx_o (gnt_cl)
    );
    assign in_new[0] = pop_any && !par_valid_q[0];
    assign pop_grant = pop_gnt & {NumClients{!par_valid_q[0]}};
    assign new_ctx[0]   = (ClientSlots == 1) ? CtxW'(pop_ctx[0])
                                             : CtxW'({gnt_cl, pop_ctx[gnt_cl]});
    assign new_req[0]   = pop_req[gnt_cl];
    assign new_part[0]  = pop_part[gnt_cl];
    // told a clock after the grant
    always_ff @(posedge clk_i) late_cl_q <= gnt_cl;
    assign new_busy_q[0]    = pop_busy[late_cl_q];
    assign new_blocked_q[0] = pop_blocked[late_cl_q];
  end else begin : g_queues
    localparam int unsigned QueueDepth = 16;
    typedef struct packed {
      logic             busy;
      logic             blocked;
      logic [PartW-1:0] part;
      logic [LCtxW-1:0] ctx;
      req_t             req;
    } item_t;
    logic  [Lanes-1:0][NumClients-1:0]                     q_valid, q_gnt;
    logic  [Lanes-1:0][NumClients-1:0][$clog2(QueueDepth):0] q_cnt;
    logic  [Lanes-1:0][NumClients-1:0]                     q_room;
    item_t [Lanes-1:0][NumClients-1:0]                     q_head;
    logic  [NumClients-1:0]                                f_valid_q;
    logic  [NumClients-1:0][LaneW-1:0]                     f_lane_q;
    item_t [NumClients-1:0]                                f_q, f_item;

    for (genvar c = 0; c < NumClients; c++) begin : g_pop
      // room for this one and for the one on its way
      assign pop_grant[c] = pop_valid[c] &&
                            32'(q_cnt[pop_lane[c]][c]) < QueueDepth - 1;
      always_ff @(posedge clk_i) begin
        if (!rst_ni) f_valid_q[c] <= 1'b0;
        else f_valid_q[c] <= pop_grant[c];
      end
      always_ff @(posedge clk_i) begin
        f_lane_q[c] <= pop_lane[c];
        f_q[c]      <= '{busy: 1'b0, blocked: 1'b0, part: pop_part[c], ctx: pop_ctx[c],
                         req: pop_req[c]};
      end
      always_comb begin
        f_item[c]      = f_q[c];
        f_item[c].busy = pop_busy[c];
        f_item[c].blocked = pop_blocked[c];
      end
    end
    for (genvar l = 0; l < Lanes; l++) begin : g_lane_in
      logic [ClientW-1:0]    cl;
      logic                  late_q, late_blocked_q, any;
      logic [NumClients-1:0] gnt;
      for (genvar c = 0; c < NumClients; c++) begin : g_queue
        tpt_fifo #(
          .Width($bits(item_t)), .Depth(QueueDepth), .FallThrough(1'b1)
        ) u_queue (
          .clk_i, .rst_ni, .clear_i(1'b0),
          .wvalid_i(f_valid_q[c] && f_lane_q[c] == LaneW'(l)), .wready_o(q_room[l][c]),
          .wdata_i(f_item[c]),
          .rvalid_o(q_valid[l][c]), .rready_i(q_gnt[l][c]), .rdata_o(q_head[l][c]),
          .count_o(q_cnt[l][c])
        );
        `TPT_ASSERT(LaneRoom_A, !(f_valid_q[c] && f_lane_q[c] == LaneW'(l)) || q_room[l][c])
      end
      // who waits for a parent still asks, so that the arbiter does not forget
      tpt_rr_arb #(.N(NumClients)) u_arb (
        .clk_i, .rst_ni,
        .req_i (q_valid[l]),
        .take_i(!par_valid_q[l]),
        .any_o (any),
        .gnt_o (gnt),
        .idx_o (cl)
      );
      assign in_new[l] = any && !par_valid_q[l];
      assign q_gnt[l]  = gnt & {NumClients{!par_valid_q[l]}};
      assign new_ctx[l] = (ClientSlots == 1) ? CtxW'(q_head[l][0].ctx)
                                             : CtxW'({cl, q_head[l][cl].ctx});
      assign new_req[l]  = q_head[l][cl].req;
      assign new_part[l] = q_head[l][cl].part;
      always_ff @(posedge clk_i) begin
        late_q         <= q_head[l][cl].busy;
        late_blocked_q <= q_head[l][cl].blocked;
      end
      assign new_busy_q[l]    = late_q;
      assign new_blocked_q[l] = late_blocked_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Lanes: MPT look-up with the key decoder, check, next chunks, walk
  // ---------------------------------------------------------------------------------------------
  logic [Lanes-1:0]            mpt_ar_valid, mpt_ar_ready, mpt_ar_soon, mpt_r_valid;
  logic [Lanes-1:0][CtxW-1:0]  mpt_ar_ctx, mtt_ar_ctx;
  logic [Lanes-1:0][63:0]      mpt_ar_addr, mtt_ar_addr;
  logic [Lanes-1:0]            mtt_ar_valid, mtt_ar_ready, mtt_ar_soon, mtt_r_valid;
  logic [CtxW-1:0]             r_ctx, r_pre_ctx;
  logic                        mpt_r_last;
  logic [Lanes-1:0]            mpt_hit, mpt_miss, mpt_evict, mpt_bus, mpt_bad;
  logic [Lanes-1:0]            mtt_hit, mtt_miss, mtt_evict, mtt_bus;
  logic   [Lanes-1:0]            ev_late, bad_valid;
  logic   [Lanes-1:0][4:0]       bad_syn;
  logic   [Lanes-1:0][1:0]       bad_client;
  logic   [Lanes-1:0][StrW-1:0]  bad_stream;
  logic   [Lanes-1:0][PdW-1:0]   bad_pd;
  logic   [Lanes-1:0]          ln_fault_valid, ln_ans_ok;
  fault_t [Lanes-1:0]          ln_fault;

  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    logic              l_valid, l_looked_up, l_bus, l_bad, l_busy, l_enabled, l_role, l_index_ok;
    logic              l_was_blocked, l_blocked;
    logic [PartW-1:0]  l_part;
    logic [CtxW-1:0]   l_ctx;
    mpt_entry_t        l_entry;
    logic [IndexW-1:0] l_index;
    req_t              l_req;
    logic              l_parent;

    tpt_mpt_lookup #(
      .NumCtx(NumContexts), .Sets(MptSets), .Ways(MptWays), .AxiDataW(AxiDataW),
      .Parts(Partitions)
    ) u_mpt (
      .clk_i, .rst_ni,
      .ready_o        (ln_mpt_ready[l]),
      .mpt_base_i     (csr_mpt_base),
      .mpt_size_i     (csr_mpt_size),
      .plain_i        (csr_plain),
      .perm_secret_i  (csr_perm_secret),
      .log_parts_i    (isolation.log_parts),
      .in_valid_i     (in_new[l] || par_valid_q[l]),
      .in_ctx_i       (par_valid_q[l] ? par_ctx_q[l] : new_ctx[l]),
      .in_req_i       (par_valid_q[l] ? par_req[l] : new_req[l]),
      .in_parent_i    (par_valid_q[l]),
      .in_part_i      (new_part[l]),
      .late_busy_i    (new_busy_q[l] && !late_par_q[l]),
      .late_blocked_i (new_blocked_q[l] && !late_par_q[l]),
      .late_enabled_i (eng_ready),
      .out_valid_o    (l_valid),
      .out_ctx_o      (l_ctx),
      .out_req_o      (l_req),
      .out_parent_o   (l_parent),
      .out_busy_o     (l_busy),
      .out_blocked_o  (l_was_blocked),
      .out_part_o     (l_part),
      .out_enabled_o  (l_enabled),
      .out_looked_up_o(l_looked_up),
      .out_bus_err_o  (l_bus),
      .out_bad_o      (l_bad),
      .out_index_ok_o (l_index_ok),
      .out_entry_o    (l_entry),
      .out_role_o     (l_role),
      .out_index_o    (l_index),
      .ar_valid_o     (mpt_ar_valid[l]),
      .ar_ready_i     (mpt_ar_ready[l]),
      .ar_soon_o      (mpt_ar_soon[l]),
      .ar_ctx_o       (mpt_ar_ctx[l]),
      .ar_addr_o      (mpt_ar_addr[l]),
      .r_valid_i      (mpt_r_valid[l]),
      .r_ctx_i        (r_ctx),
      .r_data_i       (r_data),
      .r_last_i       (mpt_r_last),
      .r_err_i        (r_err),
      .inv_valid_i    (inv_valid && !inv_done_q[l]),
      .inv_field_i    (inv_field),
      .inv_done_o     (ln_inv_done[l]),
      .flush_valid_i  (flush_valid && !mpt_flushed_q && !flush_done_q[l]),
      .flush_done_o   (ln_flush_done[l]),
      .ev_hit_o       (mpt_hit[l]),
      .ev_miss_o      (mpt_miss[l]),
      .ev_evict_o     (mpt_evict[l]),
      .ev_bus_o       (mpt_bus[l]),
      .ev_bad_o       (mpt_bad[l])
    );

    // What of the request goes along with its check.
    typedef struct packed {
      logic             blocked;
      logic             peer;      // it is a peer's
      logic [PartW-1:0] part;
      logic [StrW-1:0]  stream;
      logic [PdW-1:0]   pd;
      logic [CtxW-1:0]  ctx;
    } along_t;
    along_t          l_along, c_along;
    logic            c_valid, c_empty, c_walk, c_again, c_verdict;
    logic [CtxW-1:0] c_ctx;
    logic [4:0]      c_check, c_syn;
    logic [17:0]     unused_mask;
    desc_t           c_desc;
    pos_t            c_pos;
    // A blocked request is one that is not served, to the check.
    assign l_blocked = l_was_blocked && l_enabled && !l_busy;
    assign l_along   = '{blocked: l_blocked, peer: req_of_peer(l_req.op),
                         part: l_part,
                         stream: l_req.stream[StrW-1:0], pd: l_req.pd, ctx: l_ctx};
    tpt_mpt_check #(.PayW($bits(along_t)), .MttChecked(MttChecked)) u_check (
      .clk_i, .rst_ni,
      .valid_i    (l_valid),
      .pay_i      (l_along),
      .req_i      (l_req),
      .disabled_i (!l_enabled || l_blocked),
      .tag_busy_i (l_busy),
      .role_i     (l_role),
      .index_i    (l_index),
      .index_ok_i (l_index_ok),
      .looked_up_i(l_looked_up),
      .entry_i    (l_entry),
      .bus_err_i  (l_bus),
      .mpt_bad_i  (l_bad),
      .parent_i   (l_parent),
      .valid_o    (c_valid),
      .pay_o      (c_along),
      .syndrome_o (c_check),
      .empty_o    (c_empty),
      .again_o    (c_again),
      .mask_o     (unused_mask),
      .desc_o     (c_desc),
      .pos_o      (c_pos)
    );
    assign c_ctx     = c_along.ctx;
    assign c_syn     = c_along.blocked ? SynBlocked : c_check;
    assign c_walk    = c_valid && c_syn == SynOk && !c_empty;
    assign c_verdict = c_valid && !c_walk && !c_again;

    // A refusal of a peer's request by rules 2 to 11 leaves at its time.
    if (RefusalTime != 0) begin : g_refusal_time
      tpt_refusal_timer #(.NumCtx(NumContexts), .TimeW(RefusalTimeW)) u_timer (
        .clk_i, .rst_ni,
        .clocks_i      (refusal_clocks),
        .req_valid_i   (in_new[l] && !par_valid_q[l]),
        .req_ctx_i     (new_ctx[l]),
        .dir_valid_i   (c_verdict),
        .dir_ctx_i     (c_ctx),
        .dir_syndrome_i(c_syn),
        .dir_hold_i    (c_along.peer && syn_of_rules(c_syn)),
        .dir_valid_o   (dir_valid[l]),
        .dir_ctx_o     (dir_ctx[l]),
        .dir_syndrome_o(dir_syn[l]),
        .ev_late_o     (ev_late[l])
      );
    end else begin : g_no_refusal_time
      assign dir_valid[l] = c_verdict;
      assign dir_ctx[l]   = c_ctx;
      assign dir_syn[l]   = c_syn;
      assign ev_late[l]   = 1'b0;
      logic unused_peer;
      assign unused_peer = ^{c_along.peer, refusal_clocks};
    end

    // For the alarm
    assign bad_valid[l]  = c_verdict;
    assign bad_syn[l]    = c_syn;
    assign bad_client[l] = (ClientSlots == 1) ? 2'd0 : 2'(c_ctx >> LCtxW);
    assign bad_stream[l] = c_along.stream;
    assign bad_pd[l]     = c_along.pd;
    `TPT_ASSERT(EmptyIsOk_A, !(c_valid && c_syn != SynOk && c_empty))

    tpt_mw_parent #(.NumCtx(NumContexts)) u_parent (
      .clk_i, .rst_ni,
      .entry_valid_i(l_valid && !l_parent),
      .entry_ctx_i  (l_ctx),
      .entry_req_i  (l_req),
      .entry_i      (l_entry),
      .again_valid_i(c_valid && c_again),
      .again_ctx_i  (c_ctx),
      .valid_q_o    (par_valid_q[l]),
      .ctx_q_o      (par_ctx_q[l]),
      .req_o        (par_req[l])
    );
    always_ff @(posedge clk_i) late_par_q[l] <= par_valid_q[l];

    // Next chunks: one queue per client, round robin into the walker
    logic [NumClients-1:0]            advq_valid, advq_room, adv_gnt;
    logic [NumClients-1:0][LCtxW-1:0] advq_ctx, advq_src;
    logic [ClientW-1:0]               adv_cl;
    logic                             adv_any, adv_ready;
    logic [NumClients-1:0][LCtxW:0]   advq_cnt;
    for (genvar c = 0; c < NumClients; c++) begin : g_adv
      logic push;
      assign push = adv_valid[c] && adv_lane[c] == LaneW'(l);
      tpt_fifo #(.Width(2 * LCtxW), .Depth(LCtx)) u_advq (
        .clk_i, .rst_ni, .clear_i(1'b0),
        .wvalid_i(push), .wready_o(advq_room[c]), .wdata_i({adv_ctx[c], adv_src[c]}),
        .rvalid_o(advq_valid[c]), .rready_i(adv_gnt[c] && adv_ready),
        .rdata_o({advq_ctx[c], advq_src[c]}), .count_o(advq_cnt[c])
      );
      `TPT_ASSERT(AdvRoom_A, !push || advq_room[c])
    end
    tpt_rr_arb #(.N(NumClients)) u_adv_arb (
      .clk_i, .rst_ni,
      .req_i (advq_valid),
      .take_i(adv_ready),
      .any_o (adv_any),
      .gnt_o (adv_gnt),
      .idx_o (adv_cl)
    );

    tpt_mtt_walker #(
      .NumCtx(NumContexts), .Sets(MttSets), .Ways(MttWays), .DirSets(DirSets),
      .AxiDataW(AxiDataW), .MttChecked(MttChecked), .FaultSlots(FaultSlots),
      .Clients(ClientSlots), .Parts(Partitions)
    ) u_walker (
      .clk_i, .rst_ni,
      .log_parts_i   (isolation.log_parts),
      .ready_o       (ln_mtt_ready[l]),
      .in_valid_i    (c_walk),
      .in_ctx_i      (c_ctx),
      .in_desc_i     (c_desc),
      .in_pos_i      (c_pos),
      .in_part_i     (c_along.part),
      .adv_valid_i   (adv_any),
      .adv_ready_o   (adv_ready),
      .adv_ctx_i     ((ClientSlots == 1) ? CtxW'(advq_ctx[0])
                                         : CtxW'({adv_cl, advq_ctx[adv_cl]})),
      .adv_src_i     ((ClientSlots == 1) ? CtxW'(advq_src[0])
                                         : CtxW'({adv_cl, advq_src[adv_cl]})),
      .sub_valid_o   (sub_valid[l]),
      .sub_ctx_o     (sub_ctx[l]),
      .sub_more_o    (sub_more[l]),
      .out_valid_o   (chk_valid[l]),
      .out_ctx_o     (chk_ctx[l]),
      .out_frame_o   (chk_frame[l]),
      .out_sel_o     (chk_sel[l]),
      .out_good_o    (chk_good[l]),
      .out_fault_o   (chk_fault[l]),
      .out_syndrome_o(chk_syn[l]),
      .out_first_o   (chk_first[l]),
      .out_final_o   (chk_final[l]),
      .out_relaxed_o (chk_relaxed[l]),
      .out_log_page_o(chk_log_page[l]),
      .out_off_o     (chk_off[l]),
      .out_rem_o     (chk_rem[l]),
      .pre_ctx_o     (pre_ctx[l]),
      .commit_valid_o(com_valid[l]),
      .commit_ctx_o  (com_ctx[l]),
      .ar_valid_o    (mtt_ar_valid[l]),
      .ar_ready_i    (mtt_ar_ready[l]),
      .ar_soon_o     (mtt_ar_soon[l]),
      .ar_ctx_o      (mtt_ar_ctx[l]),
      .ar_addr_o     (mtt_ar_addr[l]),
      .r_pre_ctx_i   (r_pre_ctx),
      .r_valid_i     (mtt_r_valid[l]),
      .r_ctx_i       (r_ctx),
      .r_data_i      (r_data),
      .r_err_i       (r_err),
      .fault_valid_o (ln_fault_valid[l]),
      .fault_o       (ln_fault[l]),
      .stop_i        (stop_q),
      .taken_valid_i (fault_taken && 7'(fault.slot >> SlotW) == 7'(l)),
      .taken_slot_i  ((FaultSlots > 1) ? fault.slot[SlotBits-1:0] : '0),
      .ans_valid_i   (ans_valid && 7'(ans_slot >> SlotW) == 7'(l)),
      .ans_slot_i    ((FaultSlots > 1) ? ans_slot[SlotBits-1:0] : '0),
      .ans_refuse_i  (ans_refuse),
      .ans_ok_o      (ln_ans_ok[l]),
      .fault_clear_i (flush_valid),
      .sweep_valid_i (((flush_valid && !mtt_flushed_q) || sweep_valid) && !sweep_done_q[l]),
      .sweep_all_i   (flush_valid),
      .sweep_index_i (sweep_index),
      .sweep_done_o  (ln_sweep_done[l]),
      .ev_hit_o      (mtt_hit[l]),
      .ev_miss_o     (mtt_miss[l]),
      .ev_evict_o    (mtt_evict[l]),
      .ev_bus_o      (mtt_bus[l])
    );
    logic unused_cnt;
    assign unused_cnt = ^advq_cnt;
  end

  // ---------------------------------------------------------------------------------------------
  // Bad keys
  // ---------------------------------------------------------------------------------------------
  if (GuessAlarm != 0) begin : g_alarm
    tpt_alarm #(
      .NumClients(NumClients), .NumStreams(NumStreams), .Lanes(Lanes), .NumPds(AlarmPds)
    ) u_alarm (
      .clk_i, .rst_ni,
      .stream_threshold_i(alarm_set.stream_threshold),
      .pd_threshold_i    (alarm_set.pd_threshold),
      .block_i           (alarm_set.block),
      .valid_i           (bad_valid),
      .syndrome_i        (bad_syn),
      .client_i          (bad_client),
      .stream_i          (bad_stream),
      .pd_i              (bad_pd),
      .sel_client_i      (alarm_set.client),
      .sel_stream_i      (alarm_set.stream),
      .sel_slot_i        (alarm_set.slot),
      .clear_stream_i    (alarm_set.clear_stream),
      .clear_pd_i        (alarm_set.clear_pd),
      .clear_all_i       (alarm_set.clear_all),
      .stream_count_o    (alarm_show.stream_count),
      .stream_blocked_o  (alarm_show.stream_blocked),
      .pd_count_o        (alarm_show.pd_count),
      .pd_last_o         (alarm_show.pd_last),
      .blocked_o         (blocked),
      .alarm_o           (alarm)
    );
  end else begin : g_no_alarm
    logic unused_alarm;
    assign unused_alarm = ^{alarm_set, bad_valid, bad_syn, bad_client, bad_stream, bad_pd};
    assign alarm_show   = '0;
    assign blocked      = '0;
    assign alarm        = 1'b0;
  end

  // ---------------------------------------------------------------------------------------------
  // Page faults of all lanes in a queue, for the registers. Each has a slot, so there is room.
  // ---------------------------------------------------------------------------------------------
  assign ans_ok      = |ln_ans_ok;
  assign fault_taken = fault_valid && fault_pop;
  if (FaultSlots != 0) begin : g_faults
    localparam int unsigned Depth = (AllSlots > 1) ? AllSlots : 2;
    fault_t [Lanes-1:0]     named;
    fault_t                 new_fault;
    logic                   new_any, room;
    logic [$clog2(Depth):0] count;
    always_comb begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        named[l]      = ln_fault[l];
        named[l].slot = ln_fault[l].slot | 7'(l << SlotW);
      end
    end
    if (Lanes == 1) begin : g_one
      assign new_any   = ln_fault_valid[0];
      assign new_fault = named[0];
    end else begin : g_more
      localparam int unsigned LaneDepth = (FaultSlots > 1) ? FaultSlots : 2;
      logic   [Lanes-1:0] l_valid, l_gnt;
      fault_t [Lanes-1:0] l_fault;
      logic   [LaneW-1:0] l_idx;
      for (genvar l = 0; l < Lanes; l++) begin : g_lane
        logic                       l_room;
        logic [$clog2(LaneDepth):0] unused_cnt;
        tpt_fifo #(.Width($bits(fault_t)), .Depth(LaneDepth)) u_queue (
          .clk_i, .rst_ni,
          .clear_i (flush_valid),
          .wvalid_i(ln_fault_valid[l]), .wready_o(l_room), .wdata_i(named[l]),
          .rvalid_o(l_valid[l]), .rready_i(l_gnt[l]), .rdata_o(l_fault[l]),
          .count_o (unused_cnt)
        );
        `TPT_ASSERT(LaneRoom_A, !ln_fault_valid[l] || l_room)
      end
      tpt_rr_arb #(.N(Lanes)) u_arb (
        .clk_i, .rst_ni,
        .req_i (l_valid),
        .take_i(1'b1),
        .any_o (new_any),
        .gnt_o (l_gnt),
        .idx_o (l_idx)
      );
      assign new_fault = l_fault[l_idx];
    end
    tpt_fifo #(.Width($bits(fault_t)), .Depth(Depth)) u_queue (
      .clk_i, .rst_ni,
      .clear_i (flush_valid),
      .wvalid_i(new_any), .wready_o(room), .wdata_i(new_fault),
      .rvalid_o(fault_valid), .rready_i(fault_pop), .rdata_o(fault), .count_o(count)
    );
    assign fault_count = 8'(count);
    assign fault_event = new_any;
    `TPT_ASSERT(FaultRoom_A, !new_any || room)
  end else begin : g_no_faults
    logic unused_faults;
    assign unused_faults = ^{ln_fault_valid, ln_fault, fault_pop, ans_slot};
    assign fault_valid = 1'b0;
    assign fault       = '0;
    assign fault_count = '0;
    assign fault_event = 1'b0;
  end

  tpt_axi_rd #(
    .AxiDataW(AxiDataW), .CtxW(CtxW), .Lanes(Lanes), .CmdQueue(CmdQueue)
  ) u_axi_rd (
    .clk_i, .rst_ni,
    .gen_i          (gen_q),
    .eng_valid_i    (eng_rd_valid),
    .eng_ready_o    (eng_rd_ready),
    .eng_addr_i     (eng_rd_addr),
    .eng_rsp_valid_o(eng_rsp_valid),
    .eng_rsp_data_o (eng_rsp_data),
    .eng_rsp_err_o  (eng_rsp_err),
    .mpt_valid_i    (mpt_ar_valid),
    .mpt_soon_i     (mpt_ar_soon),
    .mpt_ready_o    (mpt_ar_ready),
    .mpt_ctx_i      (mpt_ar_ctx),
    .mpt_addr_i     (mpt_ar_addr),
    .mpt_r_valid_o  (mpt_r_valid),
    .mpt_r_last_o   (mpt_r_last),
    .mtt_valid_i    (mtt_ar_valid),
    .mtt_soon_i     (mtt_ar_soon),
    .mtt_ready_o    (mtt_ar_ready),
    .mtt_ctx_i      (mtt_ar_ctx),
    .mtt_addr_i     (mtt_ar_addr),
    .mtt_r_valid_o  (mtt_r_valid),
    .que_valid_i    (que_rd_valid),
    .que_ready_o    (que_rd_ready),
    .que_addr_i     (que_rd_addr),
    .que_r_valid_o  (que_r_valid),
    .que_r_last_o   (que_r_last),
    .r_pre_ctx_o    (r_pre_ctx),
    .r_ctx_o        (r_ctx),
    .r_data_o       (r_data),
    .r_err_o        (r_err),
    .m_axi_arid_o, .m_axi_araddr_o, .m_axi_arlen_o, .m_axi_arsize_o, .m_axi_arburst_o,
    .m_axi_arvalid_o, .m_axi_arready_i,
    .m_axi_rid_i, .m_axi_rdata_i, .m_axi_rresp_i, .m_axi_rlast_i, .m_axi_rvalid_i,
    .m_axi_rready_o
  );

  // ---------------------------------------------------------------------------------------------
  // Counters and sticky errors
  // ---------------------------------------------------------------------------------------------
  always_comb begin
    cnt_inc = '0;
    for (int unsigned c = 0; c < NumClients; c++) begin
      cnt_inc[CntRequests] = cnt_inc[CntRequests] + 4'(ev_request[c]);
      cnt_inc[CntSegments] = cnt_inc[CntSegments] + 4'(ev_segment[c]);
      cnt_inc[CntRefused]  = cnt_inc[CntRefused] + 4'(ev_refused[c]);
      cnt_inc[CntBadDone]  = cnt_inc[CntBadDone] + 4'(ev_bad_done[c]);
    end
    for (int unsigned l = 0; l < Lanes; l++) begin
      cnt_inc[CntMptHit]  = cnt_inc[CntMptHit] + 4'(mpt_hit[l]);
      cnt_inc[CntMptMiss] = cnt_inc[CntMptMiss] + 4'(mpt_miss[l]);
      cnt_inc[CntMptRead] = cnt_inc[CntMptRead] + 4'(mpt_ar_valid[l] && mpt_ar_ready[l]);
      cnt_inc[CntMttHit]  = cnt_inc[CntMttHit] + 4'(mtt_hit[l]);
      cnt_inc[CntMttMiss] = cnt_inc[CntMttMiss] + 4'(mtt_miss[l]);
      cnt_inc[CntMttRead] = cnt_inc[CntMttRead] + 4'(mtt_ar_valid[l] && mtt_ar_ready[l]);
      cnt_inc[CntEvict]   = cnt_inc[CntEvict] + 4'(mpt_evict[l]) + 4'(mtt_evict[l]);
    end
    cnt_inc[CntFences]  = 4'(fence_flip);
    for (int unsigned l = 0; l < Lanes; l++) cnt_inc[CntLate] = cnt_inc[CntLate] + 4'(ev_late[l]);

    err_set                 = '0;
    err_set[ErrorBadDone]   = |ev_bad_done;
    err_set[ErrorTagBusy]   = |ev_tag_busy;
    err_set[ErrorBus]       = (|mpt_bus) || (|mtt_bus) || eng_ev_bus || queue_ev_bus;
    err_set[ErrorMptBad]    = (|mpt_bad) || eng_ev_bad;
    err_set[ErrorFenceTime] = eng_ev_time;
    err_set[ErrorLate]      = |ev_late;
  end

  tpt_refusal_log #(.NumClients(NumClients)) u_log (
    .clk_i, .rst_ni,
    .valid_i  (ev_refused),
    .refusal_i(ev_refusal),
    .any_o    (refused),
    .inc_o    (syn_inc),
    .count_o  (log_count),
    .entry_o  (log_entry),
    .client_o (log_client)
  );

  `TPT_ASSERT(FlushAlone_A, !(flush_valid && sweep_valid))

  logic unused_ok;
  assign unused_ok = ^{pre_ctx, cl_ready, fence_busy};

endmodule
