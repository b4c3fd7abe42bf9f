// benchmark_operator_results TRACE…: asks what every operator of recorded traces results in, and
// compares with what the traces recorded: dtype, sizes, strides, whose storage, and where in it.
// Prints operators, the share that is exact, and by name what is not, and why.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/compile/compile.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/formats/pytorch_et/trace_files.h"

namespace {

using namespace std::string_literals;
using understudy::et_schema::CallResults;
using understudy::et_schema::Node;
using understudy::et_schema::NodeClass;
using understudy::et_schema::ResultTensor;
using understudy::et_schema::Tensor;
using understudy::et_schema::Trace;
using understudy::et_schema::Value;
using understudy::generator::AskedCall;

std::vector<const Tensor*> tensors_of(std::span<const Value> values) {
  std::vector<const Tensor*> tensors;
  for_each_tensor(values, [&](const Tensor& tensor) { tensors.push_back(&tensor); });
  return tensors;
}

bool shares(const Tensor& one, const Tensor& other) {
  return one.has_storage() && other.has_storage() && one.storage_id == other.storage_id;
}

/// Whether the trace tells how the tensors lie; older ones do not.
bool know_strides(const std::vector<const Tensor*>& tensors) {
  return std::ranges::all_of(tensors, [](const Tensor* tensor) {
    return tensor->has_strides || tensor->sizes.size() < 2;
  });
}

/// What differs first between an answer and what was recorded; empty where nothing does.
std::string difference(const ResultTensor& answer, const Tensor& recorded,
                       const std::vector<const Tensor*>& inputs) {
  if (answer.dtype != recorded.dtype) {
    return fmt::format("dtype {} for {}", to_string(answer.dtype), to_string(recorded.dtype));
  }
  if (!std::ranges::equal(answer.sizes, recorded.sizes)) {
    return fmt::format("sizes [{}] for [{}]", fmt::join(answer.sizes, ", "),
                       fmt::join(recorded.sizes, ", "));
  }
  const bool is_sparse = answer.strides.empty() && !recorded.has_storage();
  if (recorded.has_strides && !is_sparse && !std::ranges::equal(answer.strides, recorded.strides)) {
    return fmt::format("strides [{}] for [{}]", fmt::join(answer.strides, ", "),
                       fmt::join(recorded.strides, ", "));
  }
  if (!recorded.has_storage()) {
    return "";
  }
  if (answer.storage_of < 0) {
    const bool is_shared =
        std::ranges::any_of(inputs, [&](const Tensor* input) { return shares(*input, recorded); });
    return is_shared ? "a new storage for an input's" : "";
  }
  const Tensor& owner = *inputs.at(static_cast<std::size_t>(answer.storage_of));
  const bool grew = owner.numel == 0 && answer.same_as >= 0;  // it had no memory to share
  if (!grew && !shares(owner, recorded)) {
    return "an input's storage for a new one";
  }
  const std::int64_t start = answer.offset_is_absolute ? 0 : owner.storage_offset;
  if (answer.offset_from != recorded.storage_offset - start) {
    return "offset";
  }
  return (answer.same_as >= 0) == (owner.tensor_id == recorded.tensor_id) ? "" : "another tensor";
}

std::string difference(const CallResults& answer, const Node& node) {
  if (!answer.why_not.empty()) {
    return answer.why_not;
  }
  const std::vector<const Tensor*> inputs = tensors_of(node.inputs);
  const std::vector<const Tensor*> recorded = tensors_of(node.outputs);
  if (answer.tensors.size() != recorded.size()) {
    return fmt::format("{} tensors for {}", answer.tensors.size(), recorded.size());
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (const std::string why = difference(answer.tensors[i], *recorded[i], inputs); !why.empty()) {
      return why;
    }
  }
  return "";
}

struct Tally {
  std::size_t calls = 0;
  std::size_t exact = 0;
  std::size_t without_strides = 0;  ///< not asked for: inputs whose strides were not recorded
  std::map<std::pair<std::string, std::string>, std::size_t> not_exact;  ///< by name and reason
};

void compare(const Trace& trace, Tally& tally) {
  std::vector<const Node*> nodes;
  std::vector<AskedCall> calls;
  for (const Node& node : trace.nodes) {
    if (classify(node) != NodeClass::kOperator || tensors_of(node.outputs).empty()) {
      continue;
    }
    if (!know_strides(tensors_of(node.inputs))) {
      ++tally.without_strides;
    } else {
      nodes.push_back(&node);
      calls.push_back({node.op_schema, node.inputs});
    }
  }
  if (calls.empty()) {
    return;
  }
  const std::vector<CallResults> answers = understudy::cli::ask_results()(calls);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string why = difference(answers[i], *nodes[i]);
    ++tally.calls;
    if (why.empty()) {
      ++tally.exact;
    } else {
      ++tally.not_exact[{std::string(nodes[i]->op_schema.substr(0, nodes[i]->op_schema.find('('))),
                         why}];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Tally tally;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 1; i < argc; ++i) {
    try {
      const auto set =
          understudy::et_schema::read_trace_set({argv[i]}, understudy::et_schema::process_limits());
      for (const Trace& trace : set.traces) {
        compare(trace, tally);
      }
    } catch (const understudy::et_schema::Error& error) {
      fmt::print("{}: {}\n", argv[i], to_text(error));
      return 1;
    }
  }
  if (tally.without_strides > 0) {
    fmt::print("{} operators whose inputs' strides the trace does not tell\n",
               tally.without_strides);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print(
      "{} operators, {} exact ({:.2f} %), {:.2f} s\n", tally.calls, tally.exact,
      100.0 * static_cast<double>(tally.exact) / std::max(1.0, static_cast<double>(tally.calls)),
      took.count());
  std::vector<std::pair<std::size_t, std::string>> rows;
  for (const auto& [what, count] : tally.not_exact) {
    rows.emplace_back(count, fmt::format("{}: {}", what.first, what.second));
  }
  std::ranges::sort(rows, std::greater<>());
  for (const auto& [count, text] : rows) {
    fmt::print("{:7} {}\n", count, text);
  }
  return 0;
}
