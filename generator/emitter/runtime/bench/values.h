#pragma once

// Fills tensors by rules, with the replayer's own generators (draws.h, store.h).

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "replayer/values/store.h"
#include "rules.h"

namespace bench {

namespace replayer = understudy::replayer;

inline ValueRule rule_for(const at::Tensor& tensor, const Rule& asked) {
  return asked ? *asked : replayer::rule_by_shape(tensor.scalar_type(), tensor.sizes());
}

/// Fills a tensor of any strides; elements are numbered in row-major order.
inline void fill(const at::Tensor& tensor, const Rule& asked, std::uint64_t seed,
                 std::uint64_t stream) {
  if (tensor.numel() > 0 && !tensor.is_meta()) {
    replayer::fill_once(replayer::without_repeats(tensor), rule_for(tensor, asked),
                        {.seed = seed, .stream = stream});
  }
}

}  // namespace bench
