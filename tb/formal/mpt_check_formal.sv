// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0.
// SPDX-License-Identifier: Apache-2.0

`include "tpt_formal.svh"

/// tpt_mpt_check against a second description, written from docs/rules.md: the verdict, and the
/// position that a granted request leaves with. Each request of a stream without gaps or with any.
module mpt_check_formal import tpt_pkg::*; #(
  parameter int unsigned MttChecked = 1,
  /// What is shown: the verdict, or the position and the descriptor.
  parameter bit          Position   = 1'b0
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              valid_i,
  input req_t              req_i,
  input logic              disabled_i,
  input logic              tag_busy_i,
  input logic              role_i,
  input logic [IndexW-1:0] index_i,
  input logic              index_ok_i,
  input logic              looked_up_i,
  input mpt_entry_t        entry_i,
  input logic              bus_err_i,
  input logic              mpt_bad_i,
  input logic              parent_i
);
  `TPT_FORMAL_RESET

  logic        valid, empty, again, unused_pay;
  logic [4:0]  syndrome;
  logic [17:0] unused_mask;
  desc_t       desc;
  pos_t        pos;
  tpt_mpt_check #(.MttChecked(MttChecked)) dut (
    .clk_i, .rst_ni, .valid_i, .pay_i(1'b0), .req_i, .disabled_i, .tag_busy_i, .role_i, .index_i,
    .index_ok_i, .looked_up_i, .entry_i, .bus_err_i, .mpt_bad_i, .parent_i, .valid_o(valid),
    .pay_o(unused_pay), .syndrome_o(syndrome), .empty_o(empty), .again_o(again),
    .mask_o(unused_mask), .desc_o(desc), .pos_o(pos)
  );
  // A second look-up is made for a request that has passed rules 0 and 1.
  `TPT_ASSUME(Second_A, !valid_i || !parent_i || (req_needs_lookup(req_i) && !tag_busy_i))

  // No command makes a physical region that is zero-based (REG_PHYS: BAD_FLAGS).
  `TPT_ASSUME(Physical_A, !valid_i || entry_i.kind != KindPhys || !entry_i.access[AccZeroBased])

  // ---------------------------------------------------------------------------------------------
  // The rules
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [4:0] syndrome;
    logic       empty;
    logic       again;
    logic       role;     // what the key was, and who was asked for
    logic       remote;
    logic       second;
  } verdict_t;

  logic        atomic, is_remote, window, region, zero_based, any_remote, fits, legal, right;
  logic [63:0] base, distance;
  verdict_t    v;
  always_comb begin
    atomic     = req_i.op == OpRemoteAtomic;
    is_remote  = !(req_i.op == OpLocalRead || req_i.op == OpLocalWrite);
    window     = entry_i.kind inside {KindMw1, KindMw2, KindMw2a};
    region     = entry_i.kind inside {KindMr, KindFrmr};
    zero_based = entry_i.access[AccZeroBased];
    any_remote = entry_i.access[AccRemoteWrite] || entry_i.access[AccRemoteRead] ||
                 entry_i.access[AccRemoteAtomic] || entry_i.access[AccFlushGlobal] ||
                 entry_i.access[AccFlushPersistent];
    base       = zero_based ? 64'd0 : entry_i.start;
    distance   = req_i.va - base;
    fits       = req_i.va >= base && distance <= entry_i.length &&
                 64'(req_i.len) <= entry_i.length - distance;
    legal      = entry_i.kind <= 3'd5 && entry_i.log_page >= 6'd12 && entry_i.log_page <= 6'd43 &&
                 entry_i.level <= 3'd5 && entry_i.log_tpage <= 3'd4 &&
                 (entry_i.encoding <= 2'd1 || (entry_i.encoding == 2'd2 && MttChecked != 0)) &&
                 (entry_i.kind != KindPhys || (entry_i.level == '0 && entry_i.log_page == 6'd43));
    unique case (req_i.op)
      OpLocalRead:    right = 1'b1;
      OpLocalWrite:   right = entry_i.access[AccLocalWrite];
      OpRemoteRead:   right = entry_i.access[AccRemoteRead];
      OpRemoteWrite:  right = entry_i.access[AccRemoteWrite];
      OpRemoteAtomic: right = entry_i.access[AccRemoteAtomic];
      OpFlushGlobal:  right = entry_i.access[AccFlushGlobal];
      OpFlushPersist: right = entry_i.access[AccFlushPersistent];
      default:        right = entry_i.access[AccFlushGlobal] && entry_i.access[AccFlushPersistent];
    endcase

    v          = '0;
    v.syndrome = SynOk;
    v.role     = role_i;
    v.remote   = is_remote;
    v.second   = parent_i;
    if (disabled_i) v.syndrome = SynDisabled;
    else if (tag_busy_i) v.syndrome = SynTagBusy;
    else if (atomic && req_i.len != 32'd8) v.syndrome = SynAlign;
    else if (req_i.len == '0) v.empty = 1'b1;
    else if (req_i.len > 32'h8000_0000) v.syndrome = SynLength;
    else if (!index_ok_i) v.syndrome = parent_i ? SynParent : SynKeyIndex;
    else if (bus_err_i) v.syndrome = SynBus;
    else if (mpt_bad_i || (entry_i.state == StValid && !legal)) v.syndrome = SynMptBad;
    else if (entry_i.state != StValid) v.syndrome = parent_i ? SynParent : SynKeyState;
    else if (parent_i) begin
      if (role_i != RoleLocal || !region || zero_based || entry_i.gen != req_i.key[7:0] || !fits)
        v.syndrome = SynParent;
    end
    else if (role_i != is_remote) v.syndrome = SynKeyTag;
    else if (is_remote && !window && !any_remote) v.syndrome = SynKeyTag;
    else if (!is_remote && window) v.syndrome = SynKeyTag;
    else if (req_i.key[7:0] != (is_remote ? entry_i.rkey_tag : entry_i.lkey_tag))
      v.syndrome = SynKeyTag;
    else if (entry_i.kind != KindMw2a && req_i.pd != entry_i.pd) v.syndrome = SynPd;
    else if (entry_i.kind inside {KindMw2, KindMw2a} && req_i.qpn != entry_i.qpn)
      v.syndrome = SynQp;
    else if (!right) v.syndrome = SynRights;
    else if ({1'b0, req_i.va} + 65'(req_i.len) > 65'h1_0000_0000_0000_0000) v.syndrome = SynWrap;
    else if (!fits) v.syndrome = SynBounds;
    else if (atomic && req_i.va[2:0] != '0) v.syndrome = SynAlign;
    else if (window) begin
      v.syndrome = SynParent;
      v.again    = 1'b1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // The position: address counted from the start of the first page
  // ---------------------------------------------------------------------------------------------
  logic [63:0] in_page, place;
  pos_t        p;
  desc_t       d;
  always_comb begin
    in_page = (64'd1 << entry_i.log_page) - 64'd1;
    place   = distance + (entry_i.start & in_page);
    p.idx   = PageIdxW'(place >> entry_i.log_page);
    if (entry_i.level == LevelFlat) p.idx = p.idx + PageIdxW'(entry_i.frame[1][8:0]);
    p.off   = MaxLogPage'(place & in_page);
    p.np    = 20'((64'(p.off) + 64'(req_i.len) - 64'd1) >> entry_i.log_page) + 20'd1;
    p.rem   = req_i.len;
    d           = '0;
    d.tag       = req_i.tag;
    d.ondemand  = entry_i.access[AccOnDemand];
    d.relaxed   = entry_i.access[AccRelaxedOrdering] && !atomic;
    d.index     = index_i;
    d.gen       = entry_i.gen;
    d.level     = entry_i.level;
    d.log_page  = entry_i.log_page;
    d.log_tpage = entry_i.log_tpage;
    d.encoding  = entry_i.encoding;
    d.write     = req_i.op == OpLocalWrite || req_i.op == OpRemoteWrite || atomic;
    d.frame     = entry_i.frame;
    if (entry_i.kind == KindPhys) begin
      // the address itself, in two pages of 8 TiB
      p.idx      = '0;
      p.off      = req_i.va[42:0];
      p.np       = 20'((64'(p.off) + 64'(req_i.len) - 64'd1) >> 43) + 20'd1;
      d.encoding = EncNone;
      d.frame    = '0;
      d.frame[0] = {req_i.va[63:43], 31'd0};
      d.frame[1] = {req_i.va[63:43] + 21'd1, 31'd0};
    end
  end

  // Beside the block for as long as it takes.
  logic     [CheckLatency-1:0] valid_q;
  verdict_t [CheckLatency-1:0] v_q;
  pos_t     [CheckLatency-1:0] p_q;
  desc_t    [CheckLatency-1:0] d_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else valid_q <= {valid_q[CheckLatency-2:0], valid_i};
    v_q <= {v_q[CheckLatency-2:0], v};
    p_q <= {p_q[CheckLatency-2:0], p};
    d_q <= {d_q[CheckLatency-2:0], d};
  end
  verdict_t w;
  logic     granted;
  assign w       = v_q[CheckLatency-1];
  assign granted = valid && syndrome == SynOk && !empty;
  `TPT_ASSERT(Latency_A, valid == valid_q[CheckLatency-1])
  if (!Position) begin : g_verdict
    `TPT_ASSERT(OkOnlyIfAllRules_A, !granted || (w.syndrome == SynOk && !w.empty))
    `TPT_ASSERT(Verdict_A, !valid || (syndrome == w.syndrome && empty == w.empty &&
                                      again == w.again))
    // An L_Key is never taken for a remote access, nor an R_Key for a local one.
    `TPT_ASSERT(Role_A, !(granted || (valid && again)) || w.second || w.role == w.remote)
  end
  if (Position) begin : g_position
    `TPT_ASSERT(Position_A, !granted || pos == p_q[CheckLatency-1])
    `TPT_ASSERT(Descriptor_A, !granted || desc == d_q[CheckLatency-1])
  end
  `TPT_ASSERT(NothingLeaves_A, granted || (desc == '0 && pos == '0))

  `TPT_COVER(Granted_C, granted && w.remote && desc.level == LevelFlat && pos.np > 20'd3)
  `TPT_COVER(Window_C, valid && again)
  `TPT_COVER(Parent_C, granted && w.second)
  `TPT_COVER(Physical_C, granted && desc.encoding == EncNone)
  `TPT_COVER(Empty_C, valid && empty)
  for (genvar s = 1; s <= 17; s++) begin : g_syndrome
    if (s < 12 || s > 13) begin : g_one
      `TPT_COVER(Refused_C, valid && syndrome == 5'(s) && !again)
    end
  end
endmodule
