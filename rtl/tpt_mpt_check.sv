// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

`include "tpt_assert.svh"

/// Check of a request against its MPT entry: rules 0 to 11, the verdict, and what the walk needs.
///
///   request, entry
///        │
///   stage 1   rules of one comparison; va - base; length - len; page mask; start mod page;
///        │    offset inside the page
///   stage 2   differences compared (rules 8, 9); o = (va - base) + start mod page;
///        │    offset + len - 1; rules that the entry cannot answer are taken out
///   stage 3   first failing rule ─► syndrome; o and offset + len - 1 shifted down by P, all but
///        │    three places
///   stage 4   the other places; number of pages; slot of a flat table; all 0 unless granted
///        ▼
///   syndrome, descriptor, position
///
/// Default is deny. The result is "refused" unless rule 0 answered the request (nothing to access)
/// or an entry was read and not one rule failed. The rules, in the order in which the first failure
/// decides (the number is the syndrome, and the bit of mask_o):
///
///   16 DISABLED, 17 TAG_BUSY, 10 ALIGN (atomic of other than 8 bytes), len = 0: OK,
///   1 LENGTH, 2 KEY_INDEX, 14 BUS, 15 MPT_BAD, 3 KEY_STATE, 4 KEY_TAG, 5 PD, 6 QP, 7 RIGHTS,
///   8 WRAP, 9 BOUNDS, 10 ALIGN (address of an atomic), 11 PARENT
///
/// A window has no pages. When its rules hold, the answer is `again_o`: the request has to come
/// once more with its parent's entry, as `parent_i`. Then the key is {index field of the parent's
/// L_Key, generation that was bound}, the address that of the parent, and only DISABLED, BUS,
/// MPT_BAD and PARENT can be the answer: everything about the operation was decided the first time.
///
/// A physical region has no table: its pages of 8 TiB are made from the address.
///
/// Latency: `CheckLatency` = 4 clocks. Throughput: one request per clock, no stall.
/// Errors: as syndrome_o; nothing else leaves a refused request.
module tpt_mpt_check import tpt_pkg::*; #(
  /// Width of the data that travels along, bits.
  parameter int unsigned PayW = 1,
  /// Table entries can be CHECKED.
  parameter int unsigned MttChecked = 1
) (
  /// Clock, and synchronous active-low reset.
  input  logic              clk_i,
  input  logic              rst_ni,

  /// Request.
  input  logic              valid_i,
  input  logic [PayW-1:0]   pay_i,
  input  req_t              req_i,
  /// The unit answers no requests: not enabled, or the MPT is not cleared.
  input  logic              disabled_i,
  /// The request's tag is in use by an earlier request.
  input  logic              tag_busy_i,

  /// Its key, decoded: role, index is below the table size, and the index.
  input  logic              role_i,
  input  logic [IndexW-1:0] index_i,
  input  logic              index_ok_i,

  /// Its MPT entry. entry_i, bus_err_i and mpt_bad_i mean something only with looked_up_i; without
  /// it only the rules before the lookup can answer.
  input  logic              looked_up_i,
  input  mpt_entry_t        entry_i,
  /// Memory answered the read of the entry with an error.
  input  logic              bus_err_i,
  /// The CRC of the entry is wrong.
  input  logic              mpt_bad_i,
  /// The entry is that of the parent of the window that the request's key names.
  input  logic              parent_i,

  /// Verdict.
  output logic              valid_o,
  output logic [PayW-1:0]   pay_o,
  /// syndrome_e.
  output logic [4:0]        syndrome_o,
  /// OK with nothing to access: one beat without an address.
  output logic              empty_o,
  /// No verdict yet: a window whose rules hold. syndrome_o is PARENT.
  output logic              again_o,
  /// For debugging: bit n is the failing of the rule with syndrome n, as far as it can be judged.
  output logic [17:0]       mask_o,
  /// For the walk; 0 unless syndrome_o is OK and not empty_o. LevelFlat stays 5; the index of a
  /// flat table's first page includes root[11:3].
  output desc_t             desc_o,
  output pos_t              pos_o
);

  if (PayW < 1) begin : g_bad_pay_w
    $fatal(1, "tpt_mpt_check: PayW must be at least 1");
  end

  localparam int unsigned NumRules = 18;
  localparam int unsigned OffW     = MaxLogPage;

  // ---------------------------------------------------------------------------------------------
  // Rules, as functions that are true when the rule fails
  // ---------------------------------------------------------------------------------------------
  function automatic logic is_atomic(logic [2:0] op);
    return op == OpRemoteAtomic;
  endfunction

  function automatic logic is_local(logic [2:0] op);
    return (op == OpLocalRead) || (op == OpLocalWrite);
  endfunction

  function automatic logic needs_writable(logic [2:0] op);
    return (op == OpLocalWrite) || (op == OpRemoteWrite) || (op == OpRemoteAtomic);
  endfunction

  function automatic logic is_window(logic [2:0] kind);
    return (kind == KindMw1) || (kind == KindMw2) || (kind == KindMw2a);
  endfunction

  // Rule 0: an atomic is 8 bytes long. Comes before everything about the key.
  function automatic logic fails_atomic_len(logic [2:0] op, logic [31:0] len);
    return is_atomic(op) && (len != 32'd8);
  endfunction

  // Rule 0: a request of no bytes accesses nothing, its key is not looked at.
  function automatic logic is_empty(logic [2:0] op, logic [31:0] len);
    return !is_atomic(op) && (len == 32'd0);
  endfunction

  // Rule 1: at most 2^31 bytes.
  function automatic logic fails_length(logic [31:0] len);
    return len > MaxReqLen;
  endfunction

  // MPT_BAD: no entry of this unit looks so. The fields mean something only in a VALID entry.
  function automatic logic fails_fields(logic [1:0] state, logic [2:0] kind, logic [2:0] level,
                                           logic [1:0] encoding, logic [5:0] log_page,
                                           logic [2:0] log_tpage);
    return (state == StValid) && !mpt_fields_legal(kind, level, encoding, log_page, log_tpage,
                                                      MttChecked != 0);
  endfunction

  // Rule 3: the entry is VALID.
  function automatic logic fails_state(logic [1:0] state);
    return state != StValid;
  endfunction

  // Rule 4, first half: the key is of the role that the operation needs, and the entry has that
  // role: a window has only an R_Key, and a region without any remote right has none.
  function automatic logic fails_role(logic [2:0] op, logic role, logic [2:0] kind,
                                         logic remote_right);
    logic exists;
    exists = (role == RoleLocal) ? !is_window(kind) : (is_window(kind) || remote_right);
    return (is_local(op) != (role == RoleLocal)) || !exists;
  endfunction

  // Rule 4, second half: the tag of that role.
  function automatic logic fails_tag(logic [7:0] tag, logic role, logic [7:0] ltag,
                                        logic [7:0] rtag);
    return tag != ((role == RoleLocal) ? ltag : rtag);
  endfunction

  // Rule 5: same protection domain. A type-2A window is tied to a queue pair only.
  function automatic logic fails_pd(logic [2:0] kind, logic [PdW-1:0] pd,
                                       logic [PdW-1:0] entry_pd);
    return (kind != KindMw2a) && (pd != entry_pd);
  endfunction

  // Rule 6: a type-2 window works from its own queue pair only.
  function automatic logic fails_qp(logic type2_window, logic qpn_equal);
    return type2_window && !qpn_equal;
  endfunction

  // Rule 7: every right of the operation. Reading locally needs none.
  function automatic logic fails_rights(logic [2:0] op, logic local_write,
                                           logic remote_write, logic remote_read,
                                           logic remote_atomic, logic flush_global,
                                           logic flush_persist);
    unique case (op)
      OpLocalRead:    return 1'b0;
      OpLocalWrite:   return !local_write;
      OpRemoteRead:   return !remote_read;
      OpRemoteWrite:  return !remote_write;
      OpRemoteAtomic: return !remote_atomic;
      OpFlushGlobal:  return !flush_global;
      OpFlushPersist: return !flush_persist;
      default:        return !(flush_global && flush_persist);
    endcase
  endfunction

  // Rule 8: the last byte, va + len - 1, is below 2^64. Only an address in the last 4 GiB can miss
  // that, so 32 bits decide: len - 1 is more than ~va, the number of bytes above va.
  function automatic logic fails_wrap(logic va_high_ones, logic no_bytes, logic past_top);
    return va_high_ones && !no_bytes && past_top;
  endfunction

  // Rule 9: base <= va and len <= length (no borrow), and va - base <= length - len.
  function automatic logic fails_bounds(logic below_base, logic longer, logic past_slack);
    return below_base || longer || past_slack;
  endfunction

  // Rule 10: the address of an atomic is a multiple of 8.
  function automatic logic fails_atomic_addr(logic [2:0] op, logic [2:0] va_low);
    return is_atomic(op) && (va_low != 3'd0);
  endfunction

  // Rule 11: what a parent must be beside VALID: a region, named by its L_Key, of the generation
  // that was bound, and not zero-based.
  function automatic logic fails_parent(logic role, logic [2:0] kind, logic zero_based,
                                           logic [GenW-1:0] gen, logic [7:0] bound_gen);
    return (role != RoleLocal) || ((kind != KindMr) && (kind != KindFrmr)) || zero_based ||
           (gen != bound_gen);
  endfunction

  // First address that the entry accepts.
  function automatic logic [63:0] base_of(logic zero_based, logic [63:0] start);
    return zero_based ? 64'd0 : start;
  endfunction

  // Bits of an address inside a page of 2^log_page bytes, 12 <= log_page <= 43.
  function automatic logic [OffW-1:0] page_mask(logic [5:0] log_page);
    logic [OffW-1:0] mask;
    for (int unsigned b = 0; b < OffW; b++) mask[b] = (6'(b) < log_page);
    return mask;
  endfunction

  // The first failing rule in the order of decision. Rule 10 stands there twice.
  function automatic logic [4:0] first_failure(logic [NumRules-1:0] fail, logic atomic_len);
    logic unused_walk_rules;
    unused_walk_rules = ^{fail[SynMttBad:SynMttAbsent], fail[SynOk]};
    if (fail[SynDisabled])      return SynDisabled;
    else if (fail[SynTagBusy])  return SynTagBusy;
    else if (atomic_len)        return SynAlign;
    else if (fail[SynLength])   return SynLength;
    else if (fail[SynKeyIndex]) return SynKeyIndex;
    else if (fail[SynBus])      return SynBus;
    else if (fail[SynMptBad])   return SynMptBad;
    else if (fail[SynKeyState]) return SynKeyState;
    else if (fail[SynKeyTag])   return SynKeyTag;
    else if (fail[SynPd])       return SynPd;
    else if (fail[SynQp])       return SynQp;
    else if (fail[SynRights])   return SynRights;
    else if (fail[SynWrap])     return SynWrap;
    else if (fail[SynBounds])   return SynBounds;
    else if (fail[SynAlign])    return SynAlign;
    else if (fail[SynParent])   return SynParent;
    else                        return SynMptBad;  // not granted and no reason: still refused
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Stage 1
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic                disabled;
    logic                tag_busy;
    logic                atomic_len;
    logic                empty;
    logic                length;
    logic                need_key;       // rules 0 and 1 let it pass to the key
    logic                index;
    logic                looked_up;
    logic                bus;
    logic                crc;
    logic                fields;
    logic                state;
    logic                role;
    logic                tag;
    logic                pd;
    logic                type2_window;
    logic                qpn_equal;
    logic                rights;
    logic                atomic_addr;
    logic                second;         // with the parent's entry
    logic                gone;           // which is not what it must be
    logic                window;
    logic                va_high_ones;
    logic [31:0]         va_low;
    logic                no_bytes;       // len is 0
    logic [64:0]         va_minus_base;
    logic [64:0]         length_minus_len;
    logic [31:0]         len;
    logic [31:0]         len_minus_1;
    logic [OffW-1:0]     page_mask;
    logic [OffW-1:0]     start_in_page;  // start mod page
    logic [OffW-1:0]     va_in_page;     // offset of the first byte, still to be masked
    logic [4:0]          page_shift;     // log_page - 12
    desc_t               desc;
  } stage1_t;

  stage1_t     s1_d, s1_q;
  logic        remote_right, phys;
  logic [63:0] base;

  always_comb begin
    remote_right = entry_i.access[AccRemoteWrite] || entry_i.access[AccRemoteRead] ||
                   entry_i.access[AccRemoteAtomic] || entry_i.access[AccFlushGlobal] ||
                   entry_i.access[AccFlushPersistent];
    phys         = entry_i.kind == KindPhys;
    base         = base_of(entry_i.access[AccZeroBased], entry_i.start);

    s1_d.disabled         = disabled_i;
    s1_d.tag_busy         = tag_busy_i;
    s1_d.atomic_len       = fails_atomic_len(req_i.op, req_i.len);
    s1_d.empty            = is_empty(req_i.op, req_i.len);
    s1_d.length           = fails_length(req_i.len);
    s1_d.need_key         = req_needs_lookup(req_i);
    s1_d.index            = !index_ok_i;
    s1_d.looked_up        = looked_up_i;
    s1_d.bus              = bus_err_i;
    s1_d.crc              = mpt_bad_i;
    s1_d.fields           = fails_fields(entry_i.state, entry_i.kind, entry_i.level,
                                         entry_i.encoding, entry_i.log_page, entry_i.log_tpage);
    s1_d.state            = fails_state(entry_i.state);
    s1_d.role             = fails_role(req_i.op, role_i, entry_i.kind, remote_right);
    s1_d.tag              = fails_tag(req_i.key[7:0], role_i, entry_i.lkey_tag,
                                      entry_i.rkey_tag);
    s1_d.pd               = fails_pd(entry_i.kind, req_i.pd, entry_i.pd);
    s1_d.type2_window     = (entry_i.kind == KindMw2) || (entry_i.kind == KindMw2a);
    s1_d.qpn_equal        = req_i.qpn == entry_i.qpn;
    s1_d.rights           = fails_rights(req_i.op, entry_i.access[AccLocalWrite],
                                         entry_i.access[AccRemoteWrite],
                                         entry_i.access[AccRemoteRead],
                                         entry_i.access[AccRemoteAtomic],
                                         entry_i.access[AccFlushGlobal],
                                         entry_i.access[AccFlushPersistent]);
    s1_d.atomic_addr      = fails_atomic_addr(req_i.op, req_i.va[2:0]);
    s1_d.second           = parent_i;
    s1_d.gone             = fails_parent(role_i, entry_i.kind, entry_i.access[AccZeroBased],
                                         entry_i.gen, req_i.key[7:0]);
    s1_d.window           = is_window(entry_i.kind);
    s1_d.va_high_ones     = &req_i.va[63:32];
    s1_d.va_low           = req_i.va[31:0];
    s1_d.no_bytes         = req_i.len == 32'd0;
    s1_d.va_minus_base    = {1'b0, req_i.va} - {1'b0, base};
    s1_d.length_minus_len = {1'b0, entry_i.length} - {33'd0, req_i.len};
    s1_d.len              = req_i.len;
    s1_d.len_minus_1      = req_i.len - 32'd1;
    s1_d.page_mask        = page_mask(entry_i.log_page);
    s1_d.start_in_page    = entry_i.start[OffW-1:0] & page_mask(entry_i.log_page);
    // Modulo the page, va - base + start is va, or va + start in a zero-based region.
    s1_d.va_in_page       = req_i.va[OffW-1:0] +
                            (entry_i.access[AccZeroBased] ? entry_i.start[OffW-1:0] : '0);
    s1_d.page_shift       = 5'(entry_i.log_page - 6'(MinLogPage));
    s1_d.desc.index       = index_i;
    s1_d.desc.gen         = entry_i.gen;
    s1_d.desc.level       = entry_i.level;
    s1_d.desc.log_page    = entry_i.log_page;
    s1_d.desc.log_tpage   = entry_i.log_tpage;
    s1_d.desc.encoding    = entry_i.encoding;
    s1_d.desc.write       = needs_writable(req_i.op);
    s1_d.desc.tag         = req_i.tag;
    s1_d.desc.ondemand    = entry_i.access[AccOnDemand];
    s1_d.desc.relaxed     = entry_i.access[AccRelaxedOrdering] && !is_atomic(req_i.op);
    s1_d.desc.frame       = entry_i.frame;
    // The page of the address, and the next one: a request reaches no further.
    if (phys) begin
      s1_d.desc.encoding = EncNone;
      s1_d.desc.frame    = '0;
      s1_d.desc.frame[0] = {req_i.va[63:MaxLogPage], {(MaxLogPage - 12){1'b0}}};
      s1_d.desc.frame[1] = {req_i.va[63:MaxLogPage] + 1'b1, {(MaxLogPage - 12){1'b0}}};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 2
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [NumRules-1:0] fail;       // rules 8 and 9 still missing
    logic                atomic_len;
    logic                empty;
    logic                live;       // a VALID entry was read
    logic                second;
    logic                window;
    logic                va_high_ones;
    logic                no_bytes;
    logic                past_top;
    logic                below_base;
    logic                longer;
    logic                past_slack;
    logic [63:12]        o;          // byte position, counted from the start of the first page
    logic [OffW-1:0]     off;        // offset of the first byte inside its page
    logic [OffW:12]      last_off;   // offset of the last byte, counted from that page
    logic [31:0]         len;
    logic [4:0]          page_shift;
    desc_t               desc;
  } stage2_t;

  stage2_t         s2_d, s2_q;
  logic            has_entry;   // an entry is there
  logic            good_entry;  // and it is one of this unit
  logic            live_entry;  // and it is VALID, so that its fields can be compared
  logic            key_rules;   // and the request's key is its key
  logic [63:0]     o;
  logic [OffW-1:0] off;
  logic [OffW:0]   last_off;

  always_comb begin
    has_entry  = s1_q.need_key && s1_q.looked_up && !s1_q.index && !s1_q.bus;
    good_entry = has_entry && !s1_q.crc && !s1_q.fields;
    live_entry = good_entry && !s1_q.state;
    key_rules  = live_entry && !s1_q.second;

    s2_d.fail              = '0;
    s2_d.fail[SynDisabled] = s1_q.disabled;
    s2_d.fail[SynTagBusy]  = s1_q.tag_busy;
    s2_d.fail[SynLength]   = s1_q.length && !s1_q.atomic_len;
    s2_d.fail[SynKeyIndex] = s1_q.need_key && s1_q.index && !s1_q.second;
    s2_d.fail[SynBus]      = s1_q.need_key && s1_q.looked_up && !s1_q.index && s1_q.bus;
    s2_d.fail[SynMptBad]   = has_entry && (s1_q.crc || s1_q.fields);
    s2_d.fail[SynKeyState] = good_entry && s1_q.state && !s1_q.second;
    s2_d.fail[SynKeyTag]   = key_rules && (s1_q.role || s1_q.tag);
    s2_d.fail[SynPd]       = key_rules && s1_q.pd;
    s2_d.fail[SynQp]       = key_rules && fails_qp(s1_q.type2_window, s1_q.qpn_equal);
    s2_d.fail[SynRights]   = key_rules && s1_q.rights;
    s2_d.fail[SynAlign]    = (s1_q.atomic_len || s1_q.atomic_addr) && !s1_q.second;
    s2_d.fail[SynParent]   = s1_q.second && s1_q.need_key &&
                             (s1_q.index || (good_entry && (s1_q.state || s1_q.gone)));

    s2_d.atomic_len   = s1_q.atomic_len;
    s2_d.empty        = s1_q.empty;
    s2_d.live         = live_entry;
    s2_d.second       = s1_q.second;
    s2_d.window       = s1_q.window;
    s2_d.va_high_ones = s1_q.va_high_ones;
    s2_d.no_bytes     = s1_q.no_bytes;
    s2_d.past_top     = s1_q.len_minus_1 > ~s1_q.va_low;
    s2_d.below_base   = s1_q.va_minus_base[64];
    s2_d.longer       = s1_q.length_minus_len[64];
    s2_d.past_slack   = s1_q.va_minus_base[63:0] > s1_q.length_minus_len[63:0];
    // Inside the bounds this sum is at most start mod page + length <= start + length <= 2^64.
    o                 = s1_q.va_minus_base[63:0] + {21'd0, s1_q.start_in_page};
    off               = s1_q.va_in_page & s1_q.page_mask;
    last_off          = {1'b0, off} + {12'd0, s1_q.len_minus_1};
    s2_d.o            = o[63:MinLogPage];
    s2_d.off          = off;
    s2_d.last_off     = last_off[OffW:MinLogPage];
    s2_d.len          = s1_q.len;
    s2_d.page_shift   = s1_q.page_shift;
    s2_d.desc         = s1_q.desc;
  end

  // Positions are in pages from here on, and no page is smaller than 4 KiB.
  logic unused_in_page;
  assign unused_in_page = ^{o[MinLogPage-1:0], last_off[MinLogPage-1:0]};

  // ---------------------------------------------------------------------------------------------
  // Stage 3
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [NumRules-1:0] fail;
    logic                granted;   // something may be accessed
    logic                again;     // if the parent allows it
    logic                empty;     // accepted, nothing to access
    logic [4:0]          reason;    // syndrome if neither
    logic [PageIdxW+2:0] page;      // page, still to be shifted by up to 3 places
    logic [22:0]         last;      // last page, counted from the first, likewise
    logic [1:0]          shift;     // these places
    logic [OffW-1:0]     off;
    logic [31:0]         len;
    desc_t               desc;
  } stage3_t;

  stage3_t             s3_d, s3_q;
  logic [NumRules-1:0] fail;
  logic                enabled, outside;

  always_comb begin
    fail            = s2_q.fail;
    outside         = s2_q.live &&
                      fails_bounds(s2_q.below_base, s2_q.longer, s2_q.past_slack);
    fail[SynWrap]   = fails_wrap(s2_q.va_high_ones, s2_q.no_bytes, s2_q.past_top) && !s2_q.second;
    fail[SynBounds] = outside && !s2_q.second;
    fail[SynParent] = s2_q.fail[SynParent] || (outside && s2_q.second);
    enabled         = !fail[SynDisabled] && !fail[SynTagBusy];
    s3_d.fail       = fail;
    s3_d.granted    = s2_q.live && (fail == '0) && !s2_q.window;
    s3_d.again      = s2_q.live && (fail == '0) && s2_q.window;
    s3_d.empty      = s2_q.empty && enabled;
    s3_d.reason     = first_failure(fail, s2_q.atomic_len);
    s3_d.page       = (PageIdxW + 3)'(s2_q.o >> {s2_q.page_shift[4:2], 2'd0});
    s3_d.last       = 23'(s2_q.last_off >> {s2_q.page_shift[4:2], 2'd0});
    s3_d.shift      = s2_q.page_shift[1:0];
    s3_d.off        = s2_q.off;
    s3_d.len        = s2_q.len;
    s3_d.desc       = s2_q.desc;
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 4
  // ---------------------------------------------------------------------------------------------
  logic [4:0]          syndrome_d, syndrome_q;
  logic                empty_d, empty_q, again_d, again_q;
  logic [NumRules-1:0] mask_q;
  desc_t               desc_d, desc_q;
  pos_t                pos_d, pos_q;
  logic [PageIdxW-1:0] first_slot;
  logic [19:0]         num_pages;

  always_comb begin
    // Flat tables need not start on a 4 KiB boundary: the rest of the root, in entries.
    first_slot = (s3_q.desc.level == LevelFlat) ? PageIdxW'(s3_q.desc.frame[1][8:0]) : '0;
    num_pages  = 20'(s3_q.last >> s3_q.shift) + 20'd1;

    syndrome_d = s3_q.reason;
    empty_d    = 1'b0;
    again_d    = 1'b0;
    desc_d     = '0;
    pos_d      = '0;
    if (s3_q.empty) begin
      syndrome_d = SynOk;
      empty_d    = 1'b1;
    end else if (s3_q.granted) begin
      syndrome_d = SynOk;
      desc_d     = s3_q.desc;
      pos_d.idx  = PageIdxW'(s3_q.page >> s3_q.shift) + first_slot;
      pos_d.np   = num_pages;
      pos_d.off  = s3_q.off;
      pos_d.rem  = s3_q.len;
      if (s3_q.desc.encoding == EncNone) pos_d.idx = '0;
    end else if (s3_q.again) begin
      syndrome_d = SynParent;
      again_d    = 1'b1;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Registers
  // ---------------------------------------------------------------------------------------------
  logic [CheckLatency-1:0]           valid_q;
  logic [CheckLatency-1:0][PayW-1:0] pay_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= {valid_q[CheckLatency-2:0], valid_i};
  end

  always_ff @(posedge clk_i) begin
    pay_q <= {pay_q[CheckLatency-2:0], pay_i};
    s1_q  <= s1_d;
    s2_q  <= s2_d;
    s3_q  <= s3_d;
  end

  // Refused at reset, and whenever there is no request.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !valid_q[CheckLatency-2]) begin
      syndrome_q <= SynDisabled;
      empty_q    <= 1'b0;
      again_q    <= 1'b0;
      mask_q     <= '0;
      desc_q     <= '0;
      pos_q      <= '0;
    end else begin
      syndrome_q <= syndrome_d;
      empty_q    <= empty_d;
      again_q    <= again_d;
      mask_q     <= s3_q.fail;
      desc_q     <= desc_d;
      pos_q      <= pos_d;
    end
  end

  assign valid_o    = valid_q[CheckLatency-1];
  assign pay_o      = pay_q[CheckLatency-1];
  assign syndrome_o = syndrome_q;
  assign empty_o    = empty_q;
  assign again_o    = again_q;
  assign mask_o     = mask_q;
  assign desc_o     = desc_q;
  assign pos_o      = pos_q;

  // Not looked at here: the index field of the key is decoded already, tag and stream are the
  // caller's (in pay_i), and the rest of the entry belongs to the registration engine.
  logic unused;
  assign unused = ^{req_i.tag, req_i.stream, req_i.key[31:8], entry_i.rsvd2, entry_i.cap,
                    entry_i.bound,
                    entry_i.crc, entry_i.rsvd1, entry_i.rsvd0, entry_i.rinv_en};

  // ---------------------------------------------------------------------------------------------
  // Assertions
  // ---------------------------------------------------------------------------------------------
  `TPT_ASSERT(OkMeansNoFailure, !valid_o || (syndrome_o != SynOk) || empty_o || (mask_o == '0))
  `TPT_ASSERT(EmptyIsOk, !valid_o || !empty_o || (syndrome_o == SynOk))
  `TPT_ASSERT(RefusedHasNoAddress, (syndrome_o == SynOk) || ((desc_o == '0) && (pos_o == '0)))
  `TPT_ASSERT(AgainIsNoAnswer, !again_o || ((syndrome_o == SynParent) && !empty_o))
  `TPT_ASSERT(IdleIsRefused, valid_o || (syndrome_o != SynOk))
  `TPT_ASSERT(AccessHasPages, !valid_o || (syndrome_o != SynOk) || empty_o || (pos_o.np != '0))
  // The caller reads the entry of every request whose key decides.
  `TPT_ASSUME(KeyIsLookedUp, !valid_i || disabled_i || tag_busy_i || !req_needs_lookup(req_i) ||
                             !index_ok_i || looked_up_i)

endmodule
