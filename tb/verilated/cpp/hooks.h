// SPDX-License-Identifier: Apache-2.0
// Forced include of the Verilator runtime: what a model prints and every $error, $fatal and failed
// assertion goes to the calling thread's record instead of to stdout and abort().
#pragma once

#include <cstdarg>
#include <string>

/// What the model that this thread evaluates has reported.
struct TptReport {
  bool failed = false;  ///< an assertion failed, or $error, $fatal, $stop ran
  std::string text;     ///< what was printed since the last clear
};

TptReport& tpt_report();

class VerilatedCovContext;
/// Adds the coverage counters of a model to those of this process, which go to a file of
/// TPT_COVERAGE_DIR when it ends; without that variable to nowhere.
void tpt_add_coverage(VerilatedCovContext* counters);

int tpt_vl_printf(const char* format, ...) __attribute__((format(printf, 1, 2)));

#ifndef VL_PRINTF
#define VL_PRINTF tpt_vl_printf
#endif
#define VL_USER_STOP
#define VL_USER_FATAL
