#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <variant>

#include "et_schema/model/bodies.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/operator_facts.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "program_sizes.h"

namespace understudy::generator {
namespace {

std::int64_t mapped(std::int64_t size, const SizeMap& sizes) {
  const auto found = sizes.find(size);
  return found == sizes.end() ? size : found->second;
}

void rewrite(Slot& slot, const SizeMap& sizes) {
  const auto order = dense_order(slot);
  const std::vector<std::int64_t> old_sizes = slot.sizes;
  for (std::int64_t& size : slot.sizes) {
    size = mapped(size, sizes);
  }
  if (!order || slot.sparse || slot.sizes == old_sizes) {
    return;
  }
  std::int64_t old_stride = 1;
  std::int64_t stride = 1;
  for (const std::size_t dim : *order) {
    // A dimension of one element may have any stride.
    const bool is_free = old_sizes[dim] == 1 && slot.strides[dim] != old_stride;
    if (slot.strides[dim] != 0) {
      slot.strides[dim] = is_free ? mapped(slot.strides[dim], sizes) : stride;
      old_stride *= old_sizes[dim];
      stride *= slot.sizes[dim];
    }
  }
}

__extension__ using Wide = __int128;

/// Bounds of what indexes rows. They grow with the size that they come from, and no bound outgrows
/// a size that it was below.
class Bounds {
 public:
  /// `present`: the sizes of all tensors.
  Bounds(const SizeMap& sizes, const std::set<std::int64_t>& present) {
    for (const std::int64_t size : present) {
      grown_[size] = std::max(size, mapped(size, sizes));
    }
  }
  /// What a bound of a range becomes, as what lies within the range does: proportionally.
  [[nodiscard]] std::int64_t of(std::int64_t bound, std::int64_t end) const {
    const auto above = grown_.lower_bound(end);
    if (above == grown_.end() || bound <= 0) {
      return bound;
    }
    std::int64_t most = above->second;
    for (auto size = above; size != grown_.end(); ++size) {
      most = std::min(most, size->second);
    }
    const std::int64_t grown = std::min(scaled(end, above->second, above->first), most);
    return scaled(bound, grown, end);
  }

 private:
  static std::int64_t scaled(std::int64_t number, std::int64_t by, std::int64_t of) {
    return static_cast<std::int64_t>(static_cast<Wide>(number) * by / of);
  }

  std::map<std::int64_t, std::int64_t> grown_;  ///< size → itself or the larger one it becomes
};

class Rewriter {
 public:
  Rewriter(Program& program, const SizeMap& sizes, const std::set<std::int64_t>& present)
      : program_(program), sizes_(sizes), bounds_(sizes, present) {}

  void rewrite_all() {
    for (Slot& slot : program_.slots) {
      rewrite(slot, sizes_);
      if (slot.value) {
        rewrite_rule(*slot.value);
      }
      if (slot.content) {
        std::ranges::for_each(slot.content->indices, [this](auto& rule) { rewrite_rule(rule); });
      }
    }
    rewrite_storages();
    for (Instruction& instruction : program_.instructions) {
      rewrite_instruction(instruction);
      if (instruction.timing) {
        instruction.timing->page_faults.reset();
      }
    }
    program_.heap_blocks.clear();
    if (program_.profile) {
      program_.profile->minor_faults.reset();
      program_.profile->profiled_minor_faults.reset();
    }
  }

 private:
  /// Rows and classes; how often each of them repeats stays.
  void rewrite_rule(et_schema::ValueRule& rule) const {
    if (auto* integers = rule.as<et_schema::ValueRule::Integers>()) {
      rewrite_range(*integers, integers->high);
    } else if (auto* reused = rule.as<et_schema::ValueRule::ReusedIntegers>()) {
      const std::int64_t end = reused->high;
      rewrite_range(*reused, end);
      for (et_schema::ReuseBin& bin : reused->reuse.bins) {
        rewrite_range(bin, end);
      }
    } else if (auto* targets = rule.as<et_schema::ValueRule::Targets>()) {
      targets->ignore_index = index_in(targets->ignore_index);
      targets->classes = mapped(targets->classes, sizes_);
    } else if (auto* constant = rule.as<et_schema::ValueRule::Constant>()) {
      constant->value = number(constant->value);
    }
  }

