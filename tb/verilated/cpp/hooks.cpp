// SPDX-License-Identifier: Apache-2.0
#include "hooks.h"

#include <cstdio>
#include <vector>

#include "verilated.h"

TptReport& tpt_report() {
  static thread_local TptReport report;
  return report;
}

int tpt_vl_printf(const char* format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  if (length > 0) {
    std::vector<char> buffer(static_cast<size_t>(length) + 1);
    std::vsnprintf(buffer.data(), buffer.size(), format, again);
    std::string& text = tpt_report().text;
    // The first failures matter; a broken model must not fill the memory.
    if (text.size() < 65536) text.append(buffer.data(), static_cast<size_t>(length));
  }
  va_end(again);
  return length;
}

namespace {
void fail(const char* file, int line, const char* message) {
  TptReport& report = tpt_report();
  report.failed = true;
  tpt_vl_printf("%s:%d: %s\n", file ? file : "", line, message ? message : "$stop");
}
}  // namespace

// Called for $stop, $error and failed assertions. Nothing here ends the process: the caller of
// tick() gets an error.
void vl_stop(const char* file, int line, const char*) VL_MT_UNSAFE { fail(file, line, "stopped"); }

void vl_fatal(const char* file, int line, const char*, const char* message) VL_MT_UNSAFE {
  fail(file, line, message);
}
