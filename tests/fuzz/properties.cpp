#include "properties.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/formats/capture/capture.h"
#include "et_schema/formats/capture/index_uses.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/formats/counted_kernels/counted_kernels.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/formats/pytorch_et/chakra_trace.h"
#include "et_schema/formats/pytorch_et/comm_calls.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "et_schema/formats/pytorch_et/trace_reader.h"
#include "generator/link/link.h"
#include "generator/profile/trace_of_profile.h"

namespace understudy::fuzz {
namespace {

using et_schema::Error;
using et_schema::ErrorKind;
using et_schema::Node;
using et_schema::NodeIndex;
using et_schema::Tensor;
using et_schema::Trace;

void require(bool condition, const char* what) {
  if (!condition) {
    throw std::logic_error(what);
  }
}

/// Runs a reader; the only way out beside success is an error that can be shown.
void expect_result_or_bad_input(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kBadInput, "an input's fault told as another kind");
    require(!error.summary().empty(), "an error without a sentence");
    require(!to_text(error).empty() && !to_json(error).empty(), "an error without a text");
  }
}

void check_tensor(const Tensor& tensor) {
  require(tensor.numel >= 0 && tensor.item_bytes >= 0 && tensor.storage_offset >= 0,
          "a negative extent");
  require(!tensor.has_strides || tensor.strides.size() == tensor.sizes.size(),
          "strides of another rank than the sizes");
}

void check_tree(const Trace& trace) {
  require(!trace.nodes.empty(), "a trace without nodes");
  std::size_t children = 0;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    const Node& node = trace.nodes[i];
    const auto index = static_cast<NodeIndex>(i);
    require(trace.find(node.id) == index, "a node that is not found by its id");
    require(i == 0 ? node.parent == et_schema::kNoNode : node.parent < index,
            "a parent that does not stand before its child");
    require(node.last_descendant >= index && node.last_descendant < trace.nodes.size(),
            "a subtree that ends before its root or beyond the trace");
    for (const NodeIndex child : node.children) {
      require(trace.nodes[child].parent == index, "a child of another parent");
      require(node.last_descendant >= trace.nodes[child].last_descendant,
              "a child's subtree that ends after its parent's");
    }
    children += node.children.size();
    et_schema::for_each_tensor(node.inputs, check_tensor);
    et_schema::for_each_tensor(node.outputs, check_tensor);
  }
  require(children == trace.nodes.size() - 1, "a node that is nobody's child, or twice a child");
}

}  // namespace

void check_trace(std::string_view input) {
  expect_result_or_bad_input([input] {
    const Trace trace = et_schema::parse_trace(input, "fuzz.json");
    check_tree(trace);
    for (const auto& [index, call] : communication_calls(trace)) {
      require(index < trace.nodes.size() && !call.name.empty(), "a call without a node or a name");
    }
  });
}

namespace {

void check_chakra_file(std::string_view bytes) {
  expect_result_or_bad_input([bytes] {
    et_schema::ChakraFile file = et_schema::parse_chakra(bytes, "fuzz.et");
    for (const et_schema::ChakraNode& node : file.nodes) {
      require(node.offset < bytes.size(), "a node that stands behind the file's end");
    }
    constexpr std::int64_t kRanks = 4;
    const Trace trace = et_schema::trace_of_chakra(std::move(file), kRanks);
    check_tree(trace);
    require(trace.own_times.empty() || trace.own_times.size() == trace.nodes.size(),
            "times of other nodes");
    static_cast<void>(communication_calls(trace));
  });
}

}  // namespace

/// As it is; and as messages whose lengths are right, so that what is in them is looked at: each
/// has its first byte's eighth part of what is left.
void check_chakra(std::string_view input) {
  check_chakra_file(input);
  std::string framed;
  while (!input.empty()) {
    const std::size_t share = static_cast<unsigned char>(input.front()) % 8U + 1;
    const std::size_t length = input.size() * share / 8;
    const std::string_view message = input.substr(1, length);
    for (std::size_t rest = message.size(); true; rest >>= 7U) {
      framed += static_cast<char>((rest & 0x7fU) | (rest >= 0x80 ? 0x80U : 0U));
      if (rest < 0x80) {
        break;
      }
    }
    framed += message;
    input.remove_prefix(1 + message.size());
  }
  check_chakra_file(framed);
}

