#include "et_schema/model/sparse_content.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {
namespace {

const SlotId* slot_at(const Instruction& instruction, std::size_t argument) {
  if (argument >= instruction.args.size()) {
    return nullptr;
  }
  const auto* slot = std::get_if<Argument::SlotRef>(&instruction.args[argument].value);
  return slot == nullptr ? nullptr : &slot->id;
}

/// Returns the argument with this name or, without a schema, the argument at `otherwise`.
const SlotId* slot_named(const Program& program, const Instruction& instruction,
                         std::string_view name, std::size_t otherwise) {
  if (!instruction.schema) {
    return slot_at(instruction, otherwise);
  }
  const int index = argument_index(program.schemas[*instruction.schema], name);
  return index < 0 ? nullptr : slot_at(instruction, static_cast<std::size_t>(index));
}

bool makes(const Instruction& instruction, SlotId slot) {
  bool found = false;
  for_each_slot(instruction.results, [&](SlotId result) { found = found || result == slot; });
  return found;
}

/// Multiplies sizes from files, which may be invalid: the product is at most 9e18, more than any
/// tensor has.
std::int64_t product(std::int64_t first, std::span<const std::int64_t> sizes) {
  constexpr double kMost = 9e18;
  auto all = static_cast<double>(first);
  for (const std::int64_t size : sizes) {
    all *= static_cast<double>(size);
  }
  return static_cast<std::int64_t>(std::min(all, kMost));
}

bool are_below(const ValueRule& rule, std::int64_t end) {
  const auto* integers = rule.as<ValueRule::Integers>();
  const auto* reused = rule.as<ValueRule::ReusedIntegers>();
  return (integers != nullptr && integers->high <= end) ||
         (reused != nullptr && reused->high <= end);
}

/// Returns content with this number of elements. If it has one sparse dimension, its indices follow
/// the value rule of an external with the storage of `indices`, if any. Else they are uniform.
SparseContent content_of(const Program& program, SlotId sparse, std::size_t dimensions,
                         std::int64_t elements, const SlotId* indices) {
  SparseContent content;
  content.elements = elements;
  const Slot& slot = program.slots[sparse];
  for (std::size_t dim = 0; dim < std::min(dimensions, slot.sizes.size()); ++dim) {
    content.indices.push_back({ValueRule::Integers{.high = slot.sizes[dim]}});
  }
  if (indices == nullptr || content.indices.size() != 1) {
    return content;
  }
  const auto external = std::ranges::find_if(program.slots, [&](const Slot& other) {
    return other.storage == program.slots[*indices].storage && other.value &&
           are_below(*other.value, slot.sizes.front());
  });
  if (external != program.slots.end()) {
    content.indices.front() = *external->value;
  }
  return content;
}

/// Returns the content by COO indices: a row per dimension, a column per element.
std::optional<SparseContent> content_at(const Program& program, SlotId sparse,
                                        const SlotId* indices) {
  if (indices == nullptr || program.slots[*indices].sizes.size() != 2) {
    return std::nullopt;
  }
  const std::vector<std::int64_t>& sizes = program.slots[*indices].sizes;
  return content_of(program, sparse, static_cast<std::size_t>(sizes[0]), sizes[1], indices);
}

/// Returns the content of `sparse` as its maker shows it. Sets `made_from` to the maker's sparse
/// argument, if any.
std::optional<SparseContent> content_made(const Program& program, const Instruction& instruction,
                                          SlotId sparse, const SlotId*& made_from) {
  const std::string_view op = without_overload(instruction.name);
  if (op.find("sparse_coo_tensor") != std::string_view::npos) {
    return content_at(program, sparse, slot_named(program, instruction, "indices", 0));
  }
  if (op.ends_with("embedding_sparse_backward") || op == "aten::embedding_backward" ||
      op == "aten::_embedding_bag_sparse_backward") {
    constexpr std::size_t kIndicesOfLookup = 1;
    const SlotId* indices = slot_named(program, instruction, "indices", kIndicesOfLookup);
    return indices == nullptr
               ? std::nullopt
               : std::optional(content_of(program, sparse, 1,
                                          product(1, program.slots[*indices].sizes), indices));
  }
  for (std::size_t i = 0; i < instruction.args.size(); ++i) {
    const SlotId* argument = slot_at(instruction, i);
    if (argument != nullptr && program.slots[*argument].sparse && *argument != sparse) {
      made_from = argument;
      break;
    }
  }
  return std::nullopt;
}

/// Returns the content if the instruction splits off the indices of `sparse`, its first argument.
std::optional<SparseContent> content_taken(const Program& program, const Instruction& instruction) {
  const auto* result = instruction.results.size() == 1
                           ? std::get_if<Argument::SlotRef>(&instruction.results.front().value)
                           : nullptr;
  if (result == nullptr || operator_facts(instruction.name).part != SparsePart::kIndices) {
    return std::nullopt;
  }
  return content_at(program, *slot_at(instruction, 0), &result->id);
}

}  // namespace

std::optional<SparseContent> sparse_content(const Program& program, SlotId sparse) {
  // Each round follows one operator from a sparse tensor to the sparse tensor that it was made
  // from.
  for (std::size_t steps = 0; steps <= program.instructions.size(); ++steps) {
    if (!program.slots[sparse].sparse) {
      return std::nullopt;
    }
    if (program.slots[sparse].content) {
      return program.slots[sparse].content;
    }
    const SlotId* made_from = nullptr;
    for (const Instruction& instruction : program.instructions) {
      std::optional<SparseContent> content;
      if (makes(instruction, sparse)) {
        content = content_made(program, instruction, sparse, made_from);
      } else if (const SlotId* self = slot_at(instruction, 0); self != nullptr && *self == sparse) {
        content = content_taken(program, instruction);
      }
      if (content) {
        return content;
      }
    }
    if (made_from == nullptr) {
      return std::nullopt;
    }
    sparse = *made_from;
  }
  return std::nullopt;
}

std::int64_t stored_values(const Slot& slot, const SparseContent& content) {
  const std::size_t sparse = std::min(content.indices.size(), slot.sizes.size());
  return product(content.elements, std::span(slot.sizes).subspan(sparse));
}

}  // namespace understudy::et_schema
