// SPDX-License-Identifier: Apache-2.0

// A small driver of the unit in C11: registers and queues in memory, no allocation, no waiting but
// in tpt_start and tpt_stop. The sequences are explained in docs/driver.md. The caller brings the
// access to registers, the memory, and the tables of regions.
//
// All calls return 0 or a positive number if all is well, and a negative TPT_ERROR_* otherwise. A
// result that is thrown away is a warning of the compiler.

#ifndef TPT_DRIVER_H
#define TPT_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tpt_csr.h"
#include "tpt_queue.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tpt_driver.h: slots are little-endian; a big-endian host has to swap their fields"
#endif

#if defined(__GNUC__)
#define TPT_MUST_USE __attribute__((warn_unused_result))
#else
#define TPT_MUST_USE
#endif

// Byte offset of a register.
#define TPT_REG(name) ((uint32_t)offsetof(tpt_csr_t, name))

enum tpt_error {
  TPT_ERROR_BUS = -1,       // a register access was refused
  TPT_ERROR_ID = -2,        // no unit is there
  TPT_ERROR_VERSION = -3,   // a version that this header was not made for
  TPT_ERROR_NO_QUEUES = -4, // built without queues
  TPT_ERROR_IN_USE = -5,    // enabled already, or not at rest yet
  TPT_ERROR_SETTING = -6,   // a size out of range, an address that is not aligned, no limit
  TPT_ERROR_CLEAR = -7,     // memory refused a write while the MPT was cleared
  TPT_ERROR_TIME = -8,      // a wait came to its end
  TPT_ERROR_FULL = -9,      // the command queue is full: take completions, then try again
  TPT_ERROR_HEAD = -10,     // a completion says that more commands were taken than given
  TPT_ERROR_RUNNING = -11,  // the start has failed, and so has the stop behind it
  TPT_ERROR_ID_USED = -12,  // a command with this id has no final completion yet
  TPT_ERROR_ID_FREE = -13,  // a completion with an id that no command has
  TPT_ERROR_ENTRY = -14,    // an address or a place that encoding CHECKED does not have
};

// How registers are reached. Functions return 0, or another number if the access was refused. A
// write has had its effect when write32 returns.
struct tpt_io {
  void *context;
  int (*read32)(void *context, uint32_t offset, uint32_t *value);
  int (*write32)(void *context, uint32_t offset, uint32_t value);
  void (*write_barrier)(void *context);    // memory written before is seen by the unit behind it
  void (*read_barrier)(void *context);     // memory read behind it is not older than before it
  void (*release_barrier)(void *context);  // memory read before it was read before a register is
                                           // written behind it
  void (*idle)(void *context);             // between two looks of a wait; may be NULL
};

// Memory and settings. Addresses are those that the unit uses, multiples of 4096.
struct tpt_config {
  uint64_t mpt;                        // TPT_MPT_BYTES * mpt_entries bytes
  uint32_t mpt_entries;
  struct tpt_cmdq_slot *commands;      // 2^log_commands slots, as the host sees them
  uint64_t commands_address;           // and as the unit does
  struct tpt_cplq_slot *completions;   // 2^log_completions slots
  uint64_t completions_address;
  uint8_t log_commands;
  uint8_t log_completions;
  uint32_t perm_secret[4];             // random, new for every start
  uint32_t tag_secret[4];              // random, new for every start
  uint32_t fence_time;                 // clocks; 0: fences have no limit
  uint32_t control;                    // TPT_CSR__CTRL__*_bm but ENABLE
  uint32_t polls;                      // looks of a wait, at least 1
};

struct tpt_driver {
  struct tpt_io io;
  struct tpt_config config;
  uint16_t tail, rung, head;   // command queue: next slot, announced, taken by the unit
  uint16_t next, given;        // completion queue: next slot, given back
  uint8_t phase;
  uint16_t last_id;            // of tpt_next_id
  uint8_t used[0x10000 / 8];   // a bit for each id: a command has no final completion yet
};

TPT_MUST_USE
static inline int tpt_read(struct tpt_driver *d, uint32_t offset, uint32_t *value) {
  return d->io.read32(d->io.context, offset, value) ? TPT_ERROR_BUS : 0;
}

TPT_MUST_USE
static inline int tpt_write(struct tpt_driver *d, uint32_t offset, uint32_t value) {
  return d->io.write32(d->io.context, offset, value) ? TPT_ERROR_BUS : 0;
}

