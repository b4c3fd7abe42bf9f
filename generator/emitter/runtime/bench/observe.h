#pragma once

// Looks at what operators give: checksums to compare runs by, and whether numbers stay healthy.

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>

#include <cstddef>
#include <string>

#include "replayer/values/result_checksum.h"

namespace bench {

namespace replayer = understudy::replayer;

/// Whether an operator is aten::empty or named after it. This project stands alone: it is what
/// et_schema/model/op_class.h of Understudy says, and observe.py.
inline bool allocates_memory(const std::string& name) {
  std::string base = name.substr(0, name.find('.'));
  base.erase(0, base.find("::") == std::string::npos ? 0 : base.find("::") + 2);
  for (const std::string beginning : {"_", "new_"})
    base.erase(0, base.rfind(beginning, 0) == 0 ? beginning.size() : 0);
  return base == "empty" || base.rfind("empty_", 0) == 0;
}

/// Whether an operator leaves elements of a result as memory had them: all of fresh memory, the
/// paths of a CTC loss behind an example's own length, parts of an LSTM's workspace.
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
