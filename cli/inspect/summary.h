#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "et_schema/model/trace.h"
#include "et_schema/pytorch_et/comm_calls.h"
#include "inspect/op_times.h"

namespace understudy::cli {

/// What the user asked to see beside the counts.
struct InspectOptions {
  bool ops = false;
  bool collectives = false;
  bool tensors = false;
  bool tree = false;
  GroupBy by = GroupBy::kName;  ///< what the rows of `ops` are
};

/// One communication call with what a person wants to know of it.
struct CallSummary {
  std::uint64_t node = 0;
  std::string name;
  std::string group;            ///< its name; empty if not recorded
  std::int64_t group_size = 0;  ///< 0: not recorded
  std::string seq;              ///< empty if not recorded
  std::uint64_t in_bytes = 0;
  std::uint64_t out_bytes = 0;
  std::string dtype;
};

/// Tensors of one device and element type, as the nodes name them.
struct TensorSummary {
  std::string device;
  std::string dtype;
  std::uint64_t occurrences = 0;  ///< as an argument or result
  std::uint64_t ids = 0;          ///< distinct tensor ids
  std::uint64_t storages = 0;
  std::uint64_t largest_bytes = 0;
};

/// One rank's trace in figures.
struct RankSummary {
  const et_schema::Trace* trace = nullptr;
  std::uint64_t operators = 0;  ///< with communication and Triton kernels, as the contract counts
  std::uint64_t labels = 0;
  std::uint64_t triton_kernels = 0;
  std::uint64_t threads = 0;
  std::uint64_t steps = 0;  ///< ProfilerStep labels
  std::uint64_t tensor_ids = 0;
  std::uint64_t storage_ids = 0;
  std::map<std::string, std::uint64_t> collectives;
  std::map<std::string, std::uint64_t> losses;
  std::optional<RankOps> ops;  ///< where they were asked for
  std::set<std::string> devices;
  std::vector<CallSummary> calls;
  std::vector<TensorSummary> tensors;
};

/// Counts one trace, which must outlive the summary. Throws et_schema::Error as
/// communication_calls() does.
[[nodiscard]] RankSummary summarise(const et_schema::Trace& trace);

/// The operators of those ranks that have them.
[[nodiscard]] std::vector<RankOps> ops_of(const std::vector<RankSummary>& ranks);

/// "float32[64,1024]" – a tensor as the tree shows it.
[[nodiscard]] std::string tensor_text(const et_schema::Tensor& tensor);

}  // namespace understudy::cli
