// SPDX-License-Identifier: Apache-2.0

// A program that drives the unit with include/tpt_driver.h. Its registers and its memory are at the
// other end of a pipe: it writes a line for each access to the standard output and reads the answer
// from the standard input.
//
//   r OFFSET              answered by   VALUE | !
//   w OFFSET VALUE        answered by   . | !
//   l ADDRESS BYTES       answered by   the bytes in hexadecimal
//   s ADDRESS HEX         answered by   .
//   i                     answered by   .        (time goes on)
//   k KEY VA              answered by   the syndrome of a remote read of 8 bytes
//   t                     answered by   .        (the next command brings an on-demand table)
//   p PAGE ADDRESS        answered by   .        (what the table has there; 0: nothing)
//   q KEY VA              answered by   .        (such a read that may have to wait)
//   a                     answered by   its syndrome | -
//   e TEXT                the end; not answered

#include <inttypes.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "tpt_driver.h"

#define COMMANDS 8
#define COMPLETIONS 8
#define COMMANDS_AT 0x9000100000u
#define COMPLETIONS_AT 0x9000110000u
#define MPT_AT 0x9000200000u
#define TABLE_AT 0x9000300000u
#define PD 0x2au
#define START 0x7f0000001000u

static alignas(4096) struct tpt_cmdq_slot commands[COMMANDS];
static alignas(4096) struct tpt_cplq_slot completions[COMPLETIONS];
static struct tpt_driver driver;
static bool started;
static bool released;  // a release barrier stands behind the last completion
static char line[1024];

static void fail(const char *what, int code) {
  printf("e failed: %s (%d)\n", what, code);
  fflush(stdout);
  exit(1);
}

static const char *answer(void) {
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) exit(2);
  return line;
}

static int read32(void *context, uint32_t offset, uint32_t *value) {
  (void)context;
  printf("r %" PRIx32 "\n", offset);
  if (answer()[0] == '!') return 1;
  *value = (uint32_t)strtoul(line, NULL, 16);
  return 0;
}

static int write32(void *context, uint32_t offset, uint32_t value) {
  (void)context;
  if (offset == TPT_REG(CPLQ_HEAD) && !released) fail("no barrier before CPLQ_HEAD", 0);
  printf("w %" PRIx32 " %" PRIx32 "\n", offset, value);
  return answer()[0] == '!';
}

static void store(uint64_t address, const void *from, size_t bytes) {
  const unsigned char *byte = (const unsigned char *)from;
  printf("s %" PRIx64 " ", address);
  for (size_t n = 0; n < bytes; n++) printf("%02x", byte[n]);
  printf("\n");
  answer();
}

static void load(uint64_t address, void *to, size_t bytes) {
  unsigned char *byte = (unsigned char *)to;
  printf("l %" PRIx64 " %zx\n", address, bytes);
  answer();
  for (size_t n = 0; n < bytes; n++) {
    char two[3] = {line[2 * n], line[2 * n + 1], 0};
    byte[n] = (unsigned char)strtoul(two, NULL, 16);
  }
}

// Both rings lie at the other end: what the host has written goes there.
static void write_barrier(void *context) {
  (void)context;
  for (size_t n = 0; n < COMMANDS; n++) {
    store(COMMANDS_AT + n * sizeof commands[0], &commands[n], sizeof commands[0]);
  }
  if (!started) {
    for (size_t n = 0; n < COMPLETIONS; n++) {
      store(COMPLETIONS_AT + n * sizeof completions[0], &completions[n], sizeof completions[0]);
    }
  }
}

static void read_barrier(void *context) {
  (void)context;
  released = false;
}

static void release_barrier(void *context) {
  (void)context;
  released = true;
}

static void idle(void *context) {
  (void)context;
  printf("i\n");
  answer();
}

// Gives a command and waits for its completion.
static struct tpt_cplq_slot run(const char *name, struct tpt_cmdq_slot slot, uint8_t status) {
  struct tpt_cplq_slot done;
  int error = tpt_post(&driver, &slot);
  if (!error) error = tpt_ring(&driver);
  if (error) fail(name, error);
  for (int polls = 0; polls < 10000; polls++) {
    load(COMPLETIONS_AT + driver.next * sizeof completions[0], &completions[driver.next],
         sizeof completions[0]);
    int found = tpt_poll(&driver, &done);
    if (found < 0) fail(name, found);
    if (found == 0) {
      idle(NULL);
      continue;
    }
    error = tpt_give_back(&driver);
    if (error) fail(name, error);
    if (done.id != slot.id || done.op != slot.op) fail("another completion", done.id);
    if (done.status != status) fail(name, done.status);
    return done;
  }
  fail("no completion", 0);
  exit(1);
}

static void try_key(const char *name, uint32_t key, uint64_t va, unsigned long syndrome) {
  printf("k %" PRIx32 " %" PRIx64 "\n", key, va);
  if (strtoul(answer(), NULL, 10) != syndrome) fail(name, (int)strtol(line, NULL, 10));
}

static void tell(const char *text) {
  printf("%s\n", text);
  answer();
}

// Makes a page of the flat table present, or absent with address 0.
static void set_page(uint32_t index, uint64_t page, uint64_t address) {
  uint64_t entry = 0;
  if (address && tpt_checked_entry(address, true, index, page, 1, &entry)) fail("an entry", 0);
  printf("p %" PRIx64 " %" PRIx64 "\n", page, address);
  answer();
  store(TABLE_AT + 8 * page, &entry, sizeof entry);
}

