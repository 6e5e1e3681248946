// SPDX-License-Identifier: Apache-2.0

// Entries of encoding CHECKED: for each line ADDRESS WRITABLE INDEX NUMBER LEVEL (hexadecimal) of
// the standard input the entry, or the error.

#include <inttypes.h>
#include <stdio.h>

#include "tpt_driver.h"

int main(void) {
  uint64_t address, number;
  uint32_t index;
  unsigned writable, level;
  while (scanf("%" SCNx64 " %x %" SCNx32 " %" SCNx64 " %x", &address, &writable, &index, &number,
               &level) == 5) {
    uint64_t entry = 0;
    int error = tpt_checked_entry(address, writable != 0, index, number, (uint8_t)level, &entry);
    if (error) {
      printf("%d\n", error);
    } else {
      printf("%" PRIx64 "\n", entry);
    }
  }
  return 0;
}
