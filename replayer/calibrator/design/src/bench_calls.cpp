#include "replayer/calibrator/design/bench_calls.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <variant>

#include "et_schema/model/sparse_content.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

/// Copies arguments; replaces slots by tensors of the call.
class CallBuilder {
 public:
  CallBuilder(const Program& program, Call& call) : program_(program), call_(call) {}

  std::vector<Argument> copy(const std::vector<Argument>& arguments) {
    std::vector<Argument> copies;
    for (const Argument& argument : arguments) {
      if (const auto* slot = std::get_if<Argument::SlotRef>(&argument.value)) {
        copies.emplace_back().value = Argument::SlotRef{tensor_of(slot->id)};
      } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
        copies.emplace_back().value = copy(*list);
      } else {
        copies.emplace_back() = argument;
      }
    }
    return copies;
  }
  /// Returns true if a sparse tensor has unknown elements.
  [[nodiscard]] bool has_unknown_content() const { return has_unknown_content_; }

 private:
  SlotId tensor_of(SlotId id) {
    const auto [known, added] = tensors_.try_emplace(id, static_cast<SlotId>(call_.tensors.size()));
    if (!added) {
      return known->second;  // the same tensor twice, as in x * x
    }
    CallTensor tensor;
    tensor.layout = program_.slots[id];
    const et_schema::Storage& storage = program_.storages[tensor.layout.storage];
    tensor.layout.storage = 0;
    tensor.layout.offset = 0;
    tensor.layout.external = false;
    tensor.zeros = storage.external ? storage.zeros : 0;
    if (!is_integral(tensor.layout.dtype)) {
      tensor.layout.value.reset();
    }
    if (tensor.layout.sparse && !tensor.layout.content) {
      tensor.layout.content = et_schema::sparse_content(program_, id);
    }
    has_unknown_content_ = has_unknown_content_ || (tensor.layout.sparse && !tensor.layout.content);
    call_.tensors.push_back(std::move(tensor));
    return known->second;
  }

  const Program& program_;
  Call& call_;
  std::map<SlotId, SlotId> tensors_;
  bool has_unknown_content_ = false;
};

/// Returns why an instruction cannot be timed as a call; empty if it can.
std::string why_not(const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionKind::kOp:
      return instruction.schema ? "" : "no schema was recorded";
    case InstructionKind::kNative:
      return "a label that did work";
    case InstructionKind::kKernel:
      return "a compiled kernel";
    default:
      return "no operator";
  }
}

std::vector<std::int64_t> sizes_of(const Call& call) {
  std::set<std::int64_t> sizes;
  for (const CallTensor& tensor : call.tensors) {
    sizes.insert(tensor.layout.sizes.begin(), tensor.layout.sizes.end());
  }
  sizes.erase(0);
  sizes.erase(1);
  return {sizes.begin(), sizes.end()};
}

/// Returns dense strides in the order of the old ones; expanded dimensions stay expanded.
std::vector<std::int64_t> restride(const std::vector<std::int64_t>& sizes,
                                   const std::vector<std::int64_t>& old) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return old[a] > old[b]; });
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t dimension = order[i];
    if (old[dimension] == 0) {
      continue;
    }
    strides[dimension] = stride;
    stride *= sizes[dimension];
  }
  return strides;
}

void replace(std::vector<Argument>& arguments, std::int64_t from, std::int64_t to) {
  for (Argument& argument : arguments) {
    if (auto* number = std::get_if<std::int64_t>(&argument.value)) {
      *number = *number == from && from >= kLeastArgument ? to : *number;
    } else if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      replace(*list, from, to);
    }
  }
}

Call resized(Call call, std::int64_t from, std::int64_t to) {
  for (CallTensor& tensor : call.tensors) {
    et_schema::Slot& slot = tensor.layout;
    const std::vector<std::int64_t> old = slot.sizes;
    std::ranges::replace(slot.sizes, from, to);
    if (slot.sizes != old) {
      slot.strides = restride(slot.sizes, slot.strides);
    }
    slot.value.reset();  // its bounds were for the old sizes
  }
  replace(call.args, from, to);
  return call;
}

}  // namespace

void add_calls(const Program& program, BenchCalls& found) {
  std::set<std::string> known;
  for (const Call& call : found.calls) {
    known.insert(to_text(call));
  }
  for (const Instruction& instruction : program.instructions) {
    std::string problem = why_not(instruction);
    if (!problem.empty()) {
      ++found.left_out[problem];
      continue;
    }
    Call call;
    call.schema = program.schemas[*instruction.schema];
    CallBuilder builder(program, call);
    call.args = builder.copy(instruction.args);
    if (builder.has_unknown_content()) {
      ++found.left_out["a sparse tensor of unknown elements"];
    } else if (known.insert(to_text(call)).second) {
      found.calls.push_back(std::move(call));
    }
  }
}

std::vector<Call> neighbours(const Call& call) {
  std::vector<Call> calls;
  for (const std::int64_t size : sizes_of(call)) {
    calls.push_back(resized(call, size, 2 * size));
    if (size % 2 == 0) {
      calls.push_back(resized(call, size, size / 2));
    }
  }
  return calls;
}

}  // namespace understudy::calibrator
