// SPDX-License-Identifier: Apache-2.0
#include "tpt-verilated/cpp/model.h"

#include "hooks.h"

namespace tpt {

rust::String Model::take_report() const {
  rust::String text = rust::String::lossy(tpt_report().text);
  tpt_report().text.clear();
  return text;
}

}  // namespace tpt