TPT_MUST_USE
static inline int tpt_write64(struct tpt_driver *d, uint32_t low, uint64_t value) {
  int error = tpt_write(d, low, (uint32_t)value);
  return error ? error : tpt_write(d, low + 4, (uint32_t)(value >> 32));
}

// Reads a register until `(value & mask) != 0` is `set`, once at least.
TPT_MUST_USE
static inline int tpt_wait(struct tpt_driver *d, uint32_t offset, uint32_t mask, bool set,
                           uint32_t *value) {
  for (uint32_t polls = 1;; polls++) {
    int error = tpt_read(d, offset, value);
    if (error) return error;
    if (((*value & mask) != 0) == set) return 0;
    if (polls >= d->config.polls) return TPT_ERROR_TIME;
    if (d->io.idle) d->io.idle(d->io.context);
  }
}

// Looks whether a unit is there that this header was made for, and that has queues.
TPT_MUST_USE
static inline int tpt_probe(struct tpt_driver *d) {
  uint32_t value;
  int error = tpt_read(d, TPT_REG(ID), &value);
  if (error) return error;
  if (value != TPT_CSR__ID__VALUE_reset) return TPT_ERROR_ID;
  error = tpt_read(d, TPT_REG(VERSION), &value);
  if (error) return error;
  // Patches change no interface.
  uint32_t version = (uint32_t)TPT_CSR__VERSION__MAJOR_reset << TPT_CSR__VERSION__MAJOR_bp |
                     (uint32_t)TPT_CSR__VERSION__MINOR_reset << TPT_CSR__VERSION__MINOR_bp;
  if ((value & ~(uint32_t)TPT_CSR__VERSION__PATCH_bm) != version) return TPT_ERROR_VERSION;
  error = tpt_read(d, TPT_REG(CAP2), &value);
  if (error) return error;
  return value & TPT_CSR__CAP2__QUEUES_bm ? 0 : TPT_ERROR_NO_QUEUES;
}

// Stops queues and unit, whoever has started them: also another driver's. If it returns 0, the
// memory may be used otherwise, and all keys are dead. If not, the unit may still use it: try it
// again.
TPT_MUST_USE
static inline int tpt_stop(struct tpt_driver *d) {
  uint32_t value;
  int error = tpt_write(d, TPT_REG(QUEUE_CTRL), 0);
  if (error) return error;
  error = tpt_wait(d, TPT_REG(QUEUE_STATUS),
                   TPT_CSR__QUEUE_STATUS__ENABLED_bm | TPT_CSR__QUEUE_STATUS__BUSY_bm, false,
                   &value);
  if (error) return error;
  error = tpt_read(d, TPT_REG(CTRL), &value);
  if (error) return error;
  error = tpt_write(d, TPT_REG(CTRL), value & ~(uint32_t)TPT_CSR__CTRL__ENABLE_bm);
  if (error) return error;
  return tpt_wait(d, TPT_REG(STATUS), TPT_CSR__STATUS__LOCKED_bm, false, &value);
}

TPT_MUST_USE
static inline int tpt_check_config(const struct tpt_config *c) {
  if (c->log_commands < TPT_MIN_LOG_CMD_QUEUE || c->log_commands > TPT_MAX_LOG_QUEUE ||
      c->log_completions < TPT_MIN_LOG_CPL_QUEUE || c->log_completions > TPT_MAX_LOG_QUEUE) {
    return TPT_ERROR_SETTING;
  }
  if ((c->mpt | c->commands_address | c->completions_address) % 4096 != 0) {
    return TPT_ERROR_SETTING;
  }
  if (c->mpt_entries == 0 || c->mpt_entries > TPT_MAX_MPT_SIZE || c->polls == 0) {
    return TPT_ERROR_SETTING;
  }
  return c->commands && c->completions ? 0 : TPT_ERROR_SETTING;
}