  /// `end`: of the whole range.
  template <typename Range>
  void rewrite_range(Range& range, std::int64_t end) const {
    range.low = bounds_.of(range.low, end);
    range.high = bounds_.of(range.high, end);
  }

  /// One row among others: the one that is never updated, the class that does not count.
  [[nodiscard]] std::int64_t index_in(std::int64_t index) const {
    return index > 0 ? bounds_.of(index + 1, index + 1) - 1 : index;
  }

  /// A real number that is a size: what a sum was divided by.
  [[nodiscard]] double number(double value) const {
    const auto size = std::abs(value) < kMostExact ? static_cast<std::int64_t>(value) : 0;
    return static_cast<double>(size) == value ? static_cast<double>(mapped(size, sizes_)) : value;
  }

  void rewrite_storages() {
    std::vector<std::int64_t> extents(program_.storages.size());
    for (const Slot& slot : program_.slots) {
      if (!slot.sparse) {
        extents[slot.storage] = std::max(extents[slot.storage], et_schema::extent_bytes(slot));
      }
    }
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] > 0) {
        program_.storages[i].bytes = extents[i];
      }
    }
  }

  void rewrite_instruction(Instruction& instruction) {
    for (Instruction& below : instruction.body) {
      rewrite_instruction(below);
    }
    if (!instruction.schema || instruction.kind != et_schema::InstructionKind::kOp) {
      return;
    }
    const auto arguments = et_schema::arguments_of(program_.schemas[*instruction.schema]);
    for (std::size_t i = 0; i < std::min(arguments.size(), instruction.args.size()); ++i) {
      auto* index = std::get_if<std::int64_t>(&instruction.args[i].value);
      auto* real = std::get_if<double>(&instruction.args[i].value);
      if (et_schema::is_size_argument(arguments[i].name)) {
        for_each_integer(instruction.args[i],
                         [this](std::int64_t& number) { number = mapped(number, sizes_); });
      } else if (index != nullptr &&
                 (arguments[i].name == "padding_idx" || arguments[i].name == "ignore_index")) {
        *index = index_in(*index);
      } else if (real != nullptr) {
        *real = number(*real);
      } else if (arguments[i].name == "stride" &&
                 et_schema::operator_facts(instruction.name).takes_strides &&
                 !instruction.results.empty()) {
        rewrite_strides(instruction, instruction.args[i]);
      }
    }
  }

  /// Strides that an operator was given are those of its result.
  void rewrite_strides(const Instruction& instruction, Argument& argument) const {
    const auto* slot = std::get_if<Argument::SlotRef>(&instruction.results.front().value);
    auto* list = std::get_if<Argument::List>(&argument.value);
    if (slot == nullptr || list == nullptr) {
      return;
    }
    const std::vector<std::int64_t>& strides = program_.slots[slot->id].strides;
    for (std::size_t i = 0; i < std::min(strides.size(), list->size()); ++i) {
      (*list)[i].value = strides[i];
    }
  }

  static constexpr double kMostExact = 9e15;  // whole numbers below are whole as doubles

  Program& program_;
  const SizeMap& sizes_;
  Bounds bounds_;
};

double elements_at(const Program& program, const Argument& argument) {
  const auto* slot = std::get_if<Argument::SlotRef>(&argument.value);
  return slot == nullptr ? 0 : static_cast<double>(element_count(program.slots[slot->id]));
}

