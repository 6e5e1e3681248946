// Copyright OpenTPT contributors.
// Licensed under the Apache License, Version 2.0, with the Solderpad Hardware License v2.1.
// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1

/// Types and constants of the translation and protection unit.
///
/// This file is the one place where widths, encodings, channel payloads and the memory formats (MPT
/// entry, MTT entry) are defined. The Rust codecs are tested against it. The registers are defined
/// in tpt_csr.rdl, from which tpt_csr_pkg is made. Packed structs: the first field is the most
/// significant one.
package tpt_pkg;

  // ---------------------------------------------------------------------------------------------
  // Widths
  // ---------------------------------------------------------------------------------------------
  /// Width of a request tag (one tag space per client).
  localparam int unsigned TagW = 10;
  /// Width of the stream number of a request. Order is kept inside one stream.
  localparam int unsigned StreamW = 6;
  /// Width of an MPT index.
  localparam int unsigned IndexW = 23;
  /// Width of the index field of a key: {role, index}, permuted.
  localparam int unsigned FieldW = IndexW + 1;
  /// Width of a protection domain number.
  localparam int unsigned PdW = 24;
  /// Width of a queue pair number.
  localparam int unsigned QpnW = 24;
  /// Width of a page number inside a region: at most 2^40 pages in one region.
  localparam int unsigned PageIdxW = 40;
  /// Width of the generation (one registration of an index).
  localparam int unsigned GenW = 8;
  /// Width of the page bound of a fast-registration region.
  localparam int unsigned CapW = 20;
  /// Largest MPT, entries.
  localparam int unsigned MaxMptSize = 2 ** IndexW;
  /// Width of an MPT entry in memory, in bits and bytes.
  localparam int unsigned MptW = 512;
  localparam int unsigned MptBytes = 64;
  /// Width of a frame field of an MPT entry: physical address bits 63:12.
  localparam int unsigned FrameW = 52;
  /// Smallest and largest supported page: 4 KiB and 8 TiB.
  localparam int unsigned MinLogPage = 12;
  localparam int unsigned MaxLogPage = 43;
  /// Smallest and largest table page: 4 KiB and 64 KiB.
  localparam int unsigned MinLogTPage = 12;
  localparam int unsigned MaxLogTPage = 16;
  /// Longest request: 2^31 bytes (IBTA maximum message size).
  localparam logic [31:0] MaxReqLen = 32'h8000_0000;

  // ---------------------------------------------------------------------------------------------
  // Encodings
  // ---------------------------------------------------------------------------------------------
  /// Operation of a request.
  typedef enum logic [2:0] {
    OpLocalRead    = 3'd0,  // gather of a send or write (L_Key)
    OpLocalWrite   = 3'd1,  // receive, read or atomic result (L_Key)
    OpRemoteRead   = 3'd2,  // RDMA READ (R_Key)
    OpRemoteWrite  = 3'd3,  // RDMA WRITE (R_Key)
    OpRemoteAtomic = 3'd4,  // ATOMIC, 8 bytes (R_Key)
    OpFlushGlobal  = 3'd5,  // FLUSH to global visibility (R_Key)
    OpFlushPersist = 3'd6,  // FLUSH to persistence (R_Key)
    OpFlushBoth    = 3'd7   // FLUSH to both (R_Key)
  } op_e;

  /// Why a request was refused. The numbers of the first ones are those of the rules.
  typedef enum logic [4:0] {
    SynOk        = 5'd0,   // accepted
    SynLength    = 5'd1,   // len > 2^31
    SynKeyIndex  = 5'd2,   // index not below the table size
    SynKeyState  = 5'd3,   // entry FREE or INVALID
    SynKeyTag    = 5'd4,   // role does not exist, key of the other role, or wrong tag
    SynPd        = 5'd5,   // protection domain differs
    SynQp        = 5'd6,   // type-2 window of another queue pair
    SynRights    = 5'd7,   // a needed right is missing
    SynWrap      = 5'd8,   // va + len passes 2^64
    SynBounds    = 5'd9,   // outside the region
    SynAlign     = 5'd10,  // atomic not 8 bytes long or not aligned to 8
    SynParent    = 5'd11,  // parent region of a window is gone
    SynMttAbsent = 5'd12,  // table entry not present
    SynMttBad    = 5'd13,  // table entry misaligned or does not allow the access
    SynBus       = 5'd14,  // memory answered with an error
    SynMptBad    = 5'd15,  // MPT entry corrupted (CRC or illegal fields)
    SynDisabled  = 5'd16,  // unit not enabled, or MPT not cleared yet
    SynTagBusy   = 5'd17,  // the request's tag is still in use by an earlier request
    SynRetry     = 5'd18,  // page fault that is not held: the same request may pass later
    SynHostWin   = 5'd19,  // physical address outside the host windows
    SynBlocked   = 5'd20   // the stream is blocked after bad keys
  } syndrome_e;

  /// State of an MPT entry. All-zero memory is a FREE entry with a right CRC, at every index.
  typedef enum logic [1:0] {
    StFree    = 2'd0,  // no region
    StValid   = 2'd1,  // the keys are live
    StInvalid = 2'd2,  // a command on it waits for its fence: keys refused
    StAlloc   = 2'd3   // fast-registration region without a registration, window not bound
  } state_e;

  /// Kind of an MPT entry.
  typedef enum logic [2:0] {
    KindMr   = 3'd0,  // memory region
    KindFrmr = 3'd1,  // fast-registration region
    KindMw1  = 3'd2,  // type-1 window
    KindMw2  = 3'd3,  // type-2B window: of one queue pair and protection domain
    KindPhys = 3'd4,  // physical region: addresses are physical ones, there is no table
    KindMw2a = 3'd5   // type-2A window: of one queue pair
  } kind_e;

  /// Encoding of MTT entries.
  typedef enum logic [1:0] {
    EncRaw     = 2'd0,  // address only, all zero is "not present"
    EncFlagged = 2'd1,  // bit 0 present and readable, bit 1 writable
    EncChecked = 2'd2   // as FLAGGED, with check bits over address and place
  } enc_e;
  /// Inside the unit only: frames of a physical region, which are not judged.
  localparam logic [1:0] EncNone = 2'd3;

  /// Table level field. 0: pages inside the MPT entry; 1 to 4: tree of table pages; 5: one flat
  /// array of any length.
  localparam logic [2:0] LevelInline = 3'd0;
  localparam logic [2:0] LevelFlat   = 3'd5;

  /// Access bits of an MPT entry (names of IBV_ACCESS_*), bit numbers inside `access`.
  localparam int unsigned AccessW = 11;
  localparam int unsigned AccLocalWrite      = 0;  // local write (LW)
  localparam int unsigned AccRemoteWrite     = 1;  // remote write (RW)
  localparam int unsigned AccRemoteRead      = 2;  // remote read (RR)
  localparam int unsigned AccRemoteAtomic    = 3;  // remote atomic (RA)
  localparam int unsigned AccMwBind          = 4;  // windows may be bound
  localparam int unsigned AccZeroBased       = 5;  // addresses are offsets from the start
  localparam int unsigned AccOnDemand        = 6;  // pages may be absent: page faults
  localparam int unsigned AccHugeTlb         = 7;  // kept, not used
  localparam int unsigned AccFlushGlobal     = 8;  // FLUSH to global visibility
  localparam int unsigned AccFlushPersistent = 9;  // FLUSH to persistence
  localparam int unsigned AccRelaxedOrdering = 10;  // attribute of response beats
  /// Bit of IBV_ACCESS_RELAXED_ORDERING in a verbs access word.
  localparam int unsigned VerbsRelaxedOrdering = 20;
  /// Verbs access bits that registration knows: 0 to 5, 7 to 9, 20 to 29 (6: see AccOnDemand).
  localparam logic [31:0] KnownAccess = 32'h3ff0_03bf;
  /// Of a window: RW, RR, RA, and ZERO_BASED for type 2.
  localparam logic [31:0] KnownMwAccess = 32'h0000_002e;
  /// Of a physical region: KnownAccess without MW_BIND and ZERO_BASED.
  localparam logic [31:0] KnownPhysAccess = 32'h3ff0_038f;

  /// Partitions of the caches: bits of their number, and of REFUSAL_TIME.
  localparam int unsigned PartW = 2;
  localparam int unsigned RefusalTimeW = 12;
  /// Which partition a PD is in (ISOLATION, PART_MAP).
  typedef struct packed {
    logic [31:0] map;        // partition of group g at 2 g
    logic [4:0]  pd_shift;   // group: (PD >> pd_shift) modulo 16
    logic [1:0]  log_parts;  // log2 of the partitions
  } isolation_t;

  /// Alarm of bad keys: what the registers say to it, and what it shows.
  typedef struct packed {
    logic [7:0] stream_threshold;  // 0: none
    logic [7:0] pd_threshold;      // 0: none
    logic       block;             // block a stream that reaches it
    logic [1:0] client;            // what is shown and cleared: a stream of a client,
    logic [5:0] stream;
    logic [7:0] slot;              // and a slot of PDs
    logic       clear_stream;      // one clock each
    logic       clear_pd;
    logic       clear_all;
  } alarm_set_t;
  typedef struct packed {
    logic [7:0]     stream_count;
    logic           stream_blocked;
    logic [7:0]     pd_count;
    logic [PdW-1:0] pd_last;
  } alarm_show_t;

  /// Key role, the top bit of the 24-bit {role, index} before the permutation.
  localparam logic RoleLocal  = 1'b0;
  localparam logic RoleRemote = 1'b1;

  /// Command codes.
  typedef enum logic [3:0] {
    CmdRegMr   = 4'd1,  // register a memory region
    CmdDeregMr = 4'd2,  // deregister it
    CmdReregMr = 4'd3,  // change translation, PD or access; new keys
    CmdQuery   = 4'd4,  // read the entry
    CmdAllocMr    = 4'd5,   // allocate a fast-registration region
    CmdFastRegMr  = 4'd6,   // register it: from ALLOC to VALID, only the tags of its keys change
    CmdInvalidate = 4'd7,   // end the registration or binding: back to ALLOC
    CmdAllocMw    = 4'd8,   // allocate a window
    CmdBindMw     = 4'd9,   // bind it to a part of a region; type 1: or unbind it
    CmdDeallocMw  = 4'd10,  // free it, bound or not
    CmdRegPhys    = 4'd11,  // register a physical region, if CTRL.phys allows it
    CmdPageReady  = 4'd12,  // answer to a page fault: walk on, or refuse
    CmdInvalidateRange = 4'd13   // end the use of old entries of an on-demand region
  } cmd_op_e;

  /// Bits of `flags` of a command.
  localparam int unsigned FlagRemoteInv = 0;  // ALLOC_MR: allowed; INVALIDATE: it is a remote one
  localparam int unsigned FlagMw2       = 1;  // ALLOC_MW: type 2 (2B) instead of type 1
  localparam int unsigned FlagMw2a      = 2;  // ALLOC_MW: type 2A, with FlagMw2
  localparam int unsigned FlagRefuse    = 0;  // PAGE_READY: the page will not come

  /// IBV_REREG_MR_* bits of a REREG_MR command.
  localparam int unsigned ReregTranslation = 0;  // start, length, page size and table
  localparam int unsigned ReregPd          = 1;  // PD := new_pd
  localparam int unsigned ReregAccess      = 2;  // access from the command

  /// Status of a completion.
  typedef enum logic [4:0] {
    StsOk          = 5'd0,   // done
    StsPending     = 5'd1,   // fence time ran out: keep index and pins, more to come
    StsBadOp       = 5'd2,   // unknown command
    StsBadLength   = 5'd3,   // length 0
    StsBadWrap     = 5'd4,   // start + length passes 2^64
    StsBadFlags    = 5'd5,   // unknown access flags
    StsBadAccess   = 5'd6,   // REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE
    StsBadPageSize = 5'd7,   // log_page outside 12..43
    StsBadEncoding = 5'd8,   // unknown MTT encoding
    StsBadLevel    = 5'd9,   // unknown level, or deeper than MaxLevels, or table page size
    StsTableSmall  = 5'd10,  // the table cannot hold the pages of the length
    StsTableAlign  = 5'd11,  // table root or inline page not aligned
    StsNoIndex     = 5'd12,  // MPT full
    StsKeyIndex    = 5'd13,  // index not below the table size
    StsKeyState    = 5'd14,  // entry FREE or INVALID
    StsKeyTag      = 5'd15,  // no L_Key, or wrong tag
    StsKeyKind     = 5'd16,  // not a memory region
    StsKeyPd       = 5'd17,  // another protection domain
    StsBound       = 5'd18,  // windows are bound
    StsBus         = 5'd19,  // memory answered with an error
    StsMptBad      = 5'd20,  // MPT entry corrupted
    StsDisabled    = 5'd21,  // unit not enabled
    StsBadRereg    = 5'd22,  // no or unknown REREG flags
    StsBusy        = 5'd23,  // fence queue full of PENDING commands; nothing was changed
    StsMrKey       = 5'd24,  // bind: `mkey` does not name a valid region of kind MR or FRMR
    StsMrPd        = 5'd25,  // bind: the region is of another protection domain
    StsMrRights    = 5'd26,  // bind: region without MW_BIND, or LOCAL_WRITE missing, or zero-based
    StsMrBounds    = 5'd27,  // bind: the range is not inside the region
    StsPrivilege   = 5'd28,  // physical regions are not allowed (CTRL.phys)
    StsRemoteInv   = 5'd29,  // the region does not allow remote invalidation
    StsKeyQp       = 5'd30,  // the window is bound to another queue pair
    StsBadSlot     = 5'd31   // command queue: unknown version, or a bit that must be 0 is not
  } status_e;

  // ---------------------------------------------------------------------------------------------
  // Channel payloads
  // ---------------------------------------------------------------------------------------------
  /// Request: one access that carries a key.
  typedef struct packed {
    logic [TagW-1:0]    tag;     // names the request, unique per client while in use
    logic [StreamW-1:0] stream;  // responses of one stream keep order
    logic [2:0]         op;      // op_e
    logic [31:0]        key;     // L_Key or R_Key
    logic [63:0]        va;      // virtual address (offset if ZERO_BASED)
    logic [31:0]        len;     // bytes
    logic [PdW-1:0]     pd;      // of the queue pair
    logic [QpnW-1:0]    qpn;     // of the queue pair (type-2 windows)
  } req_t;
  localparam int unsigned ReqW = $bits(req_t);

  /// Response beat: one physical segment, or the syndrome that ends the request.
  typedef struct packed {
    logic [TagW-1:0]    tag;       // of the request
    logic [StreamW-1:0] stream;    // of the request
    logic [4:0]         syndrome;  // syndrome_e
    logic [63:0]        pa;        // 0 if no address
    logic [31:0]        len;       // bytes, 0 if no address
    logic               relaxed;   // relaxed ordering is allowed; 0 if no address
    logic               first;     // first beat of the request
    logic               last;      // last beat of the request
  } rsp_t;
  localparam int unsigned RspW = $bits(rsp_t);

  /// What is logged of a refused request.
  typedef struct packed {
    logic [TagW-1:0]    tag;       // of the request
    logic [StreamW-1:0] stream;    // of the request
    logic [4:0]         syndrome;  // syndrome_e
  } refusal_t;

  /// Done: the consumer has finished with the segments of the request with this tag.
  typedef struct packed {
    logic [TagW-1:0] tag;  // of the request
  } done_t;
  localparam int unsigned DoneW = $bits(done_t);

  /// Command.
  typedef struct packed {
    logic [15:0]      id;         // returned in the completion
    logic [3:0]       op;         // cmd_op_e
    logic [3:0]       flags;      // bits Flag*
    logic [7:0]       tag;        // FAST_REG, BIND of type 2: new tag of the keys
    logic [QpnW-1:0]  qpn;        // BIND of type 2, remote INVALIDATE: queue pair
    logic [31:0]      mkey;       // BIND: L_Key of the region
    logic [31:0]      key;        // what it is about: L_Key; window: R_Key; PAGE_READY: slot
    logic [PdW-1:0]   pd;         // PD of the region or window; must match one that exists
    logic [31:0]      access;     // verbs access word, IBV_ACCESS_*
    logic [63:0]      start;      // start VA (iova)
    logic [63:0]      length;     // bytes; ALLOC_MR: pages that a registration may have
    logic [5:0]       log_page;   // log2 of the page size, 12..43
    logic [2:0]       level;      // 0, 1..MaxLevels, 5 (flat)
    logic [4:0]       log_tpage;  // log2 of the table page size, 12..16
    logic [1:0]       encoding;   // enc_e
    logic [2:0]       rereg;      // IBV_REREG_MR_* bits
    logic [PdW-1:0]   new_pd;     // REREG with the PD bit
    logic [3:0][63:0] frame;      // level 0: page addresses; otherwise [0] is the table root
  } cmd_t;
  localparam int unsigned CmdW = $bits(cmd_t);

  // ---------------------------------------------------------------------------------------------
  // MPT entry, 64 bytes, little-endian: bit 0 of the struct is bit 0 of byte 0.
  // ---------------------------------------------------------------------------------------------
  typedef struct packed {
    logic [4:0]             rsvd2;      // 511:507 0
    logic [CapW-1:0]        cap;        // 506:487 pages of a registration (FRMR); window: ranges
    logic [IndexW-1:0]      bound;      // 486:464 bound windows; parent (window); next (FREE)
    logic [3:0][FrameW-1:0] frame;      // 463:256 frame k at 256 + 52 k
    logic [63:0]            length;     // 255:192 bytes
    logic [63:0]            start;      // 191:128 first virtual address
    logic [15:0]            crc;        // 127:112 CRC-16 of the other bits ^ index, mpt_place
    logic [QpnW-1:0]        qpn;        // 111:88 queue pair of a type-2 window; else [7:0] ranges
    logic [PdW-1:0]         pd;         // 87:64 protection domain; own index (free list)
    logic                   rsvd1;      // 63 0
    logic [IndexW-17:0]     index_hi;   // 62:56 index[22:16], 0 if FREE
    logic [GenW-1:0]        gen;        // 55:48 generation: registrations, invalidations of ranges
    logic [7:0]             rkey_tag;   // 47:40 low byte of the R_Key
    logic [7:0]             lkey_tag;   // 39:32 low byte of the L_Key
    logic                   rsvd0;      // 31 0
    logic                   rinv_en;    // 30 remote invalidate enabled
    logic [1:0]             encoding;   // 29:28 enc_e
    logic [2:0]             log_tpage;  // 27:25 log2(table page) - 12
    logic [2:0]             level;      // 24:22 0 inline, 1 to 4 tree, 5 flat
    logic [5:0]             log_page;   // 21:16 log2(page)
    logic [AccessW-1:0]     access;     // 15:5 rights and options, bits below
    logic [2:0]             kind;       // 4:2 kind_e
    logic [1:0]             state;      // 1:0 state_e
  } mpt_entry_t;
  // Flat tables need not start on a 4 KiB boundary: frame[0] is root[63:12] and frame[1][8:0] is
  // root[11:3]. A bound window has its parent's index in `bound`, and in frame[0] what its check
  // needs: [23:0] the index field of the parent's L_Key, [31:24] the generation that was bound.

  /// Completion. `entry` is the MPT entry as it is in memory (QUERY) and 0 otherwise.
  typedef struct packed {
    logic [15:0]     id;      // of the command
    logic [3:0]      op;      // of the command
    logic [4:0]      status;  // status_e
    logic [31:0]     lkey;    // REG, REREG with status OK
    logic [31:0]     rkey;    // 0 if the region has no remote right
    logic [IndexW-1:0] index; // MPT index, with the keys
    logic [MptW-1:0] entry;   // QUERY with status OK
  } cpl_t;
  localparam int unsigned CplW = $bits(cpl_t);

  // ---------------------------------------------------------------------------------------------
  // Slots of the command queue and of the completion queue in host memory, 128 bytes each,
  // little-endian: bit 0 of the struct is bit 0 of byte 0, so the last field comes first in memory.
  // ---------------------------------------------------------------------------------------------
  localparam int unsigned QueueSlotBytes = 128;
  localparam int unsigned QueueSlotW     = 1024;
  /// Width of a slot number, and the sizes that a queue may have, log2 of its slots. One slot of a
  /// queue is always empty. The completion queue must have room for two completions of a command.
  localparam int unsigned QueueIdxW       = 16;
  localparam int unsigned MaxLogQueue     = 16;
  localparam int unsigned MinLogCmdQueue  = 1;
  localparam int unsigned MinLogCplQueue  = 2;
  /// The version of a command slot that this unit knows.
  localparam logic [7:0] CmdqVersion = 8'd1;

  /// Slot of the command queue. What is wider here than in cmd_t is 0 above.
  typedef struct packed {
    logic [31:0][7:0] rsvd1;      // 0
    logic [3:0][63:0] frame;      // level 0: page addresses; otherwise [0] is the table root
    logic [12:0][7:0] rsvd0;      // 0
    logic [7:0]       log_tpage;  // log2 of the table page size, 12..16
    logic [7:0]       level;      // 0, 1..MaxLevels, 5 (flat)
    logic [7:0]       log_page;   // log2 of the page size, 12..43
    logic [63:0]      length;     // bytes; ALLOC_MR: pages that a registration may have
    logic [63:0]      start;      // start VA (iova)
    logic [31:0]      access;     // verbs access word, IBV_ACCESS_*
    logic [31:0]      qpn;        // BIND of type 2, remote INVALIDATE: queue pair
    logic [31:0]      new_pd;     // REREG with the PD bit
    logic [31:0]      pd;         // PD of the region or window; must match one that exists
    logic [31:0]      mkey;       // BIND: L_Key of the region
    logic [31:0]      key;        // what it is about: L_Key; window: R_Key; PAGE_READY: slot
    logic [7:0]       encoding;   // enc_e
    logic [7:0]       rereg;      // IBV_REREG_MR_* bits
    logic [7:0]       tag;        // FAST_REG, BIND of type 2: new tag of the keys
    logic [7:0]       flags;      // bits Flag*
    logic [7:0]       version;    // CmdqVersion
    logic [7:0]       op;         // cmd_op_e
    logic [15:0]      id;         // returned in the completion
  } cmdq_slot_t;

  /// Slot of the completion queue. The second half is only written for a QUERY with status OK.
  typedef struct packed {
    logic [MptBytes-1:0][7:0] entry;      // QUERY with status OK: MPT entry as it is in memory
    logic [7:0]               phase;      // bit 0: the phase, 1 in the first round of the queue
    logic [42:0][7:0]         rsvd1;      // 0
    logic [31:0]              index;      // MPT index, with the keys
    logic [15:0]              rsvd0;      // 0
    logic [15:0]              cmdq_head;  // slot of the next command that the unit takes
    logic [31:0]              rkey;       // 0 if the region has no remote right
    logic [31:0]              lkey;       // REG, REREG with status OK
    logic [7:0]               status;     // status_e
    logic [7:0]               op;         // of the command
    logic [15:0]              id;         // of the command
  } cplq_slot_t;

  /// Bits of a command slot that must be 0: what is reserved, and what is wider than in cmd_t. An
  /// operation code that is too large is not among them: it is an unknown command.
  function automatic cmdq_slot_t cmdq_zero_bits();
    cmdq_slot_t z;
    z                = '0;
    z.rsvd0          = '1;
    z.rsvd1          = '1;
    z.pd[31:PdW]     = '1;
    z.new_pd[31:PdW] = '1;
    z.qpn[31:QpnW]   = '1;
    z.flags[7:4]     = '1;
    z.rereg[7:3]     = '1;
    z.encoding[7:2]  = '1;
    z.log_page[7:6]  = '1;
    z.level[7:3]     = '1;
    z.log_tpage[7:5] = '1;
    return z;
  endfunction

  /// The command of a slot whose bits cmdq_zero_bits are 0.
  function automatic cmd_t cmdq_command(cmdq_slot_t s);
    cmd_t c;
    logic unused_s;
    unused_s    = ^s;
    c.id        = s.id;
    c.op        = s.op[3:0];
    c.flags     = s.flags[3:0];
    c.tag       = s.tag;
    c.qpn       = s.qpn[QpnW-1:0];
    c.mkey      = s.mkey;
    c.key       = s.key;
    c.pd        = s.pd[PdW-1:0];
    c.access    = s.access;
    c.start     = s.start;
    c.length    = s.length;
    c.log_page  = s.log_page[5:0];
    c.level     = s.level[2:0];
    c.log_tpage = s.log_tpage[4:0];
    c.encoding  = s.encoding[1:0];
    c.rereg     = s.rereg[2:0];
    c.new_pd    = s.new_pd[PdW-1:0];
    c.frame     = s.frame;
    return c;
  endfunction

  /// The partition of a PD.
  function automatic logic [PartW-1:0] pd_part(logic [PdW-1:0] pd, isolation_t isolation);
    logic [3:0] group;
    group = 4'(pd >> isolation.pd_shift);
    return isolation.map[{group, 1'b0} +: PartW] & ~({PartW{1'b1}} << isolation.log_parts);
  endfunction

  /// The two top bits of a set number, of a cache with `log_parts` partitions.
  function automatic logic [PartW-1:0] part_top(logic [PartW-1:0] top, logic [PartW-1:0] part,
                                                logic [1:0] log_parts);
    if (log_parts == 2'd0) return top;
    if (log_parts == 2'd1) return {part[0], top[0]};
    return part;
  endfunction

  /// The request is one of a peer: its key is an R_Key.
  function automatic logic req_of_peer(logic [2:0] op);
    return (op != OpLocalRead) && (op != OpLocalWrite);
  endfunction

  /// The refusal is one by the rules 2 to 11, or of what was read for them.
  function automatic logic syn_of_rules(logic [4:0] syndrome);
    return ((syndrome >= SynKeyIndex) && (syndrome <= SynParent)) || (syndrome == SynBus) ||
           (syndrome == SynMptBad);
  endfunction

  /// Commands that end something and may be answered PENDING before they are finished.
  function automatic logic cmd_may_pend(logic [3:0] op);
    return (op == CmdDeregMr) || (op == CmdReregMr) || (op == CmdInvalidate) ||
           (op == CmdBindMw) || (op == CmdDeallocMw) || (op == CmdInvalidateRange);
  endfunction

  /// What a passed check hands to the walk.
  typedef struct packed {
    logic [TagW-1:0]        tag;        // of the request
    logic                   ondemand;   // an absent page is a page fault
    logic                   relaxed;    // relaxed ordering is allowed
    logic [IndexW-1:0]      index;
    logic [GenW-1:0]        gen;
    logic [2:0]             level;      // LevelFlat is walked as level 1
    logic [5:0]             log_page;
    logic [2:0]             log_tpage;  // log2(table page) - 12
    logic [1:0]             encoding;
    logic                   write;      // the access needs a writable entry
    logic [3:0][FrameW-1:0] frame;
  } desc_t;

  /// Position of a request inside its region, in pages of the region.
  typedef struct packed {
    logic [PageIdxW-1:0]   idx;   // first page (flat tables: plus root[11:3])
    logic [19:0]           np;    // pages that remain, this one included
    logic [MaxLogPage-1:0] off;   // byte offset inside the first page
    logic [31:0]           rem;   // bytes that remain
  } pos_t;

  /// Field values that a VALID entry of this unit can have. Others mean that memory has changed.
  /// `checked`: the unit knows the encoding CHECKED.
  function automatic logic mpt_fields_legal(logic [2:0] kind, logic [2:0] level,
                                            logic [1:0] encoding, logic [5:0] log_page,
                                            logic [2:0] log_tpage, logic checked);
    return (kind <= KindMw2a) && (level <= LevelFlat) &&
           ((encoding <= EncFlagged) || (checked && (encoding == EncChecked))) &&
           (log_page >= 6'(MinLogPage)) && (log_page <= 6'(MaxLogPage)) &&
           (log_tpage <= 3'(MaxLogTPage - MinLogTPage)) &&
           ((kind != KindPhys) || ((level == LevelInline) && (log_page == 6'(MaxLogPage))));
  endfunction

  /// A page fault, for the FAULT registers.
  typedef struct packed {
    logic [1:0]          client;  // of the request
    logic [TagW-1:0]     tag;     // of the request
    logic                write;   // the access needs a writable page
    logic                held;    // the request waits; else it was answered RETRY
    logic [6:0]          slot;    // names the fault
    logic [IndexW-1:0]   index;   // of the region
    logic [PageIdxW-1:0] page;    // number of the page in the region (flat: plus root[11:3])
  } fault_t;

  // ---------------------------------------------------------------------------------------------
  // Check of an MTT entry in the encoding CHECKED: x^21 + x^2 + 1 over its place, its address and
  // its flags; the parity of the entry is odd.
  // ---------------------------------------------------------------------------------------------
  localparam int unsigned CheckW = 21;
  localparam logic [CheckW-1:0] CheckPoly = 21'h5;  // x^21 modulo the polynomial
  /// Width of a place: index, entry number, level; and of what is in the entry.
  localparam int unsigned PlaceW = IndexW + PageIdxW + 3;
  localparam int unsigned CheckedAddrW = 40;
  localparam int unsigned CheckedW = CheckedAddrW + 2;

  /// Bits in the order of the message.
  function automatic logic [PlaceW-1:0] mtt_place(logic [IndexW-1:0] index,
                                                  logic [PageIdxW-1:0] number, logic [2:0] lvl);
    return {index[IndexW-1:8], number, index[7:0], lvl};
  endfunction

  /// Which bits of {place, address, writable, present} each bit of the check is the parity of.
  typedef logic [CheckW-1:0][PlaceW+CheckedW-1:0] mtt_map_t;
  function automatic mtt_map_t mtt_check_map();
    mtt_map_t          m;
    logic [CheckW-1:0] weight;
    m      = '0;
    weight = CheckPoly;
    for (int unsigned n = 0; n < PlaceW + CheckedW; n++) begin
      for (int unsigned o = 0; o < CheckW; o++) m[o][n] = weight[o];
      weight = {weight[CheckW-2:0], 1'b0} ^ (weight[CheckW-1] ? CheckPoly : '0);
    end
    return m;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // The walk
  // ---------------------------------------------------------------------------------------------
  /// Bits of a page number that an entry of a level spans.
  function automatic logic [5:0] walk_span(logic [2:0] lvl, logic [2:0] log_tpage);
    logic [5:0] bits;
    bits = 6'(log_tpage) + 6'(MinLogTPage - 3);
    unique case (lvl)
      3'd2:    return bits;
      3'd3:    return bits + bits;
      3'd4:    return bits + bits + bits;
      default: return '0;
    endcase
  endfunction

  /// Judgement of one entry: {absent, bad}. `low` has ones below the page size; `wrong`: the check
  /// bits do not fit. A page of an on-demand region that may not be written counts as absent.
  function automatic logic [1:0] mtt_judge(logic [63:0] ent, logic [MaxLogPage-1:0] low,
                                           logic flagged, logic checked, logic wrong,
                                           logic write, logic ondemand);
    logic absent, bad, fixed;
    absent = ent == '0;
    bad    = |(ent[MaxLogPage-1:12] & low[MaxLogPage-1:12]);
    fixed  = 1'b0;
    if (checked) begin
      bad    = bad || wrong;
      fixed  = write && !ent[1];
    end else if (flagged) begin
      absent = !ent[0];
      bad    = bad || (|(ent[11:2] & low[11:2]));
      fixed  = write && !ent[1];
    end else begin
      bad    = bad || (|(ent[11:0] & low[11:0]));
    end
    return {absent || (fixed && !bad && ondemand), bad || fixed};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Keys
  // ---------------------------------------------------------------------------------------------
  /// Rounds of the 24-bit key permutation: a balanced Feistel network on 12-bit halves.
  localparam int unsigned PermRounds = 10;

  /// The 4-bit S-box (PRESENT, ISO/IEC 29192-2).
  function automatic logic [3:0] sbox4(logic [3:0] x);
    unique case (x)
      4'h0: return 4'hc;
      4'h1: return 4'h5;
      4'h2: return 4'h6;
      4'h3: return 4'hb;
      4'h4: return 4'h9;
      4'h5: return 4'h0;
      4'h6: return 4'ha;
      4'h7: return 4'hd;
      4'h8: return 4'h3;
      4'h9: return 4'he;
      4'ha: return 4'hf;
      4'hb: return 4'h8;
      4'hc: return 4'h4;
      4'hd: return 4'h7;
      4'he: return 4'h1;
      default: return 4'h2;
    endcase
  endfunction

  /// Round function: three S-boxes, then y ^ rotl(y, 5) ^ rotl(y, 8) over 12 bits.
  function automatic logic [11:0] perm_f(logic [11:0] x);
    logic [11:0] y;
    y = {sbox4(x[11:8]), sbox4(x[7:4]), sbox4(x[3:0])};
    return y ^ {y[6:0], y[11:7]} ^ {y[3:0], y[11:4]};
  endfunction

  /// One round of the permutation on {L, R}: (L, R) <- (R, L ^ F(R ^ rk)). In plain mode F is fed
  /// with the value that it maps to 0, so that an even number of rounds is the identity and no
  /// logic is added behind the S-boxes.
  function automatic logic [23:0] perm_round(logic [23:0] x, logic [11:0] rk, logic plain);
    return {x[11:0], x[23:12] ^ perm_f(plain ? 12'h555 : (x[11:0] ^ rk))};
  endfunction

  /// Latency of tpt_key_dec, clocks.
  localparam int unsigned KeyDecLatency = 5;
  /// Latency of tpt_mpt_check, clocks.
  localparam int unsigned CheckLatency = 4;

  /// Rules 0 and 1 let the request pass to the key: only then the MPT entry is read.
  function automatic logic req_needs_lookup(req_t req);
    logic unused_req;
    unused_req = ^req;
    return (req.op == OpRemoteAtomic) ? (req.len == 32'd8)
                                      : ((req.len != 32'd0) && (req.len <= MaxReqLen));
  endfunction

  // ---------------------------------------------------------------------------------------------
  // CRC-16 of the MPT entry: x^16 + x^12 + x^5 + 1, start value 0, bytes in memory order, most
  // significant bit of a byte first, the CRC field itself taken as 0; then ^ mpt_place.
  // ---------------------------------------------------------------------------------------------
  function automatic logic [15:0] crc16_step(logic [15:0] crc, logic [7:0] data);
    logic [15:0] c;
    c = crc ^ {data, 8'h00};
    for (int unsigned b = 0; b < 8; b++) begin
      c = {c[14:0], 1'b0} ^ (c[15] ? 16'h1021 : 16'h0000);
    end
    return c;
  endfunction

  /// What the place of an entry adds to its CRC: the low bits of its index, the others are in
  /// `index_hi`. A FREE entry has no place, so that zeros are one everywhere.
  function automatic logic [15:0] mpt_place(logic [1:0] state, logic [IndexW-1:0] index);
    logic unused_bits;
    unused_bits = ^index;
    return (state == StFree) ? 16'd0 : index[15:0];
  endfunction

  /// An entry that is not FREE says that it belongs to another index.
  function automatic logic mpt_moved(logic [1:0] state, logic [IndexW-17:0] index_hi,
                                     logic [IndexW-1:0] index);
    logic unused_bits;
    unused_bits = ^index;
    return (state != StFree) && (index_hi != index[IndexW-1:16]);
  endfunction

  /// CRC of a whole entry, for constants; tpt_crc16 is the logic.
  function automatic logic [15:0] crc16_entry(logic [MptW-1:0] entry);
    logic [15:0] c;
    c = '0;
    for (int unsigned b = 0; b < MptBytes; b++) c = crc16_step(c, entry[8*b +: 8]);
    return c;
  endfunction

endpackage