TPT_MUST_USE
static inline int tpt_start_unit(struct tpt_driver *d) {
  const struct tpt_config *c = &d->config;
  uint32_t status;
  int error = tpt_write64(d, TPT_REG(MPT_BASE_LO), c->mpt);
  if (!error) error = tpt_write(d, TPT_REG(MPT_SIZE), c->mpt_entries);
  for (uint32_t word = 0; word < 4 && !error; word++) {
    error = tpt_write(d, TPT_REG(PERM_SECRET) + 4 * word, c->perm_secret[word]);
    if (!error) error = tpt_write(d, TPT_REG(TAG_SECRET) + 4 * word, c->tag_secret[word]);
  }
  if (!error) error = tpt_write(d, TPT_REG(FENCE_TIME), c->fence_time);
  if (!error) error = tpt_write(d, TPT_REG(CTRL), c->control | TPT_CSR__CTRL__ENABLE_bm);
  if (!error) {
    error = tpt_wait(d, TPT_REG(STATUS),
                     TPT_CSR__STATUS__READY_bm | TPT_CSR__STATUS__CLEAR_ERROR_bm, true, &status);
  }
  if (!error && status & TPT_CSR__STATUS__CLEAR_ERROR_bm) error = TPT_ERROR_CLEAR;
  return error;
}

TPT_MUST_USE
static inline int tpt_start_queues(struct tpt_driver *d) {
  const struct tpt_config *c = &d->config;
  memset(c->completions, 0, sizeof *c->completions << c->log_completions);
  d->io.write_barrier(d->io.context);
  int error = tpt_write64(d, TPT_REG(CMDQ_BASE_LO), c->commands_address);
  if (!error) error = tpt_write(d, TPT_REG(CMDQ_LOG_SIZE), c->log_commands);
  if (!error) error = tpt_write64(d, TPT_REG(CPLQ_BASE_LO), c->completions_address);
  if (!error) error = tpt_write(d, TPT_REG(CPLQ_LOG_SIZE), c->log_completions);
  if (!error) error = tpt_write(d, TPT_REG(QUEUE_CTRL), TPT_CSR__QUEUE_CTRL__ENABLE_bm);
  d->tail = d->rung = d->head = d->next = d->given = 0;
  d->phase = 1;
  d->last_id = UINT16_MAX;
  memset(d->used, 0, sizeof d->used);
  return error;
}

// Probes and starts a unit. `d` must not be that of a unit that runs: it is written anew.
//
//   SETTING, ID, VERSION, NO_QUEUES   nothing was written to the unit
//   IN_USE                            the same; tpt_stop ends what somebody else has started, if it
//                                     is known that nobody needs it any more
//   BUS, TIME, CLEAR                  nothing was written, or the unit has been stopped again
//   RUNNING                           the start has failed, and the stop, too: call tpt_stop until
//                                     it returns 0
//
// After RUNNING the unit may use the memory of `config` until then. After any other error it does
// not, and there is nothing to stop.
TPT_MUST_USE
static inline int tpt_start(struct tpt_driver *d, const struct tpt_io *io,
                            const struct tpt_config *config) {
  uint32_t status, queues;
  d->io = *io;
  d->config = *config;
  int error = tpt_check_config(config);
  if (!error) error = tpt_probe(d);
  if (!error) error = tpt_read(d, TPT_REG(STATUS), &status);
  if (!error) error = tpt_read(d, TPT_REG(QUEUE_STATUS), &queues);
  if (error) return error;
  if (status & TPT_CSR__STATUS__LOCKED_bm ||
      queues & (TPT_CSR__QUEUE_STATUS__ENABLED_bm | TPT_CSR__QUEUE_STATUS__BUSY_bm)) {
    return TPT_ERROR_IN_USE;
  }
  error = tpt_start_unit(d);
  if (!error) error = tpt_start_queues(d);
  if (error && tpt_stop(d) != 0) return TPT_ERROR_RUNNING;
  return error;
}

// Commands -------------------------------------------------------------------------------------

// An id that no command has whose final completion tpt_poll has not returned yet, also if nobody
// waits for it any more; TPT_ERROR_FULL if there is none. A caller may choose ids in another way:
// tpt_post refuses one that is in use.
TPT_MUST_USE
static inline int tpt_next_id(struct tpt_driver *d, uint16_t *id) {
  for (uint32_t n = 0; n <= UINT16_MAX; n++) {
    *id = (uint16_t)(d->last_id + 1u + n);
    if (!(d->used[*id / 8] >> *id % 8 & 1)) {
      d->last_id = *id;
      return 0;
    }
  }
  return TPT_ERROR_FULL;
}

// A command that names a key and a protection domain, and nothing else: DEREG_MR, QUERY,
// INVALIDATE, DEALLOC_MW. The other commands start from it.
static inline struct tpt_cmdq_slot tpt_command(uint16_t id, uint8_t op, uint32_t key, uint32_t pd) {
  struct tpt_cmdq_slot slot;
  memset(&slot, 0, sizeof slot);
  slot.id = id;
  slot.op = op;
  slot.version = TPT_CMDQ_VERSION;
  slot.key = key;
  slot.pd = pd;
  return slot;
}

