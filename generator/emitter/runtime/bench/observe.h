#pragma once

// Observes the results of operators: checksums to compare runs, and checks for non-finite numbers.

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <cstddef>
#include <string>

#include "replayer/values/result_checksum.h"

namespace bench {

namespace replayer = understudy::replayer;

/// Returns true if an operator is aten::empty or named after it. Must agree with observe.py and
/// with et_schema/model/op_class.h of Understudy.
inline bool allocates_memory(const std::string& name) {
  std::string base = name.substr(0, name.find('.'));
  base.erase(0, base.find("::") == std::string::npos ? 0 : base.find("::") + 2);
  for (const std::string beginning : {"_", "new_"})
    base.erase(0, base.rfind(beginning, 0) == 0 ? beginning.size() : 0);
  return base == "empty" || base.rfind("empty_", 0) == 0;
}

/// Returns true if an operator leaves elements of a result unwritten: fresh memory, the paths of a
/// CTC loss beyond an example's length, parts of an LSTM's workspace.
inline bool gives_fresh_memory(const std::string& name, std::size_t result) {
  const std::string base = name.substr(0, name.find('.'));
  return allocates_memory(name) || name.find("resize") != std::string::npos ||
         (result == 1 && base == "aten::_ctc_loss") ||
         (result == 3 && base == "aten::mkldnn_rnn_layer");
}

inline bool is_healthy(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || tensor.is_meta() ||
      !(tensor.is_floating_point() || tensor.is_complex())) {
    return true;
  }
  return at::isfinite(tensor).all().item<bool>();
}

}  // namespace bench
