#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <vector>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/open_comms.h"
#include "et_schema/model/slot_extent.h"
#include "foreign_text.h"
#include "step_text.h"

namespace understudy::emitter {
namespace {

using et_schema::CommInfo;
using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::slots_of;

std::string_view kind_name(CommKind kind) {
  const std::string_view name = et_schema::traits(kind).type_name;
  if (name.empty()) {
    throw CannotShow{"a communication that sends nothing"};
  }
  return name;
}

/// Converts recorded splits, which are rows of dimension 0 or elements, to elements.
std::vector<std::int64_t> in_elements(const Program& program,
                                      const std::vector<std::int64_t>& splits,
                                      const std::vector<SlotId>& slots) {
  if (splits.empty() || slots.size() != 1) {
    return {};
  }
  const auto& sizes = program.slots[slots.front()].sizes;
  const std::int64_t all = et_schema::element_count(sizes);
  const std::int64_t rows = sizes.empty() ? 1 : sizes.front();
  const std::int64_t sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  if (sum == all) {
    return splits;
  }
  if (sum != rows || rows == 0) {
    throw CannotShow{"splits that do not add up to the tensor they split"};
  }
  std::vector<std::int64_t> elements = splits;
  for (std::int64_t& split : elements) {
    split *= all / rows;
  }
  return elements;
}

}  // namespace

std::string communicate_text(const Program& program, const Instruction& instruction,
                             const Variables& variables) {
  const CommInfo& info = *instruction.comm;
  std::vector<std::string> parts;
  const auto add = [&](const char* field, const std::string& value) {
    parts.push_back(fmt::format("{}={}", field, value));
  };
  const auto tensors = [&](const std::vector<SlotId>& slots) {
    std::vector<std::string> names;
    std::ranges::transform(slots, std::back_inserter(names), variables);
    return list_text(names);
  };
  const std::vector<SlotId> inputs = slots_of(instruction, 0);
  const std::vector<SlotId> outputs = slots_of(instruction, 1);
  add("kind", fmt::format("\"{}\"", kind_name(info.kind)));
  add("group", fmt::format("{}", info.group));
  if (!inputs.empty()) {
    add("inputs", tensors(inputs));
  }
  if (!outputs.empty()) {
    add("outputs", tensors(outputs));
  }
  if (info.root_or_peer != 0) {
    add("root_or_peer", fmt::format("{}", info.root_or_peer));
  }
  if (et_schema::traits(info.kind).sizes == et_schema::CommSizes::kSplits) {
    add("in_splits", sizes_text(in_elements(program, info.in_splits, inputs)));
    add("out_splits", sizes_text(in_elements(program, info.out_splits, outputs)));
  }
  if (info.reduce_op != "sum") {
    add("reduce", text_literal(info.reduce_op));
  }
  return bench_text("communicate", parts);
}

std::string empty_text(const et_schema::Slot& layout) {
  return fmt::format("torch.empty_strided({}, {}, dtype={}, device=device)",
                     sizes_text(layout.sizes), sizes_text(layout.strides),
                     dtype_text(layout.dtype));
}

}  // namespace understudy::emitter