// The table of a region: `frame` has the page addresses (level 0) or the root alone.
struct tpt_table {
  uint8_t log_page, level, log_tpage, encoding;
  uint64_t frame[4];
};

static inline struct tpt_cmdq_slot tpt_reg_mr(uint16_t id, uint32_t pd, uint32_t access,
                                              uint64_t start, uint64_t length,
                                              const struct tpt_table *table) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_REG_MR, 0, pd);
  slot.access = access;
  slot.start = start;
  slot.length = length;
  slot.log_page = table->log_page;
  slot.level = table->level;
  slot.log_tpage = table->log_tpage;
  slot.encoding = table->encoding;
  memcpy(slot.frame, table->frame, sizeof slot.frame);
  return slot;
}

static inline struct tpt_cmdq_slot tpt_dereg_mr(uint16_t id, uint32_t lkey, uint32_t pd) {
  return tpt_command(id, TPT_CMD_DEREG_MR, lkey, pd);
}

static inline struct tpt_cmdq_slot tpt_query(uint16_t id, uint32_t key, uint32_t pd) {
  return tpt_command(id, TPT_CMD_QUERY, key, pd);
}

// flags: 0 or TPT_FLAG_REMOTE_INV.
static inline struct tpt_cmdq_slot tpt_alloc_mr(uint16_t id, uint32_t pd, uint32_t pages,
                                                uint8_t log_page, uint8_t encoding,
                                                uint8_t flags) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_ALLOC_MR, 0, pd);
  slot.length = pages;
  slot.log_page = log_page;
  slot.encoding = encoding;
  slot.flags = flags;
  return slot;
}

// `list`: a flat table (level 5).
static inline struct tpt_cmdq_slot tpt_fast_reg_mr(uint16_t id, uint32_t lkey, uint32_t pd,
                                                   uint8_t tag, uint32_t access, uint64_t start,
                                                   uint64_t length, uint64_t list) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_FAST_REG_MR, lkey, pd);
  slot.tag = tag;
  slot.access = access;
  slot.start = start;
  slot.length = length;
  slot.level = 5;
  slot.log_tpage = 12;
  slot.frame[0] = list;
  return slot;
}

// flags: 0 (type 1), TPT_FLAG_MW2 (2B) or TPT_FLAG_MW2 | TPT_FLAG_MW2A (2A).
static inline struct tpt_cmdq_slot tpt_alloc_mw(uint16_t id, uint32_t pd, uint8_t flags) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_ALLOC_MW, 0, pd);
  slot.flags = flags;
  return slot;
}

// qpn and tag are for type 2; length 0 unbinds type 1.
static inline struct tpt_cmdq_slot tpt_bind_mw(uint16_t id, uint32_t rkey, uint32_t pd,
                                               uint32_t lkey, uint32_t access, uint64_t start,
                                               uint64_t length, uint32_t qpn, uint8_t tag) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_BIND_MW, rkey, pd);
  slot.mkey = lkey;
  slot.access = access;
  slot.start = start;
  slot.length = length;
  slot.qpn = qpn;
  slot.tag = tag;
  return slot;
}

static inline struct tpt_cmdq_slot tpt_invalidate(uint16_t id, uint32_t key, uint32_t pd) {
  return tpt_command(id, TPT_CMD_INVALIDATE, key, pd);
}

static inline struct tpt_cmdq_slot tpt_dealloc_mw(uint16_t id, uint32_t rkey, uint32_t pd) {
  return tpt_command(id, TPT_CMD_DEALLOC_MW, rkey, pd);
}

static inline struct tpt_cmdq_slot tpt_reg_phys(uint16_t id, uint32_t pd, uint32_t access,
                                                uint64_t start, uint64_t length) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_REG_PHYS, 0, pd);
  slot.access = access;
  slot.start = start;
  slot.length = length;
  return slot;
}

// The entry of a page of an on-demand region is in memory: the fault in `slot` is answered. flags:
// 0, or TPT_FLAG_REFUSE if the page will not come.
static inline struct tpt_cmdq_slot tpt_page_ready(uint16_t id, uint8_t slot, uint8_t flags) {
  struct tpt_cmdq_slot command = tpt_command(id, TPT_CMD_PAGE_READY, slot, 0);
  command.flags = flags;
  return command;
}

