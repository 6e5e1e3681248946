// SPDX-License-Identifier: Apache-2.0
// Made from rtl/tpt_pkg.sv by tools/gen_queue.py: change that file, not this one.

// Slots of the command queue and of the completion queue in host memory: docs/queues.md.
// All fields are little-endian.

#ifndef TPT_QUEUE_H
#define TPT_QUEUE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPT_QUEUE_SLOT_BYTES 128
#define TPT_CMDQ_VERSION 1
#define TPT_MIN_LOG_CMD_QUEUE 1
#define TPT_MIN_LOG_CPL_QUEUE 2
#define TPT_MAX_LOG_QUEUE 16
#define TPT_MPT_BYTES 64
#define TPT_MAX_MPT_SIZE 8388608

// Values of `op`.
#define TPT_CMD_REG_MR 1  // register a memory region
#define TPT_CMD_DEREG_MR 2  // deregister it
#define TPT_CMD_REREG_MR 3  // change translation, PD or access; new keys
#define TPT_CMD_QUERY 4  // read the entry
#define TPT_CMD_ALLOC_MR 5  // allocate a fast-registration region
#define TPT_CMD_FAST_REG_MR 6  // register it: from ALLOC to VALID, only the tags of its keys change
#define TPT_CMD_INVALIDATE 7  // end the registration or binding: back to ALLOC
#define TPT_CMD_ALLOC_MW 8  // allocate a window
#define TPT_CMD_BIND_MW 9  // bind it to a part of a region; type 1: or unbind it
#define TPT_CMD_DEALLOC_MW 10  // free it, bound or not
#define TPT_CMD_REG_PHYS 11  // register a physical region, if CTRL.phys allows it
#define TPT_CMD_PAGE_READY 12  // answer to a page fault: walk on, or refuse
#define TPT_CMD_INVALIDATE_RANGE 13  // end the use of old entries of an on-demand region

// Values of `status`.
#define TPT_STS_OK 0  // done
#define TPT_STS_PENDING 1  // fence time ran out: keep index and pins, more to come
#define TPT_STS_BAD_OP 2  // unknown command
#define TPT_STS_BAD_LENGTH 3  // length 0
#define TPT_STS_BAD_WRAP 4  // start + length passes 2^64
#define TPT_STS_BAD_FLAGS 5  // unknown access flags
#define TPT_STS_BAD_ACCESS 6  // REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE
#define TPT_STS_BAD_PAGE_SIZE 7  // log_page outside 12..43
#define TPT_STS_BAD_ENCODING 8  // unknown MTT encoding
#define TPT_STS_BAD_LEVEL 9  // unknown level, or deeper than MaxLevels, or table page size
#define TPT_STS_TABLE_SMALL 10  // the table cannot hold the pages of the length
#define TPT_STS_TABLE_ALIGN 11  // table root or inline page not aligned
#define TPT_STS_NO_INDEX 12  // MPT full
#define TPT_STS_KEY_INDEX 13  // index not below the table size
#define TPT_STS_KEY_STATE 14  // entry FREE or INVALID
#define TPT_STS_KEY_TAG 15  // no L_Key, or wrong tag
#define TPT_STS_KEY_KIND 16  // not a memory region
#define TPT_STS_KEY_PD 17  // another protection domain
#define TPT_STS_BOUND 18  // windows are bound
#define TPT_STS_BUS 19  // memory answered with an error
#define TPT_STS_MPT_BAD 20  // MPT entry corrupted
#define TPT_STS_DISABLED 21  // unit not enabled
#define TPT_STS_BAD_REREG 22  // no or unknown REREG flags
#define TPT_STS_BUSY 23  // fence queue full of PENDING commands; nothing was changed
#define TPT_STS_MR_KEY 24  // bind: `mkey` does not name a valid region of kind MR or FRMR
#define TPT_STS_MR_PD 25  // bind: the region is of another protection domain
#define TPT_STS_MR_RIGHTS 26  // bind: region without MW_BIND, or LOCAL_WRITE missing, or zero-based
#define TPT_STS_MR_BOUNDS 27  // bind: the range is not inside the region
#define TPT_STS_PRIVILEGE 28  // physical regions are not allowed (CTRL.phys)
#define TPT_STS_REMOTE_INV 29  // the region does not allow remote invalidation
#define TPT_STS_KEY_QP 30  // the window is bound to another queue pair
#define TPT_STS_BAD_SLOT 31  // command queue: unknown version, or a bit that must be 0 is not

// Values of `encoding`.
#define TPT_ENC_RAW 0  // address only, all zero is "not present"
#define TPT_ENC_FLAGGED 1  // bit 0 present and readable, bit 1 writable
#define TPT_ENC_CHECKED 2  // as FLAGGED, with check bits over address and place

// Bits of `flags`.
#define TPT_FLAG_REMOTE_INV (1u << 0)  // ALLOC_MR: allowed; INVALIDATE: it is a remote one
#define TPT_FLAG_MW2 (1u << 1)  // ALLOC_MW: type 2 (2B) instead of type 1
#define TPT_FLAG_MW2A (1u << 2)  // ALLOC_MW: type 2A, with FlagMw2
#define TPT_FLAG_REFUSE (1u << 0)  // PAGE_READY: the page will not come

// Bits of `rereg`.
#define TPT_REREG_TRANSLATION (1u << 0)  // start, length, page size and table
#define TPT_REREG_PD (1u << 1)  // PD := new_pd
#define TPT_REREG_ACCESS (1u << 2)  // access from the command