// A read that meets an absent page: the fault, the page, the answer to the read.
static void page_fault(uint16_t id, const struct tpt_cplq_slot *region, uint64_t page,
                       uint64_t address, unsigned long syndrome) {
  struct tpt_fault fault;
  int found = 0;
  printf("q %" PRIx32 " %" PRIx64 "\n", region->rkey, START + page * 0x1000 + 0x40);
  answer();
  for (int polls = 0; polls < 1000 && found == 0; polls++) {
    idle(NULL);
    found = tpt_take_fault(&driver, &fault);
  }
  if (found != 1) fail("no page fault", found);
  if (fault.index != region->index || fault.page != page || fault.write || !fault.held) {
    fail("another page fault", fault.slot);
  }
  printf("a\n");
  if (answer()[0] != '-') fail("an answer before the page", 0);
  if (address) set_page(region->index, page, address);
  run("PAGE_READY", tpt_page_ready(id, fault.slot, address ? 0 : TPT_FLAG_REFUSE), TPT_STS_OK);
  for (int polls = 0; polls < 1000; polls++) {
    printf("a\n");
    if (answer()[0] != '-') break;
    idle(NULL);
  }
  if (line[0] == '-' || strtoul(line, NULL, 10) != syndrome) fail("the read", (int)page);
}

static void page_faults(void) {
  uint16_t id = 1000;
  const uint64_t none[8] = {0};
  const struct tpt_table table = {12, 5, 12, TPT_ENC_CHECKED, {TABLE_AT, 0, 0, 0}};
  store(TABLE_AT, none, sizeof none);
  tell("t");
  struct tpt_cplq_slot region = run(
      "REG_MR on demand", tpt_reg_mr(id++, PD, 0x47, START, 0x8000, &table), TPT_STS_OK);
  page_fault(id++, &region, 3, 0x777000, 0);
  try_key("present", region.rkey, START + 0x3ff8, 0);
  page_fault(id++, &region, 5, 0, 12);
  set_page(region.index, 3, 0);
  run("INVALIDATE_RANGE", tpt_invalidate_range(id++, region.lkey, PD, START + 0x3000, 0x1000),
      TPT_STS_OK);
  page_fault(id++, &region, 3, 0x999000, 0);
  run("PAGE_READY of no fault", tpt_page_ready(id++, 0, 0), TPT_STS_KEY_STATE);
  run("DEREG_MR", tpt_dereg_mr(id++, region.lkey, PD), TPT_STS_OK);
}

int main(void) {
  struct tpt_io io = {NULL, read32, write32, write_barrier, read_barrier,
                      release_barrier, idle};
  struct tpt_config config = {0};
  config.mpt = MPT_AT;
  config.mpt_entries = 64;
  config.commands = commands;
  config.commands_address = COMMANDS_AT;
  config.completions = completions;
  config.completions_address = COMPLETIONS_AT;
  config.log_commands = 17;
  config.log_completions = 3;
  config.polls = 10000;
  config.fence_time = 1000;
  for (uint32_t n = 0; n < 4; n++) {
    config.perm_secret[n] = 0x01234567u * (n + 1);
    config.tag_secret[n] = 0x89abcdefu * (n + 1);
  }
  if (tpt_start(&driver, &io, &config) != TPT_ERROR_SETTING) fail("a queue of 2^17 slots", 0);
  config.log_commands = 3;
  int error = tpt_start(&driver, &io, &config);
  if (error) fail("start", error);
  started = true;
  static struct tpt_driver second;
  if (tpt_start(&second, &io, &config) != TPT_ERROR_IN_USE) fail("a second start", 0);

  const uint32_t rights = 0x17;  // local write, remote write, remote read, windows
  struct tpt_table table = {12, 0, 12, TPT_ENC_RAW, {0x111000, 0x555000, 0x333000, 0}};
  // Twice around the rings.
  for (uint16_t round = 0; round < 3; round++) {
    uint16_t id = (uint16_t)(100 * round);
    struct tpt_cplq_slot region =
        run("REG_MR", tpt_reg_mr(id++, PD, rights, START, 0x3000, &table), TPT_STS_OK);
    try_key("region", region.rkey, START + 0xffc, 0);
    try_key("bounds", region.rkey, START + 0x3000, 9);
    run("REG_MR of nothing", tpt_reg_mr(id++, PD, rights, START, 0, &table), TPT_STS_BAD_LENGTH);
    struct tpt_cplq_slot window =
        run("ALLOC_MW", tpt_alloc_mw(id++, PD, TPT_FLAG_MW2), TPT_STS_OK);
    window = run("BIND_MW",
                 tpt_bind_mw(id++, window.rkey, PD, region.lkey, 4, START + 0x1000, 0x800, 0x77,
                             (uint8_t)(round + 1)),
                 TPT_STS_OK);
    try_key("window", window.rkey, START + 0x17f8, 0);
    try_key("outside", window.rkey, START + 0x17f9, 9);
    run("DEREG_MR", tpt_dereg_mr(id++, region.lkey, PD), TPT_STS_BOUND);
    run("INVALIDATE", tpt_invalidate(id++, window.rkey, PD), TPT_STS_OK);
    try_key("invalidated", window.rkey, START + 0x1000, 3);
    run("DEALLOC_MW", tpt_dealloc_mw(id++, window.rkey, PD), TPT_STS_OK);
    run("DEREG_MR", tpt_dereg_mr(id++, region.lkey, PD), TPT_STS_OK);
    try_key("deregistered", region.rkey, START, 3);
  }
  page_faults();
  error = tpt_stop(&driver);
  if (error) fail("stop", error);
  printf("e ok\n");
  return 0;
}