// Entries of an on-demand region were cleared. The frames may be used otherwise when the final
// completion has come.
static inline struct tpt_cmdq_slot tpt_invalidate_range(uint16_t id, uint32_t lkey, uint32_t pd,
                                                        uint64_t start, uint64_t length) {
  struct tpt_cmdq_slot slot = tpt_command(id, TPT_CMD_INVALIDATE_RANGE, lkey, pd);
  slot.start = start;
  slot.length = length;
  return slot;
}

// An entry of encoding CHECKED: of the page or table page at `address`, in the table of the region
// with this MPT index (23 bits). `number` (40 bits) counts the entries of its level (flat: plus
// bits 11:3 of the root), `level` (3 bits) is 1 for leaves and flat arrays. TPT_ERROR_ENTRY, and
// nothing in `to`, if one has more bits, or the address is 0, no multiple of 4096, or 2^52 or more.
TPT_MUST_USE
static inline int tpt_checked_entry(uint64_t address, bool writable, uint32_t index,
                                    uint64_t number, uint8_t level, uint64_t *to) {
  if (address == 0 || address % 4096 != 0 || address >> 52 != 0) return TPT_ERROR_ENTRY;
  if (index >> 23 != 0 || number >> 40 != 0 || level >> 3 != 0) return TPT_ERROR_ENTRY;
  const uint64_t flags = writable ? 3 : 1;
  // The message, the highest power first, and 21 zeros behind it.
  const uint64_t value[] = {index >> 8, number, index & 0xff, level, address >> 12, flags, 0};
  const uint8_t bits[] = {15, 40, 8, 3, 40, 2, 21};
  uint32_t check = 0;
  for (size_t part = 0; part < sizeof bits; part++) {
    for (uint8_t bit = bits[part]; bit-- > 0;) {
      check = check << 1 | (uint32_t)(value[part] >> bit & 1);
      if (check >> 21) check ^= 1u << 21 | 1u << 2 | 1u;
    }
  }
  const uint64_t low = check & 0x3ff, high = check >> 10;
  const uint64_t entry = address | flags | low << 2 | high << 52;
  uint64_t odd = 1;
  for (uint64_t rest = entry; rest != 0; rest &= rest - 1) odd ^= 1;
  *to = entry | odd << 63;
  return 0;
}

// Page faults ---------------------------------------------------------------------------------

struct tpt_fault {
  uint32_t index;  // MPT index of the region
  uint64_t page;   // number in the region (flat: plus bits 11:3 of the root)
  uint16_t tag;    // of the request
  uint8_t client;  // that asked
  uint8_t slot;    // for tpt_page_ready
  bool write;      // the access needs a writable page
  bool held;       // the request waits; otherwise it was answered RETRY
};

// Takes the oldest page fault: 1, or 0 if none waits. It must be answered once (tpt_page_ready),
// also if the queue is full then: look for room before (tpt_room), or keep it.
TPT_MUST_USE
static inline int tpt_take_fault(struct tpt_driver *d, struct tpt_fault *fault) {
  uint32_t info, low, high;
  int error = tpt_read(d, TPT_REG(FAULT_INFO), &info);
  if (error) return error;
  if (!(info & TPT_CSR__FAULT_INFO__VALID_bm)) return 0;
  error = tpt_read(d, TPT_REG(FAULT_PAGE_LO), &low);
  if (!error) error = tpt_read(d, TPT_REG(FAULT_PAGE_HI), &high);
  if (!error) error = tpt_write(d, TPT_REG(FAULT_POP), TPT_CSR__FAULT_POP__POP_bm);
  if (error) return error;
  fault->index = info & TPT_CSR__FAULT_INFO__INDEX_bm;
  fault->page = (uint64_t)(high & TPT_CSR__FAULT_PAGE_HI__PAGE_bm) << 32 | low;
  fault->tag =
      (uint16_t)((high & TPT_CSR__FAULT_PAGE_HI__TAG_bm) >> TPT_CSR__FAULT_PAGE_HI__TAG_bp);
  fault->client =
      (uint8_t)((high & TPT_CSR__FAULT_PAGE_HI__CLIENT_bm) >> TPT_CSR__FAULT_PAGE_HI__CLIENT_bp);
  fault->slot = (uint8_t)((info & TPT_CSR__FAULT_INFO__SLOT_bm) >> TPT_CSR__FAULT_INFO__SLOT_bp);
  fault->write = (info & TPT_CSR__FAULT_INFO__WRITE_bm) != 0;
  fault->held = (high & TPT_CSR__FAULT_PAGE_HI__HELD_bm) != 0;
  return 1;
}

