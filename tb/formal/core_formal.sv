// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// The whole data path of tpt_core in its smallest configuration, with a symbolic memory: intake,
/// MPT cache and look-up, check, walk, streams, page split, tags, fence and the read manager. In
/// place of registers and registration engine stand constants and, for `Dereg`, the sequence of a
/// DEREG_MR: entry INVALID in memory, cached copies dropped, fence, completion.
///
/// One entry of the MPT (`entry_i` at index `index_i`) and one line of a table (`line_i` at
/// `line_addr_i`) are constants that the solver chooses; everything else that memory answers is
/// free, at every read anew. Requests are what the solver likes, tags are used as a client should.
module core_formal import tpt_pkg::*; #(
  /// The region is deregistered at some time.
  parameter bit          Dereg = 1'b0,
  /// Memory, consumer and host answer at once, and a request must end within `Bound` clocks.
  parameter bit          Fair  = 1'b0,
  parameter int unsigned Bound = 48,
  localparam int unsigned AxiIdW  = 5,
  localparam int unsigned NumTags = 1 << TagW
) (
  input logic              clk_i,
  input logic              req_valid_i,
  input req_t              req_i,
  input logic              rsp_ready_i,
  input logic              done_valid_i,
  input done_t             done_i,
  input logic              arready_i,
  input logic [AxiIdW-1:0] rid_i,
  input logic [511:0]      rdata_i,
  input logic [1:0]        rresp_i,
  input logic              rvalid_i,
  // constants
  input logic [1:0]        index_i,
  input mpt_entry_t        entry_i,
  input logic [63:6]       line_addr_i,
  input logic [7:0][63:0]  line_i,
  // DEREG_MR begins
  input logic              dereg_i
);
  // Reset in the first clock only.
  logic init_q = 1'b0;
  logic rst_ni;
  always_ff @(posedge clk_i) init_q <= 1'b1;
  assign rst_ni = init_q;

  logic        req_ready, rsp_valid, done_ready, arvalid, rready;
  rsp_t        rsp;
  logic [AxiIdW-1:0] arid;
  logic [63:0] araddr;
  logic [7:0]  arlen;

  logic         inv_valid, fence_req;
  logic [23:0]  inv_field;

  tpt_core #(
    .NumClients(1), .NumStreams(2), .NumContexts(2), .MptSets(2), .MptWays(1), .MttSets(8),
    .MttWays(1), .DirSets(8), .AxiDataW(512), .MergeSegs(0), .CmdQueue(0), .MttChecked(0),
    .FaultSlots(0), .NumWindows(0), .Partitions(1), .GuessAlarm(0), .RefusalTime(0)
  ) dut (
    .clk_i, .rst_ni,
    .req_valid_i, .req_ready_o(req_ready), .req_i, .rsp_valid_o(rsp_valid), .rsp_ready_i,
    .rsp_o(rsp), .req_room_o(), .done_valid_i, .done_ready_o(done_ready), .done_i,
    .cmd_valid_i(1'b0), .cmd_ready_o(), .cmd_i('0), .cpl_valid_o(), .cpl_ready_i(1'b0), .cpl_o(),
    .s_axil_awaddr_i('0), .s_axil_awvalid_i(1'b0), .s_axil_awready_o(), .s_axil_wdata_i('0),
    .s_axil_wstrb_i('0), .s_axil_wvalid_i(1'b0), .s_axil_wready_o(), .s_axil_bresp_o(),
    .s_axil_bvalid_o(), .s_axil_bready_i(1'b0), .s_axil_araddr_i('0), .s_axil_arvalid_i(1'b0),
    .s_axil_arready_o(), .s_axil_rdata_o(), .s_axil_rresp_o(), .s_axil_rvalid_o(),
    .s_axil_rready_i(1'b0), .irq_o(),
    .m_axi_awid_o(), .m_axi_awaddr_o(), .m_axi_awlen_o(), .m_axi_awsize_o(), .m_axi_awburst_o(),
    .m_axi_awvalid_o(), .m_axi_awready_i(1'b0), .m_axi_wdata_o(), .m_axi_wstrb_o(),
    .m_axi_wlast_o(), .m_axi_wvalid_o(), .m_axi_wready_i(1'b0), .m_axi_bid_i('0),
    .m_axi_bresp_i('0), .m_axi_bvalid_i(1'b0), .m_axi_bready_o(),
    .m_axi_arid_o(arid), .m_axi_araddr_o(araddr), .m_axi_arlen_o(arlen), .m_axi_arsize_o(),
    .m_axi_arburst_o(), .m_axi_arvalid_o(arvalid), .m_axi_arready_i(arready_i),
    .m_axi_rid_i(rid_i), .m_axi_rdata_i(rdata_i), .m_axi_rresp_i(rresp_i), .m_axi_rlast_i(1'b1),
    .m_axi_rvalid_i(rvalid_i), .m_axi_rready_o(rready)
  );

  // ---------------------------------------------------------------------------------------------
  // Constants
  // ---------------------------------------------------------------------------------------------
  localparam int unsigned ConstW = 2 + MptW + 58 + 512;
  logic [ConstW-1:0] const_q;
  always_ff @(posedge clk_i) const_q <= {index_i, entry_i, line_addr_i, line_i};
  always @(posedge clk_i) begin
    Const_A: assume (!init_q || const_q == {index_i, entry_i, line_addr_i, line_i});
  end
  // The table does not lie on the MPT, which is at address 0.
  always @(posedge clk_i) begin Table_A: assume (line_addr_i[63:8] != '0); end

  // ---------------------------------------------------------------------------------------------
  // Memory: at most one read of each ID is under way
  // ---------------------------------------------------------------------------------------------
  logic [(1<<AxiIdW)-1:0]       read_q;
  logic [(1<<AxiIdW)-1:0][63:0] addr_q;
  logic                         dead;     // the entry is INVALID in memory
  logic [63:0]                  rd_addr;
  mpt_entry_t                   entry_now;
  // The CRC is linear: what the bits of the state add.
  localparam logic [15:0] CrcBit0 = crc16_entry(MptW'(1));
  localparam logic [15:0] CrcBit1 = crc16_entry(MptW'(2));
  logic [1:0]                   state_diff;
  assign rd_addr    = addr_q[rid_i];
  assign state_diff = entry_i.state ^ StInvalid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= '0;
    end else begin
      if (rvalid_i) read_q[rid_i] <= 1'b0;
      if (arvalid && arready_i) begin
        read_q[arid] <= 1'b1;
        addr_q[arid] <= araddr;
      end
    end
  end
  always_comb begin
    entry_now = entry_i;
    if (dead) begin
      entry_now.state = StInvalid;
      entry_now.crc   = entry_i.crc ^ (state_diff[0] ? CrcBit0 : 16'd0) ^
                        (state_diff[1] ? CrcBit1 : 16'd0);
    end
  end
  `TPT_ASSUME(ReadExpected_A, !rvalid_i || read_q[rid_i])
  `TPT_ASSUME(Entry_A, !rvalid_i || rd_addr != {56'd0, index_i, 6'd0} || rdata_i == entry_now)
  `TPT_ASSUME(Line_A, !rvalid_i || rd_addr != {line_addr_i, 6'd0} || rdata_i == line_i)
  `TPT_ASSERT(OneRead_A, !arvalid || !read_q[arid] || rvalid_i)
  `TPT_ASSERT(OneBeat_A, !arvalid || (arlen == '0 && araddr[5:0] == '0))

  // ---------------------------------------------------------------------------------------------
  // Requests, by tag: open until the last beat, then due until `done`
  // ---------------------------------------------------------------------------------------------
  logic [NumTags-1:0]      open_q, due_q, begun_q;
  req_t [NumTags-1:0]      what_q;
  logic [NumTags-1:0][3:0] number_q;    // order of acceptance
  logic [NumTags-1:0][31:0] bytes_q;    // handed out
  logic [NumTags-1:0]      old_q;       // accepted before DEREG_MR was completed
  logic [3:0]              next_q;
  logic                    req_fire, rsp_fire, completed_q;
  req_t                    r;
  assign req_fire = req_valid_i && req_ready;
  assign rsp_fire = rsp_valid && rsp_ready_i;
  assign r        = what_q[rsp.tag];
  `TPT_ASSUME(TagFree_A, !req_valid_i || (!open_q[req_i.tag] && !due_q[req_i.tag]))
  `TPT_ASSUME(DoneDue_A, !done_valid_i || due_q[done_i.tag])
  `TPT_ASSUME(Few_A, next_q != 4'd15 || !req_valid_i)
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q  <= '0;
      due_q   <= '0;
      begun_q <= '0;
      next_q  <= '0;
    end else begin
      if (rsp_fire) begin
        begun_q[rsp.tag] <= !rsp.last;
        bytes_q[rsp.tag] <= bytes_q[rsp.tag] + rsp.len;
        if (rsp.last) begin
          open_q[rsp.tag] <= 1'b0;
          due_q[rsp.tag]  <= 1'b1;
        end
      end
      if (done_valid_i && done_ready) due_q[done_i.tag] <= 1'b0;
      if (req_fire) begin
        open_q[req_i.tag]   <= 1'b1;
        what_q[req_i.tag]   <= req_i;
        number_q[req_i.tag] <= next_q;
        bytes_q[req_i.tag]  <= '0;
        next_q              <= next_q + 4'd1;
      end
    end
  end

  // Every beat belongs to an open request of its stream, begins and ends it once, in order.
  `TPT_ASSERT(Open_A, !rsp_valid || (open_q[rsp.tag] && rsp.stream == r.stream))
  `TPT_ASSERT(First_A, !rsp_valid || rsp.first == !begun_q[rsp.tag])
  `TPT_ASSERT(FaultEnds_A, !rsp_valid || rsp.syndrome == SynOk || (rsp.last && rsp.len == '0 &&
                                                                 rsp.pa == '0))
  for (genvar t = 0; t < NumTags; t++) begin : g_order
    `TPT_ASSERT(Order_A, !rsp_valid || !open_q[t] || TagW'(t) == rsp.tag ||
                what_q[t].stream != rsp.stream || number_q[t] > number_q[rsp.tag])
  end
  tpt_stream_props #(.Width(RspW)) u_rsp (
    .clk_i, .rst_ni, .valid_i(rsp_valid), .ready_i(rsp_ready_i), .data_i(rsp)
  );
  tpt_stream_props #(.Width(AxiIdW + 64)) u_ar (
    .clk_i, .rst_ni, .valid_i(arvalid), .ready_i(arready_i), .data_i({arid, araddr})
  );
  // No more bytes than asked for, and all of them if the last beat is OK.
  `TPT_ASSERT(Bytes_A, !rsp_valid || rsp.syndrome != SynOk ||
              (64'(bytes_q[rsp.tag]) + 64'(rsp.len) <= 64'(r.len) &&
               (rsp.last == (64'(bytes_q[rsp.tag]) + 64'(rsp.len) == 64'(r.len)))))

  // ---------------------------------------------------------------------------------------------
  // A segment of the watched entry: every rule, from docs/rules.md
  // ---------------------------------------------------------------------------------------------
  logic        segment, mine, is_remote, window, any_remote, zero_based, fits, right, good_crc;
  logic [63:0] distance;
  always_comb begin
    segment    = rsp_valid && rsp.syndrome == SynOk && rsp.len != '0;
    mine       = segment && r.key[30:8] == {21'd0, index_i};
    is_remote  = !(r.op == OpLocalRead || r.op == OpLocalWrite);
    window     = entry_i.kind == KindMw1 || entry_i.kind == KindMw2 || entry_i.kind == KindMw2a;
    any_remote = entry_i.access[AccRemoteWrite] || entry_i.access[AccRemoteRead] ||
                 entry_i.access[AccRemoteAtomic] || entry_i.access[AccFlushGlobal] ||
                 entry_i.access[AccFlushPersistent];
    zero_based = entry_i.access[AccZeroBased];
    distance   = zero_based ? r.va : r.va - entry_i.start;
    fits       = (zero_based || r.va >= entry_i.start) && distance <= entry_i.length &&
                 64'(r.len) <= entry_i.length - distance;
    unique case (r.op)
      OpLocalRead:    right = 1'b1;
      OpLocalWrite:   right = entry_i.access[AccLocalWrite];
      OpRemoteRead:   right = entry_i.access[AccRemoteRead];
      OpRemoteWrite:  right = entry_i.access[AccRemoteWrite];
      OpRemoteAtomic: right = entry_i.access[AccRemoteAtomic];
      OpFlushGlobal:  right = entry_i.access[AccFlushGlobal];
      OpFlushPersist: right = entry_i.access[AccFlushPersistent];
      default:        right = entry_i.access[AccFlushGlobal] && entry_i.access[AccFlushPersistent];
    endcase
  end
  `TPT_ASSERT(InTable_A, !segment || r.key[30:10] == '0)
  `TPT_ASSERT(Valid_A, !mine || entry_i.state == StValid)
  `TPT_ASSERT(Place_A, !mine || (entry_i.index_hi == '0))
  `TPT_ASSERT(Role_A, !mine || r.key[31] == is_remote)
  `TPT_ASSERT(RoleExists_A, !mine || (is_remote ? (window || any_remote) : !window))
  `TPT_ASSERT(Tag_A, !mine || r.key[7:0] == (is_remote ? entry_i.rkey_tag : entry_i.lkey_tag))
  `TPT_ASSERT(Pd_A, !mine || entry_i.kind == KindMw2a || r.pd == entry_i.pd)
  `TPT_ASSERT(Qp_A, !mine || (entry_i.kind != KindMw2 && entry_i.kind != KindMw2a) ||
                    r.qpn == entry_i.qpn)
  `TPT_ASSERT(Rights_A, !mine || right)
  `TPT_ASSERT(Range_A, !mine || fits)

  // The address: of pages in the entry, and of those that the watched line of a table with one
  // level, or of a flat one, names.
  logic [63:0] place, page, in_page, slot, want;
  logic        inline_page, in_line;
  logic [63:0] table_entry;
  always_comb begin
    in_page     = (64'd1 << entry_i.log_page) - 64'd1;
    place       = distance + (entry_i.start & in_page) + 64'(bytes_q[rsp.tag]);
    page        = place >> entry_i.log_page;
    slot        = page + ((entry_i.level == LevelFlat) ? 64'(entry_i.frame[1][8:0]) : 64'd0);
    inline_page = entry_i.level == LevelInline && entry_i.kind != KindPhys;
    in_line     = (entry_i.level == 3'd1 || entry_i.level == LevelFlat) &&
                  line_addr_i == 58'(entry_i.frame[0] << 6) + 58'(slot >> 3);
    table_entry = line_i[slot[2:0]];
    want        = inline_page ? {entry_i.frame[page[1:0]], 12'd0}
                              : {table_entry[63:12], 12'd0};
    want        = want | (place & in_page);
  end
  // Windows have the pages of another entry.
  `TPT_ASSERT(Inline_A, !(mine && !window && inline_page) || rsp.pa == want)
  `TPT_ASSERT(Named_A, !(mine && !window && in_line && entry_i.kind != KindPhys) ||
                       (rsp.pa == want &&
                        (entry_i.encoding == EncFlagged ? table_entry[0] : table_entry != '0)))
  `TPT_ASSERT(OnePage_A, !(mine && !window) ||
                         (place & in_page) + 64'(rsp.len) <= in_page + 64'd1)

  // ---------------------------------------------------------------------------------------------
  // DEREG_MR of the watched entry
  // ---------------------------------------------------------------------------------------------
  typedef enum logic [2:0] {
    Live,
    InvLocal,
    InvRemote,
    Fence,
    Wait,
    Gone
  } dereg_e;
  logic [2:0] dereg_q;
  logic [7:0] ticket_q;
  assign dead        = dereg_q != Live;
  assign completed_q = dereg_q == Gone;
  assign inv_valid   = dereg_q == InvLocal || dereg_q == InvRemote;
  assign inv_field   = {dereg_q == InvRemote, 21'd0, index_i};
  assign fence_req   = dereg_q == Fence;
  logic inv_done;
  logic [7:0] ticket, done_ticket;
  assign inv_done    = dut.inv_done;
  assign ticket      = dut.fence_ticket;
  assign done_ticket = dut.fence_done_ticket;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      dereg_q <= Live;
    end else begin
      unique case (dereg_q)
        Live:      if (Dereg && dereg_i) dereg_q <= InvLocal;
        InvLocal:  if (inv_done) dereg_q <= InvRemote;
        InvRemote: if (inv_done) dereg_q <= Fence;
        Fence: begin
          dereg_q  <= Wait;
          ticket_q <= ticket;
        end
        Wait:      if ((done_ticket - ticket_q) < 8'd128) dereg_q <= Gone;
        default: ;
      endcase
    end
  end
  // An entry whose table is only its own: nothing of it is read, and no segment comes out.
  `TPT_ASSERT(NoSegment_A, !(mine && completed_q))
  logic reads_table;
  assign reads_table = arvalid && arid[3:2] == 2'd2 && araddr == {line_addr_i, 6'd0};
  if (Dereg) begin : g_dereg
    // The line belongs to the table of the watched region, and to no other.
    logic [63:0] root;
    assign root = {entry_i.frame[0], 12'd0};
    `TPT_ASSUME(OwnTable_A, !(rvalid_i && rid_i[3:2] == 2'd1) ||
                rd_addr == {56'd0, index_i, 6'd0} || rdata_i[1:0] != StValid)
    `TPT_ASSUME(Level_A, entry_i.level != 3'd2 && entry_i.level != 3'd3)
    `TPT_ASSERT(NoTableRead_A, !(completed_q && reads_table))
    `TPT_COVER(GoneBehind_C, completed_q && root != '0 && next_q != '0)
    `TPT_COVER(RefusedAfter_C, completed_q && rsp_valid && rsp.syndrome == SynKeyState)
    `TPT_COVER(SegmentWhileDying_C, mine && dereg_q == Wait)
  end

  // ---------------------------------------------------------------------------------------------
  // Progress
  // ---------------------------------------------------------------------------------------------
  if (Fair) begin : g_fair
    logic [6:0] age_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || open_q == '0) age_q <= '0;
      else if (rsp_fire && rsp.last) age_q <= '0;
      else age_q <= age_q + 7'd1;
    end
    logic any_read;
    assign any_read = read_q != '0;
    `TPT_ASSUME(FairMemory_A, arready_i && rvalid_i == any_read)
    `TPT_ASSUME(FairConsumer_A, rsp_ready_i)
    // Only what one table line answers: deeper tables take longer than is looked at here.
    `TPT_ASSUME(Shallow_A, !(rvalid_i && rid_i[3:2] == 2'd1) || rdata_i[24:22] == LevelInline ||
                rdata_i[24:22] == 3'd1 || rdata_i[24:22] == LevelFlat)
    `TPT_ASSUME(Short_A, !req_valid_i || req_i.len <= 32'd4096)
    `TPT_ASSERT(Ends_A, 32'(age_q) <= Bound)
  end

  `TPT_COVER(Refused_C, rsp_valid && rsp.syndrome == SynPd)
  if (!Dereg) begin : g_covers
    `TPT_COVER(Inline_C, mine && inline_page && is_remote && !window)
    `TPT_COVER(Named_C, mine && in_line && !window && entry_i.encoding == EncFlagged)
    `TPT_COVER(Physical_C, mine && entry_i.kind == KindPhys)
    `TPT_COVER(SecondPage_C, mine && inline_page && begun_q[rsp.tag] && !window)
    `TPT_COVER(TwoStreams_C, rsp_valid && open_q[~rsp.tag] && what_q[~rsp.tag].stream != rsp.stream
                             && number_q[~rsp.tag] < number_q[rsp.tag])
  end
endmodule
