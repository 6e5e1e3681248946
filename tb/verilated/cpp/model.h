// SPDX-License-Identifier: Apache-2.0
// The two kinds of model that Rust sees: the unit with its fixed channels (TopModel), and any small
// flat top whose ports are found in the header that Verilator wrote (FlatModel).
#pragma once

#include <cstdint>
#include <memory>

#include "rust/cxx.h"

namespace tpt {

struct Inputs;
struct Outputs;

/// What all models have.
class Model {
 public:
  virtual ~Model() = default;
  /// Starts an FST file. False: recording is not compiled in, or a file is open already.
  virtual bool open_waves(rust::Str path) = 0;
  virtual void close_waves() = 0;
  /// What the model printed since the last call: the text of failed assertions.
  rust::String take_report() const;
};

class TopModel : public Model {
 public:
  /// One clock. False: an assertion of the RTL failed in it.
  virtual bool tick(const Inputs& in, Outputs& out) = 0;
};

class FlatModel : public Model {
 public:
  /// One clock; ports in the order of the generated port table, each from a word boundary.
  virtual bool tick_words(rust::Slice<const uint32_t> in, rust::Slice<uint32_t> out) = 0;
};

/// Null if the configuration was not built.
std::unique_ptr<TopModel> new_top(rust::Str config, uint32_t seed);
std::unique_ptr<FlatModel> new_flat(rust::Str top, uint32_t seed);

}  // namespace tpt
