#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/comms.h"
#include "et_schema/model/operator_trust.h"

namespace understudy::generator {

enum class Only { kAll, kCompute, kComms };

/// How indices are spread over their range where nothing was recorded of them.
struct IndexSpread {
  enum class Kind : std::uint8_t {
    kUniform,
    kZipf,     ///< the k-th number of the range in proportion to k^-alpha
    kConstant  ///< the first number of the range, always
  };
  Kind kind = Kind::kUniform;
  double alpha = 0;  ///< of kZipf, not negative
};

/// "uniform", "zipf:1.05" or "constant". Throws Error (usage) for anything else.
[[nodiscard]] IndexSpread parse_index_spread(std::string_view text);

/// Adds "allreduce=avg" to them: a reduction by record_param_comms' name, and its operator. Throws
/// Error (usage) for anything else.
void add_reduce_op(std::string_view text, std::map<et_schema::CommKind, std::string>& reduce_ops);

/// Whether a benchmark may hold some of a job's ranks, or ranks of several jobs: each of them then
/// replays alone.
enum class PartialRanks : std::uint8_t {
  kRefused,
  kOneAlone,  ///< one trace of a larger job may stand by itself
  kAllowed
};

/// What part of a trace a benchmark is made of. The default is all of its first complete step.
struct GenerateOptions {
  std::optional<std::string> step = {};  ///< K of ProfilerStep#K, or "all"
  std::vector<std::string> subgraphs =
      {};  ///< only what runs below a node whose name contains one of them, and its backward
  bool with_backward = true;  ///< of the subgraphs
  Only only = Only::kAll;
  std::optional<std::string> include = {};  ///< regular expression (ECMAScript) on operator names
  std::optional<std::string> exclude = {};
  IndexSpread indices = {};
  /// Of reductions whose operator is not recorded: as et_schema::CommInfo::reduce_op.
  std::map<et_schema::CommKind, std::string> reduce_ops = {};
  PartialRanks partial = PartialRanks::kRefused;
  et_schema::AllowedOperators allowed_operators = {};  ///< though they do more than compute
};

}  // namespace understudy::generator
