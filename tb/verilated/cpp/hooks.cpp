// SPDX-License-Identifier: Apache-2.0
#include "hooks.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "verilated.h"
#if VM_COVERAGE
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <mutex>

#include "verilated_cov.h"
#endif

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

// Number of the fault that a netlist of tools/mutation.py is to have: 0 is none.
extern "C" int tpt_mutant() {
  const char* text = std::getenv("TPT_MUTANT");
  return text ? std::atoi(text) : 0;
}

#if VM_COVERAGE
namespace {
const char* coverage_dir() {
  const char* dir = std::getenv("TPT_COVERAGE_DIR");
  return dir && *dir ? dir : nullptr;
}

/// Counters of all models of this process by their keys; they are written when it ends.
class Totals {
 public:
  ~Totals() {
    const char* dir = coverage_dir();
    if (!dir || counts_.empty()) return;
    std::ofstream out(name(dir) + ".dat");
    out << "# SystemC::Coverage-3\n";
    for (const auto& [key, count] : counts_) out << key << ' ' << count << '\n';
  }

  void add(VerilatedCovContext* counters) {
    const char* dir = coverage_dir();
    if (!dir) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    // The runtime gives its counters to a file only.
    const std::string part = name(dir) + ".part";
    counters->write(part.c_str());
    std::ifstream in(part);
    for (std::string line; std::getline(in, line);) {
      const size_t space = line.rfind(' ');
      if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
      counts_[line.substr(0, space)] += std::strtoull(line.c_str() + space, nullptr, 10);
    }
    in.close();
    std::remove(part.c_str());
  }

 private:
  // Numbers of processes come again in a long run: their start is part of the name.
  std::string name(const char* dir) const {
    return std::string(dir) + "/" + std::to_string(getpid()) + "-" + std::to_string(start_);
  }

  const long long start_ = std::chrono::system_clock::now().time_since_epoch().count();
  std::mutex mutex_;
  std::map<std::string, uint64_t> counts_;
};
}  // namespace

void tpt_add_coverage(VerilatedCovContext* counters) {
  static Totals totals;
  totals.add(counters);
}
#endif
