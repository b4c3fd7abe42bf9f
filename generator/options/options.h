#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/operator_trust.h"

namespace understudy::generator {

enum class Only { kAll, kCompute, kComms };

/// Distribution of indices over their range if nothing was recorded.
struct IndexSpread {
  enum class Kind : std::uint8_t {
    kUniform,
    kZipf,     ///< the k-th number of the range has probability proportional to k^-alpha
    kConstant  ///< always the first number of the range
  };
  Kind kind = Kind::kUniform;
  double alpha = 0;  ///< for kZipf; not negative
};

/// Parses "uniform", "zipf:1.05" or "constant". Throws Error (usage) for anything else.
[[nodiscard]] IndexSpread parse_index_spread(std::string_view text);

/// Whether a benchmark may hold only some of a job's ranks, or ranks of several jobs. Each rank
/// then replays alone. Each value allows what those before it do.
enum class PartialRanks : std::uint8_t {
  kRefused,
  kOneAlone,  ///< a single trace of a larger job is allowed
  kOfOneJob,  ///< any ranks of one job are allowed: others are made of them (--world-size)
  kAllowed
};

/// The part of a trace that becomes a benchmark. The default is the whole first complete step.
struct GenerateOptions {
  std::optional<std::string> step = {};  ///< K of ProfilerStep#K, or "all"
  std::vector<std::string> subgraphs =
      {};  ///< only what runs below a node whose name contains one of them, and its backward
  bool with_backward = true;  ///< `subgraphs` include their backward pass
  Only only = Only::kAll;
  std::optional<std::string> exclude = {};
  IndexSpread indices = {};
  PartialRanks partial = PartialRanks::kRefused;
  /// Operators to replay although they may do more than compute.
  et_schema::AllowedOperators allowed_operators = {};
};

}  // namespace understudy::generator
