#include <algorithm>
#include <numeric>

#include "et_schema/formats/call_results/call_results.h"

namespace understudy::et_schema {
namespace {

/// Far below 2^63: no sum over elements' bytes, or over the 2^17 ranks of a job, overflows.
constexpr std::int64_t kMost = std::int64_t{1} << 44;

bool is_negative(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                 std::int64_t offset) {
  const auto is_below = [](std::int64_t number) { return number < 0; };
  return is_below(offset) || std::ranges::any_of(sizes, is_below) ||
         std::ranges::any_of(strides, is_below);
}

bool is_layout(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
               std::int64_t offset) {
  if (is_negative(sizes, strides, offset) || offset > kMost ||
      (!strides.empty() && strides.size() != sizes.size())) {
    return false;
  }
  std::int64_t elements = 1;
  std::int64_t last = offset;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const std::int64_t size = std::max<std::int64_t>(sizes[dim], 1);
    const std::int64_t stride = strides.empty() ? 0 : strides[dim];
    if (size > kMost / elements || (stride > 0 && size - 1 > (kMost - last) / stride)) {
      return false;
    }
    elements *= size;
    last += (size - 1) * stride;
  }
  return true;
}

/// For each tensor among the arguments, in order, whether it is defined.
void add_tensors(const std::vector<Argument>& arguments, std::vector<bool>& defined) {
  for (const Argument& argument : arguments) {
    const bool is_defined = std::holds_alternative<Argument::SlotRef>(argument.value);
    if (is_defined || std::holds_alternative<Argument::Undefined>(argument.value)) {
      defined.push_back(is_defined);
    } else if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
      add_tensors(*list, defined);
    }
  }
}

}  // namespace

bool fits(const CallResults& results, const Instruction& call) {
  std::vector<bool> inputs;
  add_tensors(call.args, inputs);
  const auto is_input = [&](int number) {
    return number < 0 || (static_cast<std::size_t>(number) < inputs.size() &&
                          inputs[static_cast<std::size_t>(number)]);
  };
  const auto in_lists =
      std::accumulate(results.list_sizes.begin(), results.list_sizes.end(), std::size_t{0});
  return in_lists <= results.tensors.size() &&
         (results.why_not.empty() || (results.tensors.empty() && results.list_sizes.empty())) &&
         std::ranges::all_of(results.tensors, [&](const ResultTensor& tensor) {
           return is_input(tensor.storage_of) && is_input(tensor.same_as) &&
                  is_layout(tensor.sizes, tensor.strides, tensor.offset_from);
         });
}

bool fits(const OtherSize& other, const Program& program,
          std::span<const Instruction* const> calls) {
  if (other.step > 0 && std::max({other.step, other.offset, other.number}) > kMost) {
    return false;
  }
  if (other.slot) {
    return *other.slot < program.slots.size() &&
           (!other.refused.empty() ||
            (other.sizes.size() == program.slots[*other.slot].sizes.size() &&
             other.strides.size() == other.sizes.size() &&
             !is_negative(other.sizes, other.strides, other.offset)));
  }
  if (other.known) {
    return true;
  }
  if (!other.instruction || *other.instruction >= calls.size() || !other.argument) {
    return other.instruction && *other.instruction < calls.size() && !other.item;
  }
  const std::vector<Argument>& args = calls[*other.instruction]->args;
  if (*other.argument >= args.size()) {
    return false;
  }
  const Argument* argument = &args[*other.argument];
  if (other.item) {
    const auto* list = std::get_if<Argument::List>(&argument->value);
    argument = list != nullptr && *other.item < list->size() ? &(*list)[*other.item] : nullptr;
  }
  return argument != nullptr && std::holds_alternative<std::int64_t>(argument->value);
}

}  // namespace understudy::et_schema
