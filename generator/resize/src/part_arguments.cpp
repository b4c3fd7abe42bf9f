#include "part_arguments.h"

#include <algorithm>
#include <vector>

#include "et_schema/model/operator_facts.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/slot_extent.h"

namespace understudy::generator {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

class PartArguments {
 public:
  PartArguments(const Program& recorded, const Program& scaled, Instruction& instruction)
      : recorded_(recorded.slots),
        scaled_(scaled.slots),
        instruction_(instruction),
        names_(et_schema::argument_names(recorded.schemas[*instruction.schema])),
        inputs_(et_schema::slots_in(instruction.args)),
        results_(et_schema::slots_in(instruction.results)) {}

  void change(std::int64_t ranks, std::int64_t position) {
    for (std::size_t i = 0; i < std::min(names_.size(), instruction_.args.size()); ++i) {
      auto& value = instruction_.args[i].value;
      if (auto* list = std::get_if<Argument::List>(&value);
          list && names_[i].ends_with("split_sizes")) {
        change_splits(*list);
      } else if (auto* number = std::get_if<std::int64_t>(&value)) {
        change_number(names_[i], *number, ranks, position);
      }
    }
  }

 private:
  /// Of all_gather_copy_in its arguments' elements; of split_with_sizes_copy the columns of what it
  /// copies to.
  void change_splits(Argument::List& list) {
    const bool gathers = instruction_.name == kCopiesShardsIn;
    const std::size_t first = gathers ? 0 : 1;
    if (!gathers && et_schema::base_name(instruction_.name) != "split_with_sizes_copy") {
      return;
    }
    for (std::size_t i = 0; i < list.size() && first + i < inputs_.size(); ++i) {
      const Slot& slot = scaled_[inputs_[first + i]];
      list[i].value = gathers ? et_schema::element_count(slot) : slot.sizes.back();
    }
  }

  void change_number(std::string_view name, std::int64_t& number, std::int64_t ranks,
                     std::int64_t position) {
    const std::string_view op = et_schema::base_name(instruction_.name);
    if (name == "num_chunks") {
      number = ranks;
    } else if (name == "all_gather_input_numel" && !results_.empty()) {
      number = et_schema::element_count(scaled_[results_.front()]);
    } else if (name == "rank" && instruction_.name == kCopiesShardsIn) {
      number = position;
    } else if (name == "storage_offset" && !results_.empty() &&
               number == recorded_[results_.front()].offset) {
      number = scaled_[results_.front()].offset;
    } else if ((op == "narrow" || op == "slice") && !results_.empty() && !inputs_.empty()) {
      change_selection(name, number);
    }
  }

  /// Along the dimension whose size or place is another one.
  void change_selection(std::string_view name, std::int64_t& number) {
    const Slot& was = recorded_[results_.front()];
    const Slot& is = scaled_[results_.front()];
    const Slot& in = scaled_[inputs_.front()];
    std::size_t dim = 0;
    while (dim + 1 < was.sizes.size() && was.sizes[dim] == is.sizes[dim]) {
      ++dim;
    }
    const std::int64_t stride = in.strides.empty() ? 1 : std::max<std::int64_t>(in.strides[dim], 1);
    const std::int64_t start = (is.offset - in.offset) / stride;
    if (name == "start") {
      number = start;
    } else if (name == "length") {
      number = is.sizes[dim];
    } else if (name == "end" && number <= recorded_[inputs_.front()].sizes[dim]) {
      number = start + is.sizes[dim];
    }
  }

  const std::vector<Slot>& recorded_;
  const std::vector<Slot>& scaled_;
  Instruction& instruction_;
  std::vector<std::string_view> names_;
  std::vector<SlotId> inputs_;
  std::vector<SlotId> results_;
};

}  // namespace

void change_part_arguments(const Program& recorded, const Program& scaled, std::int64_t ranks,
                           std::int64_t position, Instruction& instruction) {
  PartArguments(recorded, scaled, instruction).change(ranks, position);
}

}  // namespace understudy::generator