void check_input_files(std::string_view input) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20U;
  const et_schema::ReadLimits limits = {
      .max_file_bytes = kMostBytes, .max_total_bytes = 2 * kMostBytes, .max_ratio = 200};
  expect_result_or_bad_input([&] {
    std::uint64_t total = 0;
    read_input_bytes(input, "fuzz.tar.gz", limits, [&](et_schema::InputFile&& file) {
      require(file.data.size() <= limits.max_file_bytes, "a file above its limit");
      require(
          file.name.find("..") == std::string::npos || file.name.find("/../") == std::string::npos,
          "a name that leads out of the archive");
      total += file.data.size();
      require(total <= limits.max_total_bytes, "files above their limit together");
    });
  });
}

void check_kineto(std::string_view input) {
  expect_result_or_bad_input([input] {
    const et_schema::Profile profile =
        et_schema::parse_kineto(input, "fuzz.json", et_schema::KinetoDetail::kArguments);
    require(!profile.events.empty(), "a profile without events");
    for (const et_schema::KinetoEvent& event : profile.events) {
      // A byte that is a control character becomes the six of \u001b.
      require(event.name.size() <= 6 * input.size(), "a name longer than the input can hold");
      require(event.shape.size() <= 8 * input.size(), "a shape longer than the input can hold");
    }
  });
}

void check_counters(std::string_view input) {
  expect_result_or_bad_input([input] {
    for (const et_schema::CountedKernel& kernel :
         et_schema::parse_counted_kernels(input, "fuzz.csv")) {
      require(!et_schema::has_control_characters(kernel.kernel), "a name that cannot be shown");
      require(std::ranges::all_of(kernel.metrics,
                                  [](const auto& row) { return std::isfinite(row.second); }),
              "a value that is not finite");
    }
  });
}

namespace {

/// Results as of elementwise operators, and nothing of every third call.
std::vector<generator::CallResults> some_results(std::span<const generator::AskedCall> calls) {
  require(generator::CallBook().add(calls).size() == calls.size(), "calls that are not asked for");
  std::vector<generator::CallResults> answers;
  for (const generator::AskedCall& call : calls) {
    generator::CallResults& answer = answers.emplace_back();
    if (answers.size() % 3 == 0) {
      answer.why_not = "contents decide";
      continue;
    }
    et_schema::for_each_tensor(call.inputs, [&answer](const Tensor& tensor) {
      if (answer.tensors.empty()) {
        generator::ResultTensor& result = answer.tensors.emplace_back();
        result.dtype = tensor.dtype;
        result.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
        result.strides.assign(tensor.strides.begin(), tensor.strides.end());
      }
    });
  }
  return answers;
}

}  // namespace

void check_profile_import(std::string_view input) {
  expect_result_or_bad_input([input] {
    et_schema::Profile profile =
        et_schema::parse_kineto(input, "fuzz.json", et_schema::KinetoDetail::kArguments);
    const Trace trace = generator::trace_of_profile(profile, some_results);
    check_tree(trace);
    static_cast<void>(communication_calls(trace));
    const generator::Link link = generator::link(trace, profile);
    require(link.nodes.size() == trace.nodes.size(), "times of other nodes");
  });
}

void check_capture(std::string_view input) {
  expect_result_or_bad_input([input] {
    const et_schema::Capture capture = et_schema::parse_capture(input, "fuzz.json");
    for (const et_schema::CapturedRank& rank : capture.ranks) {
      require(rank.median_step_ns().has_value() != rank.step_ns.empty(), "a median of nothing");
    }
  });
}

void check_indices(std::string_view input) {
  expect_result_or_bad_input([input] {
    const et_schema::IndexUses read = et_schema::parse_index_uses(input, "fuzz.json");
    for (const et_schema::IndexUse& use : read.uses) {
      require(!find_problem(use.reuse) && draw_count(use.reuse) >= distinct_count(use.reuse),
              "a reuse that no draws can have");
    }
    for (const et_schema::ZeroUse& use : read.zeros) {
      require(use.share > 0 && use.share <= 1, "a share that is none");
    }
  });
}

void check_operator_map(std::string_view input) {
  expect_result_or_bad_input([input] {
    et_schema::OperatorMap map;
    map.add_rows(input, "fuzz.json");
    for (const et_schema::MapRow& row : map.rows()) {
      require(row.does.size() < 8000, "a long function");
      require(!row.source().empty(), "a row without a source");
      for (const std::string& name : row.operators) {
        static_cast<void>(map.find(name + "(Tensor x, *, Tensor[] y=[(]) -> ()"));
      }
    }
  });
}

}  // namespace understudy::fuzz