/// Each row of the input meets each weight of each layer and direction.
double recurrent_flops(const Program& program, const Instruction& instruction) {
  const auto* input = instruction.args.empty()
                          ? nullptr
                          : std::get_if<Argument::SlotRef>(&instruction.args.front().value);
  if (input == nullptr || !instruction.schema) {
    return 0;
  }
  const Slot& rows = program.slots[input->id];
  const auto arguments = et_schema::arguments_of(program.schemas[*instruction.schema]);
  std::vector<Argument> weights;
  for (std::size_t i = 0; i < std::min(arguments.size(), instruction.args.size()); ++i) {
    const std::string_view name = arguments[i].name;
    if (name == "params" || name.starts_with("weight") || name.starts_with("w_")) {
      weights.push_back(instruction.args[i]);
    }
  }
  double products = 0;
  et_schema::for_each_slot(weights, [&](SlotId slot) {
    const Slot& weight = program.slots[slot];
    products += weight.sizes.size() == 2 ? static_cast<double>(element_count(weight)) : 0;
  });
  const bool has_rows = !rows.sizes.empty() && rows.sizes.back() > 0;
  const std::int64_t count = has_rows ? element_count(rows) / rows.sizes.back() : 0;
  const bool is_backward = instruction.name.find("backward") != std::string::npos;
  return (is_backward ? 4 : 2) * products * static_cast<double>(count);
}

/// Twice the multiplications: of a product, the result's elements times the inner size; of a
/// convolution, times a filter's elements; of a recurrent layer, an input's rows times the weights.
double flops_of(const Program& program, const Instruction& instruction) {
  const std::string_view op_class = et_schema::op_class(instruction.name);
  const bool is_conv = op_class == "convolution";
  if (op_class == "recurrent") {
    return recurrent_flops(program, instruction);
  }
  if ((op_class != "matmul" && !is_conv) || instruction.results.empty()) {
    return 0;
  }
  std::vector<const Slot*> tensors;
  et_schema::for_each_slot(instruction.args,
                           [&](SlotId slot) { tensors.push_back(&program.slots[slot]); });
  const bool adds = instruction.name.find("addmm") != std::string::npos;
  const std::size_t first = adds ? 1 : 0;
  if (tensors.size() < first + 2 || tensors[first]->sizes.empty()) {
    return 0;
  }
  if (!is_conv) {
    return 2 * elements_at(program, instruction.results.front()) *
           static_cast<double>(tensors[first]->sizes.back());
  }
  const bool is_backward = instruction.name.find("backward") != std::string::npos;
  const Slot& weight = *tensors[is_backward ? std::min<std::size_t>(2, tensors.size() - 1) : 1];
  const double outputs = is_backward ? static_cast<double>(element_count(*tensors.front()))
                                     : elements_at(program, instruction.results.front());
  const double filter = weight.sizes.empty() || weight.sizes.front() == 0
                            ? 0
                            : static_cast<double>(element_count(weight) / weight.sizes.front());
  return (is_backward ? 4 : 2) * outputs * filter;
}

}  // namespace

std::int64_t elements_of(const std::vector<std::int64_t>& shape, const SizeMap& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    count *= mapped(size, sizes);
  }
  return count;
}

std::optional<std::vector<std::size_t>> dense_order(const Slot& slot) {
  if (slot.strides.size() != slot.sizes.size()) {
    return std::nullopt;
  }
  std::vector<std::size_t> order(slot.sizes.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  // Dimensions of one element lie anywhere; they stay where they are among their neighbours.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slot.strides[a] < slot.strides[b]; });
  std::int64_t expected = 1;
  for (const std::size_t dim : order) {
    if (slot.strides[dim] == 0 || slot.sizes[dim] == 1) {
      continue;
    }
    if (slot.strides[dim] != expected) {
      return std::nullopt;
    }
    expected *= slot.sizes[dim];
  }
  return order;
}

void rewrite_sizes(Program& program, const SizeMap& sizes, const std::set<std::int64_t>& present) {
  Rewriter(program, sizes, present).rewrite_all();
}

Work work_of(const et_schema::Bench& bench) {
  Work work;
  for (const Program& program : bench.programs) {
    for (const Instruction& instruction : program.instructions) {
      work.flops += flops_of(program, instruction);
      for (const SlotId slot : et_schema::all_slots_of(instruction)) {
        const Slot& layout = program.slots[slot];
        work.bytes +=
            static_cast<double>(element_count(layout) * et_schema::item_size(layout.dtype));
      }
    }
  }
  return work;
}

}  // namespace understudy::generator