// Slot of the command queue.
struct tpt_cmdq_slot {
  uint16_t id;  // returned in the completion
  uint8_t op;  // cmd_op_e
  uint8_t version;  // CmdqVersion
  uint8_t flags;  // bits Flag*
  uint8_t tag;  // FAST_REG, BIND of type 2: new tag of the keys
  uint8_t rereg;  // IBV_REREG_MR_* bits
  uint8_t encoding;  // enc_e
  uint32_t key;  // what it is about: L_Key; window: R_Key; PAGE_READY: slot
  uint32_t mkey;  // BIND: L_Key of the region
  uint32_t pd;  // PD of the region or window; must match one that exists
  uint32_t new_pd;  // REREG with the PD bit
  uint32_t qpn;  // BIND of type 2, remote INVALIDATE: queue pair
  uint32_t access;  // verbs access word, IBV_ACCESS_*
  uint64_t start;  // start VA (iova)
  uint64_t length;  // bytes; ALLOC_MR: pages that a registration may have
  uint8_t log_page;  // log2 of the page size, 12..43
  uint8_t level;  // 0, 1..MaxLevels, 5 (flat)
  uint8_t log_tpage;  // log2 of the table page size, 12..16
  uint8_t rsvd0[13];  // 0
  uint64_t frame[4];  // level 0: page addresses; otherwise [0] is the table root
  uint8_t rsvd1[32];  // 0
};
static_assert(offsetof(struct tpt_cmdq_slot, id) == 0, "id");
static_assert(offsetof(struct tpt_cmdq_slot, op) == 2, "op");
static_assert(offsetof(struct tpt_cmdq_slot, version) == 3, "version");
static_assert(offsetof(struct tpt_cmdq_slot, flags) == 4, "flags");
static_assert(offsetof(struct tpt_cmdq_slot, tag) == 5, "tag");
static_assert(offsetof(struct tpt_cmdq_slot, rereg) == 6, "rereg");
static_assert(offsetof(struct tpt_cmdq_slot, encoding) == 7, "encoding");
static_assert(offsetof(struct tpt_cmdq_slot, key) == 8, "key");
static_assert(offsetof(struct tpt_cmdq_slot, mkey) == 12, "mkey");
static_assert(offsetof(struct tpt_cmdq_slot, pd) == 16, "pd");
static_assert(offsetof(struct tpt_cmdq_slot, new_pd) == 20, "new_pd");
static_assert(offsetof(struct tpt_cmdq_slot, qpn) == 24, "qpn");
static_assert(offsetof(struct tpt_cmdq_slot, access) == 28, "access");
static_assert(offsetof(struct tpt_cmdq_slot, start) == 32, "start");
static_assert(offsetof(struct tpt_cmdq_slot, length) == 40, "length");
static_assert(offsetof(struct tpt_cmdq_slot, log_page) == 48, "log_page");
static_assert(offsetof(struct tpt_cmdq_slot, level) == 49, "level");
static_assert(offsetof(struct tpt_cmdq_slot, log_tpage) == 50, "log_tpage");
static_assert(offsetof(struct tpt_cmdq_slot, rsvd0) == 51, "rsvd0");
static_assert(offsetof(struct tpt_cmdq_slot, frame) == 64, "frame");
static_assert(offsetof(struct tpt_cmdq_slot, rsvd1) == 96, "rsvd1");
static_assert(sizeof(struct tpt_cmdq_slot) == 128, "tpt_cmdq_slot");

// Slot of the completion queue. The unit writes `entry` only for a QUERY with status OK.
struct tpt_cplq_slot {
  uint16_t id;  // of the command
  uint8_t op;  // of the command
  uint8_t status;  // status_e
  uint32_t lkey;  // REG, REREG with status OK
  uint32_t rkey;  // 0 if the region has no remote right
  uint16_t cmdq_head;  // slot of the next command that the unit takes
  uint16_t rsvd0;  // 0
  uint32_t index;  // MPT index, with the keys
  uint8_t rsvd1[43];  // 0
  uint8_t phase;  // bit 0: the phase, 1 in the first round of the queue
  uint8_t entry[64];  // QUERY with status OK: MPT entry as it is in memory
};
static_assert(offsetof(struct tpt_cplq_slot, id) == 0, "id");
static_assert(offsetof(struct tpt_cplq_slot, op) == 2, "op");
static_assert(offsetof(struct tpt_cplq_slot, status) == 3, "status");
static_assert(offsetof(struct tpt_cplq_slot, lkey) == 4, "lkey");
static_assert(offsetof(struct tpt_cplq_slot, rkey) == 8, "rkey");
static_assert(offsetof(struct tpt_cplq_slot, cmdq_head) == 12, "cmdq_head");
static_assert(offsetof(struct tpt_cplq_slot, rsvd0) == 14, "rsvd0");
static_assert(offsetof(struct tpt_cplq_slot, index) == 16, "index");
static_assert(offsetof(struct tpt_cplq_slot, rsvd1) == 20, "rsvd1");
static_assert(offsetof(struct tpt_cplq_slot, phase) == 63, "phase");
static_assert(offsetof(struct tpt_cplq_slot, entry) == 64, "entry");
static_assert(sizeof(struct tpt_cplq_slot) == 128, "tpt_cplq_slot");

#ifdef __cplusplus
}
#endif

#endif
