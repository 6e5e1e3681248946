// SPDX-License-Identifier: Apache-2.0

// include/tpt_driver.h with a unit in software that does what a test tells it: what a start does
// when it fails, ids, barriers, limits. Prints "ok", or what is wrong.

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "tpt_driver.h"

#define LOG 3
#define SLOTS (1u << LOG)

static alignas(4096) struct tpt_cmdq_slot commands[SLOTS];
static alignas(4096) struct tpt_cplq_slot completions[SLOTS];
static uint32_t registers[sizeof(tpt_csr_t) / 4];
static struct tpt_driver driver;
static struct tpt_config config;

static unsigned accesses, writes, idles, barriers;
static unsigned refuse;     // the access with this number is refused
static unsigned dead_from;  // this one and all behind it are
static uint32_t enabled;    // STATUS of an enabled unit
static bool released;       // a release barrier stands behind the last read one
static uint16_t written;    // completion queue: next slot
static uint8_t phase;

#define CHECK(what)                                      \
  do {                                                   \
    if (!(what)) {                                       \
      printf("line %d is not so: %s\n", __LINE__, #what); \
      exit(1);                                           \
    }                                                    \
  } while (0)

static uint32_t *reg(uint32_t offset) { return &registers[offset / 4]; }

static bool refused(void) {
  accesses++;
  return accesses == refuse || (dead_from && accesses >= dead_from);
}

static int read32(void *context, uint32_t offset, uint32_t *value) {
  (void)context;
  if (refused()) return 1;
  *value = *reg(offset);
  return 0;
}

static int write32(void *context, uint32_t offset, uint32_t value) {
  (void)context;
  writes++;
  if (refused()) return 1;
  *reg(offset) = value;
  if (offset == TPT_REG(CTRL)) {
    *reg(TPT_REG(STATUS)) = value & TPT_CSR__CTRL__ENABLE_bm ? enabled : 0;
  }
  if (offset == TPT_REG(QUEUE_CTRL)) *reg(TPT_REG(QUEUE_STATUS)) = value & 1;
  if (offset == TPT_REG(CPLQ_HEAD)) CHECK(released);
  return 0;
}

static void write_barrier(void *context) { (void)context; }

static void read_barrier(void *context) {
  (void)context;
  released = false;
}

static void release_barrier(void *context) {
  (void)context;
  barriers++;
  released = true;
}

static void idle(void *context) {
  (void)context;
  idles++;
}

static const struct tpt_io io = {
    NULL, read32, write32, write_barrier, read_barrier, release_barrier, idle};

// A unit that was never started, and settings that are right.
static void fresh(void) {
  memset(registers, 0, sizeof registers);
  *reg(TPT_REG(ID)) = TPT_CSR__ID__VALUE_reset;
  *reg(TPT_REG(VERSION)) = (uint32_t)TPT_CSR__VERSION__MAJOR_reset << TPT_CSR__VERSION__MAJOR_bp |
                           (uint32_t)TPT_CSR__VERSION__MINOR_reset << TPT_CSR__VERSION__MINOR_bp;
  *reg(TPT_REG(CAP2)) = TPT_CSR__CAP2__QUEUES_bm;
  memset(&config, 0, sizeof config);
  config.mpt = 0x10000;
  config.mpt_entries = 16;
  config.commands = commands;
  config.commands_address = 0x20000;
  config.completions = completions;
  config.completions_address = 0x30000;
  config.log_commands = config.log_completions = LOG;
  config.polls = 5;
  enabled = TPT_CSR__STATUS__READY_bm | TPT_CSR__STATUS__LOCKED_bm;
  accesses = writes = idles = barriers = refuse = dead_from = 0;
  written = 0;
  phase = 1;
}

static int start(void) { return tpt_start(&driver, &io, &config); }

static bool at_rest(void) {
  return *reg(TPT_REG(STATUS)) == 0 && *reg(TPT_REG(QUEUE_STATUS)) == 0;
}

// Errors after which nothing was written: what runs there is not touched.
static void starts_that_are_refused(void) {
  for (int n = 0; n < 12; n++) {
    fresh();
    int expected = TPT_ERROR_SETTING;
    switch (n) {
      case 0: config.log_commands = TPT_MIN_LOG_CMD_QUEUE - 1; break;
      case 1: config.log_completions = TPT_MAX_LOG_QUEUE + 1; break;
      case 2: config.mpt_entries = 0; break;
      case 3: config.mpt_entries = TPT_MAX_MPT_SIZE + 1; break;
      case 4: config.mpt++; break;
      case 5: config.commands = NULL; break;
      case 6: config.polls = 0; break;
      case 7: *reg(TPT_REG(ID)) ^= 1; expected = TPT_ERROR_ID; break;
      case 8: *reg(TPT_REG(VERSION)) ^= 0x10000; expected = TPT_ERROR_VERSION; break;
      case 9: *reg(TPT_REG(CAP2)) = 0; expected = TPT_ERROR_NO_QUEUES; break;
      case 10: *reg(TPT_REG(STATUS)) = enabled; expected = TPT_ERROR_IN_USE; break;
      default: *reg(TPT_REG(QUEUE_STATUS)) = 1; expected = TPT_ERROR_IN_USE; break;
    }
    CHECK(start() == expected);
    CHECK(writes == 0);
  }
}

// Errors after which the unit has been stopped again, or could not be.
static void starts_that_fail(void) {
  fresh();
  CHECK(start() == 0);
  CHECK(!at_rest());
  const unsigned all = accesses;
  for (unsigned n = 1; n <= all; n++) {
    fresh();
    refuse = n;
    CHECK(start() == TPT_ERROR_BUS);
    CHECK(at_rest());
    fresh();
    dead_from = n;
    // ID, VERSION, CAP2, STATUS and QUEUE_STATUS are read first.
    CHECK(start() == (n <= 5 ? TPT_ERROR_BUS : TPT_ERROR_RUNNING));
    CHECK(n > 5 || writes == 0);
    dead_from = 0;
    if (n > 5) CHECK(tpt_stop(&driver) == 0);
    CHECK(at_rest());
  }
  fresh();
  enabled = TPT_CSR__STATUS__CLEAR_ERROR_bm | TPT_CSR__STATUS__LOCKED_bm;
  CHECK(start() == TPT_ERROR_CLEAR);
  CHECK(at_rest());
  fresh();
  enabled = TPT_CSR__STATUS__LOCKED_bm;
  CHECK(start() == TPT_ERROR_TIME);
  CHECK(idles == config.polls - 1 && at_rest());
  // A wait looks once at least, whatever its limit.
  uint32_t value = 0;
  driver.config.polls = 0;
  CHECK(tpt_wait(&driver, TPT_REG(ID), ~0u, true, &value) == 0);
  CHECK(value == TPT_CSR__ID__VALUE_reset);
  CHECK(tpt_wait(&driver, TPT_REG(STATUS), ~0u, true, &value) == TPT_ERROR_TIME);
  CHECK(value == 0);
}

// The unit has taken all commands, and answers one.
static void complete(uint16_t id, uint8_t status) {
  struct tpt_cplq_slot *slot = &completions[written];
  *reg(TPT_REG(CMDQ_HEAD)) = *reg(TPT_REG(CMDQ_TAIL));
  slot->id = id;
  slot->status = status;
  slot->cmdq_head = (uint16_t)*reg(TPT_REG(CMDQ_TAIL));
  slot->phase = phase;
  written = (written + 1) % SLOTS;
  if (written == 0) phase ^= 1;
}

static int post(uint16_t id) {
  struct tpt_cmdq_slot slot = tpt_query(id, 1, 1);
  int error = tpt_post(&driver, &slot);
  return error ? error : tpt_ring(&driver);
}

static int take(uint16_t *id) {
  struct tpt_cplq_slot done;
  int found = tpt_poll(&driver, &done);
  if (found > 0) *id = done.id;
  CHECK(tpt_give_back(&driver) == 0);
  return found;
}

// Commands with ids from tpt_next_id, one after another. Returns how often one had this id.
static unsigned round_of_ids(uint16_t looked_for) {
  unsigned found = 0;
  for (uint32_t n = 0; n < 70000; n++) {
    uint16_t id = 0, answered = 0;
    CHECK(tpt_next_id(&driver, &id) == 0);
    CHECK(post(id) == 0);
    complete(id, TPT_STS_OK);
    CHECK(take(&answered) == 1 && answered == id);
    found += id == looked_for;
  }
  return found;
}

// The id of a command stays its own until its final completion has been taken.
static void ids(void) {
  uint16_t late = 0, id = 0;
  fresh();
  CHECK(start() == 0);
  CHECK(tpt_next_id(&driver, &late) == 0);
  CHECK(post(late) == 0);
  CHECK(post(late) == TPT_ERROR_ID_USED);
  CHECK(round_of_ids(late) == 0);
  complete(late, TPT_STS_PENDING);
  CHECK(take(&id) == 1 && id == late);
  CHECK(post(late) == TPT_ERROR_ID_USED);
  CHECK(round_of_ids(late) == 0);
  complete(late, TPT_STS_OK);
  CHECK(take(&id) == 1 && id == late);
  CHECK(round_of_ids(late) != 0);
  // Nobody has asked.
  complete(late, TPT_STS_OK);
  CHECK(take(&id) == TPT_ERROR_ID_FREE);
  CHECK(barriers > 0);
  // Another start begins with none in use.
  CHECK(post(late) == 0);
  CHECK(tpt_stop(&driver) == 0);
  fresh();
  CHECK(start() == 0);
  CHECK(post(late) == 0);
}

static void all_ids(void) {
  uint16_t id = 0;
  fresh();
  CHECK(start() == 0);
  memset(driver.used, 0xff, sizeof driver.used);
  CHECK(tpt_next_id(&driver, &id) == TPT_ERROR_FULL);
  driver.used[0x1234 / 8] &= (uint8_t)~(1u << 0x1234 % 8);
  CHECK(tpt_next_id(&driver, &id) == 0 && id == 0x1234);
}

// A full queue takes no command, and no id with it.
static void full(void) {
  uint16_t id = 0;
  fresh();
  CHECK(start() == 0);
  for (uint16_t n = 0; n + 1u < SLOTS; n++) {
    CHECK(tpt_room(&driver) == 0);
    CHECK(post(n) == 0);
  }
  CHECK(tpt_room(&driver) == TPT_ERROR_FULL);
  CHECK(post(100) == TPT_ERROR_FULL);
  complete(0, TPT_STS_OK);
  CHECK(tpt_room(&driver) == 0);
  CHECK(post(100) == 0);
  CHECK(take(&id) == 1 && id == 0);
}

int main(void) {
  starts_that_are_refused();
  starts_that_fail();
  ids();
  all_ids();
  full();
  printf("ok\n");
  return 0;
}