// Queues ---------------------------------------------------------------------------------------

static inline uint16_t tpt_mask(uint8_t log) { return (uint16_t)((1u << log) - 1); }

// Moves the head of the command queue, which must stay between the old one and the doorbell.
TPT_MUST_USE
static inline int tpt_move_head(struct tpt_driver *d, uint32_t head) {
  uint16_t mask = tpt_mask(d->config.log_commands);
  if (head > mask || ((head - d->head) & mask) > (((uint32_t)d->rung - d->head) & mask)) {
    return TPT_ERROR_HEAD;
  }
  d->head = (uint16_t)head;
  return 0;
}

// Whether there is room for a command: 0, or TPT_ERROR_FULL.
TPT_MUST_USE
static inline int tpt_room(struct tpt_driver *d) {
  uint16_t behind = (uint16_t)(d->tail + 1) & tpt_mask(d->config.log_commands);
  if (behind != d->head) return 0;
  uint32_t head;
  int error = tpt_read(d, TPT_REG(CMDQ_HEAD), &head);
  if (!error) error = tpt_move_head(d, head);
  if (error) return error;
  return behind == d->head ? TPT_ERROR_FULL : 0;
}

// Writes a command into the queue. tpt_ring announces it, and all others before it. Its id is in
// use until tpt_poll has returned its final completion, also if nobody waits for it any more.
TPT_MUST_USE
static inline int tpt_post(struct tpt_driver *d, const struct tpt_cmdq_slot *slot) {
  uint8_t *used = &d->used[slot->id / 8];
  const uint8_t bit = (uint8_t)(1u << slot->id % 8);
  if (*used & bit) return TPT_ERROR_ID_USED;
  int error = tpt_room(d);
  if (error) return error;
  memcpy(&d->config.commands[d->tail], slot, sizeof *slot);
  d->tail = (uint16_t)(d->tail + 1) & tpt_mask(d->config.log_commands);
  *used |= bit;
  return 0;
}

TPT_MUST_USE
static inline int tpt_ring(struct tpt_driver *d) {
  if (d->rung == d->tail) return 0;
  d->io.write_barrier(d->io.context);
  int error = tpt_write(d, TPT_REG(CMDQ_TAIL), d->tail);
  if (!error) d->rung = d->tail;
  return error;
}

// Takes the next completion: 1, or 0 if there is none yet. Give slots back with tpt_give_back.
// After an error it has been taken, too, and is in `completion`: unit and driver do not agree,
// stop.
TPT_MUST_USE
static inline int tpt_poll(struct tpt_driver *d, struct tpt_cplq_slot *completion) {
  const struct tpt_cplq_slot *slot = &d->config.completions[d->next];
  const volatile uint8_t *phase = &slot->phase;
  if ((*phase & 1) != d->phase) return 0;
  d->io.read_barrier(d->io.context);
  memcpy(completion, slot, sizeof *completion);
  d->next = (uint16_t)(d->next + 1) & tpt_mask(d->config.log_completions);
  if (d->next == 0) d->phase ^= 1;
  int error = tpt_move_head(d, completion->cmdq_head);
  if (error) return error;
  uint8_t *used = &d->used[completion->id / 8];
  const uint8_t bit = (uint8_t)(1u << completion->id % 8);
  if (!(*used & bit)) return TPT_ERROR_ID_FREE;
  if (completion->status != TPT_STS_PENDING) *used &= (uint8_t)~bit;
  return 1;
}

// Gives the slots of all completions that were taken back, behind a barrier: they have been read.
TPT_MUST_USE
static inline int tpt_give_back(struct tpt_driver *d) {
  if (d->given == d->next) return 0;
  d->io.release_barrier(d->io.context);
  int error = tpt_write(d, TPT_REG(CPLQ_HEAD), d->next);
  if (!error) d->given = d->next;
  return error;
}

// The next completion raises the interrupt, if INT_ENABLE lets it through. Poll once more behind
// it: a completion may have come before.
TPT_MUST_USE
static inline int tpt_arm(struct tpt_driver *d) {
  return tpt_write(d, TPT_REG(QUEUE_CTRL),
                   TPT_CSR__QUEUE_CTRL__ENABLE_bm | TPT_CSR__QUEUE_CTRL__ARM_bm);
}

#ifdef __cplusplus
}
#endif

#endif
