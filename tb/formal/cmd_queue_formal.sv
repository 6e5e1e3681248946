// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_cmd_queue: slots are read and written in order, at the addresses of the rings and with the
/// right phase; one completion in memory for each that the engine gives or that is made here; there
/// is always room for what the commands in work may still need; nothing happens while off.
///
/// Host, engine and memory are free as long as they keep their sides: doorbells are only changed to
/// values that are not bad, the engine completes each command once, or PENDING and once.
module cmd_queue_formal import tpt_pkg::*; #(
  parameter int unsigned AxiDataW = 512,
  parameter int unsigned CmdLog   = 1,
  parameter int unsigned CplLog   = 2
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                enable_i,
  input logic [51:0]         cmdq_base_i,
  input logic [51:0]         cplq_base_i,
  input logic [15:0]         cmdq_tail_i,
  input logic [15:0]         cplq_head_i,
  input logic                ring_cmd_i,    // the doorbell is rung with db_value_i
  input logic                ring_cpl_i,
  input logic [31:0]         db_value_i,
  input logic                cmd_ready_i,
  input logic                cpl_valid_i,
  input cpl_t                cpl_i,
  input logic                rd_ready_i,
  input logic                rd_beat_i,
  input logic                rd_last_i,
  input logic [AxiDataW-1:0] rd_data_i,
  input logic                rd_err_i,
  input logic                wr_ready_i,
  input logic                wr_done_i,
  input logic                wr_err_i
);
  `TPT_FORMAL_RESET

  logic            tail_bad, head_bad, db_clear, enabled, busy, error, full, ev, err_bus;
  logic            cmd_valid, cpl_ready, rd_valid, wr_valid;
  logic [15:0]     cmdq_head, cplq_tail;
  cmd_t            cmd;
  logic [63:0]     rd_addr, wr_addr;
  logic [MptW-1:0] wr_data;
  tpt_cmd_queue #(.AxiDataW(AxiDataW)) dut (
    .clk_i, .rst_ni, .enable_i, .cmdq_base_i, .cmdq_log_size_i(5'(CmdLog)), .cplq_base_i,
    .cplq_log_size_i(5'(CplLog)), .cmdq_tail_i, .cplq_head_i, .db_value_i,
    .cmdq_tail_bad_o(tail_bad), .cplq_head_bad_o(head_bad), .db_clear_o(db_clear),
    .cmdq_head_o(cmdq_head), .cplq_tail_o(cplq_tail), .enabled_o(enabled), .busy_o(busy),
    .error_o(error), .full_o(full), .event_o(ev), .err_bus_o(err_bus), .cmd_valid_o(cmd_valid),
    .cmd_ready_i, .cmd_o(cmd), .cpl_valid_i, .cpl_ready_o(cpl_ready), .cpl_i,
    .rd_valid_o(rd_valid), .rd_ready_i, .rd_addr_o(rd_addr), .rd_beat_i, .rd_last_i, .rd_data_i,
    .rd_err_i, .wr_valid_o(wr_valid), .wr_ready_i, .wr_addr_o(wr_addr), .wr_data_o(wr_data),
    .wr_done_i, .wr_err_i
  );

  // ---------------------------------------------------------------------------------------------
  // Host: bases are constant, doorbells are registers that are cleared while `db_clear`.
  // ---------------------------------------------------------------------------------------------
  logic [51:0] cmd_base_q, cpl_base_q;
  logic [15:0] tail_q, head_q;
  always_ff @(posedge clk_i) begin
    cmd_base_q <= cmdq_base_i;
    cpl_base_q <= cplq_base_i;
    if (!rst_ni || db_clear) begin
      tail_q <= '0;
      head_q <= '0;
    end else begin
      if (ring_cmd_i && !tail_bad) tail_q <= db_value_i[15:0];
      if (ring_cpl_i && !head_bad) head_q <= db_value_i[15:0];
    end
  end
  `TPT_ASSUME(Bases_A, cmd_base_q == cmdq_base_i && cpl_base_q == cplq_base_i)
  `TPT_ASSUME(Doorbells_A, cmdq_tail_i == tail_q && cplq_head_i == head_q)
  `TPT_ASSERT(DoorbellsFit_A, tail_q < 16'(1 << CmdLog) && head_q < 16'(1 << CplLog))

  // ---------------------------------------------------------------------------------------------
  // Engine: commands in work, of the kind that may be PENDING and of others; how many are.
  // ---------------------------------------------------------------------------------------------
  logic       issue, completed, pending, may_pend;
  logic [7:0] twos_q, ones_q, pended_q;
  assign issue     = cmd_valid && cmd_ready_i;
  assign completed = cpl_valid_i && cpl_ready;
  assign pending   = cpl_i.status == StsPending;
  assign may_pend  = cmd_may_pend(cpl_i.op);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      twos_q   <= '0;
      ones_q   <= '0;
      pended_q <= '0;
    end else begin
      twos_q   <= twos_q + 8'(issue && cmd_may_pend(cmd.op)) -
                  8'(completed && !pending && may_pend);
      ones_q   <= ones_q + 8'(issue && !cmd_may_pend(cmd.op)) -
                  8'(completed && !pending && !may_pend);
      // the second completion of a command that is PENDING is the one that the solver calls so
      pended_q <= pended_q + 8'(completed && pending) -
                  8'(completed && !pending && may_pend && cpl_i.id[0]);
    end
  end
  `TPT_ASSUME(Kinds_A, !cpl_valid_i || (may_pend ? twos_q != '0 : (ones_q != '0 && !pending)))
  `TPT_ASSUME(PendOnce_A, !cpl_valid_i || !may_pend || (pending || !cpl_i.id[0] ?
                          pended_q < twos_q : pended_q != '0))
  tpt_stream_props #(.Width(CplW), .Assume(1'b1)) u_cpl (
    .clk_i, .rst_ni, .valid_i(cpl_valid_i), .ready_i(cpl_ready), .data_i(cpl_i)
  );
  `TPT_ASSERT(Pended_A, pended_q <= twos_q)
  `TPT_ASSERT(Owed_A, 32'(dut.owed_q) == 2 * 32'(twos_q) + 32'(ones_q))

  // ---------------------------------------------------------------------------------------------
  // Memory
  // ---------------------------------------------------------------------------------------------
  tpt_stream_props #(.Width(64)) u_rd (
    .clk_i, .rst_ni, .valid_i(rd_valid), .ready_i(rd_ready_i), .data_i(rd_addr)
  );
  tpt_stream_props #(.Width(64 + MptW)) u_wr (
    .clk_i, .rst_ni, .valid_i(wr_valid), .ready_i(wr_ready_i), .data_i({wr_addr, wr_data})
  );

  // ---------------------------------------------------------------------------------------------
  // The rings: slots taken and slots written since the queue was enabled
  // ---------------------------------------------------------------------------------------------
  logic        off;
  logic [15:0] taken_q, written_q, landed_q;
  logic        first_half;
  assign off        = dut.run_q == 2'd0;
  assign first_half = wr_valid && !wr_addr[6];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || off) begin
      taken_q   <= '0;
      written_q <= '0;
      landed_q  <= '0;
    end else begin
      taken_q   <= taken_q + 16'(dut.take);
      written_q <= written_q + 16'(first_half && wr_ready_i);
      landed_q  <= landed_q + 16'(ev);
    end
  end
  localparam logic [15:0] CmdMask = 16'((1 << CmdLog) - 1);
  localparam logic [15:0] CplMask = 16'((1 << CplLog) - 1);
  `TPT_ASSERT(Head_A, off || cmdq_head == (taken_q & CmdMask))
  `TPT_ASSERT(ReadAddr_A, !rd_valid || rd_addr == {cmdq_base_i, 12'd0} +
                                                  {41'd0, taken_q & CmdMask, 7'd0})
  // One slot for each completion, in order, with the phase of its round.
  logic [15:0] slot;
  assign slot = written_q & CplMask;
  `TPT_ASSERT(Written_A, off || dut.wr_error_q ||
              dut.alloc_q == (16'(written_q + 16'(dut.write_q != 2'd0)) & CplMask))
  `TPT_ASSERT(PhaseTied_A, off || dut.wr_error_q ||
              dut.phase_q == !(1'(16'(written_q + 16'(dut.write_q != 2'd0)) >> CplLog)))
  `TPT_ASSERT(AddrTied_A, off || dut.wr_error_q || dut.write_q == 2'd0 ||
              dut.wr_addr_q == {cplq_base_i, 5'd0} + {41'd0, slot})
  cplq_slot_t kept;
  assign kept = dut.first_q;
  `TPT_ASSERT(PhaseKept_A, off || dut.wr_error_q || dut.write_q == 2'd0 ||
              kept.phase == {7'd0, !(1'(written_q >> CplLog))})
  `TPT_ASSERT(WriteAddr_A, !first_half || dut.wr_error_q ||
              wr_addr == {cplq_base_i, 12'd0} + {41'd0, slot, 7'd0})
  cplq_slot_t out;
  assign out = {512'd0, wr_data};
  `TPT_ASSERT(Phase_A, !first_half || dut.wr_error_q ||
                       out.phase == {7'd0, !(1'(written_q >> CplLog))})
  // Room: what the commands in work may still give fits behind what is written.
  // A QUERY has its slots before the engine is told that it is taken.
  logic        second;
  logic [15:0] room;
  assign second = dut.write_q == 2'd1;
  assign room = (cplq_head_i - dut.alloc_q - 16'd1) & CplMask;
  `TPT_ASSERT(Room_A, off || dut.run_q != 2'd1 || dut.wr_error_q ||
                      32'(dut.owed_q) <= 32'(room) + 32'(pended_q) + 32'(second))
  `TPT_ASSERT(SecondHas_A, dut.write_q != 2'd1 || (cpl_valid_i && cpl_i.op == CmdQuery &&
                           cpl_i.status == StsOk))
  `TPT_ASSERT(WriteRoom_A, !wr_valid || dut.out_q != 2'd3)
  `TPT_ASSERT(OwedPended_A, 32'(pended_q) <= 32'(dut.owed_q))
  `TPT_ASSERT(RoomKnown_A, !dut.room_q || dut.run_q != 2'd1 || dut.wr_error_q ||
                           dut.read_q != 2'd3 ||
                           32'(dut.need) <= 32'(room) + 32'(pended_q) + 32'(second))
  `TPT_ASSERT(OffIdle_A, !off || (dut.write_q == 2'd0 && dut.out_q == '0 && dut.owed_q == '0))
  `TPT_ASSERT(Off_A, !off || (!busy && !rd_valid && !wr_valid && !cmd_valid && !ev))

  `TPT_COVER(Round_C, written_q == 16'(1 << CplLog) && first_half)
  `TPT_COVER(Query_C, wr_valid && wr_addr[6])
  `TPT_COVER(Full_C, full && dut.owed_q != '0)
  `TPT_COVER(BadSlot_C, dut.answer)
  `TPT_COVER(Error_C, error && enabled)
  logic erred_q;   // there has been an error since the last reset
  always_ff @(posedge clk_i) erred_q <= rst_ni && (erred_q || error);
  `TPT_COVER(OffAgain_C, off && erred_q)
endmodule
