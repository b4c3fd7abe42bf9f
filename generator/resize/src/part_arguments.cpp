
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "generator/flow/model_names.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Updates an instruction's arguments to its tensors' new sizes.
class Call {
 public:
  Call(const Program& recorded, const Program& scaled, const std::optional<RankPart>& part,
       Instruction& instruction)
      : recorded_(recorded.slots),
        scaled_(scaled.slots),
        part_(part),
        instruction_(instruction),
        names_(et_schema::argument_names(recorded.schemas[*instruction.schema])),
        op_(et_schema::base_name(instruction.name)),
        inputs_(et_schema::slots_in(instruction.args)),
        results_(et_schema::slots_in(instruction.results)) {}

  void scale() {
    for (std::size_t i = 0; i < std::min(names_.size(), instruction_.args.size()); ++i) {
      if (auto* list = std::get_if<Argument::List>(&instruction_.args[i].value)) {
        scale_list(names_[i], *list);
        if (part_ && names_[i].ends_with("split_sizes")) {
          change_splits(*list);
        }
      } else if (auto* number = std::get_if<std::int64_t>(&instruction_.args[i].value)) {
        scale_number(names_[i], *number);
        if (part_) {
          change_number(names_[i], *number);
        }
      }
    }
  }

 private:
  void scale_list(std::string_view name, Argument::List& list) {
    if (results_.empty()) {
      return;
    }
    const Slot& was = recorded_[results_.front()];
    const Slot& is = scaled_[results_.front()];
    if (op_ == "unflatten" && name == "sizes") {
      const std::size_t from = dimension(was);
      follow(list, was.sizes, is.sizes, from);
    } else if (name == "split_sizes") {
      follow_parts(list);
    } else if (et_schema::is_size_argument(name)) {
      follow(list, was.sizes, is.sizes, 0);
    } else if (name == "stride" && et_schema::operator_facts(instruction_.name).takes_strides) {
      follow(list, was.strides, is.strides, 0);
    }
  }

  /// Updates a list that equals the recorded numbers from one dimension on; -1 matches any number.
  static void follow(Argument::List& list, const Numbers& was, const Numbers& is,
                     std::size_t from) {
    const auto said = [&list](std::size_t i) { return std::get_if<std::int64_t>(&list[i].value); };
    if (from + list.size() > was.size()) {
      return;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (said(i) == nullptr || (*said(i) != -1 && *said(i) != was[from + i])) {
        return;
      }
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      *said(i) = *said(i) == -1 ? -1 : is[from + i];
    }
  }

  void follow_parts(Argument::List& list) {
    for (std::size_t i = 0; i < std::min(list.size(), results_.size()); ++i) {
      const std::size_t dim = dimension(recorded_[results_[i]]);
      if (auto* number = std::get_if<std::int64_t>(&list[i].value);
          number != nullptr && dim < scaled_[results_[i]].sizes.size()) {
        *number = scaled_[results_[i]].sizes[dim];
      }
    }
  }

  void scale_number(std::string_view name, std::int64_t& number) {
    if ((op_ == "split" || op_ == "unsafe_split") && name == "split_size") {
      follow_size(results_, dimension_of(results_), number);
    } else if (op_ == "narrow" && name == "length") {
      follow_size(inputs_, dimension_of(inputs_), number);
    }
  }

  /// Updates splits: for all_gather_copy_in the elements of its arguments, for
  /// split_with_sizes_copy the columns of its outputs.
  void change_splits(Argument::List& list) {
    const bool gathers = instruction_.name == kCopiesShardsIn;
    const std::size_t first = gathers ? 0 : 1;
    if (!gathers && op_ != "split_with_sizes_copy") {
      return;
    }
    for (std::size_t i = 0; i < list.size() && first + i < inputs_.size(); ++i) {
      const Slot& slot = scaled_[inputs_[first + i]];
      list[i].value = gathers ? et_schema::element_count(slot) : slot.sizes.back();
    }
  }

  /// Updates a number that depends on the rank's part, not on the batch.
  void change_number(std::string_view name, std::int64_t& number) {
    if (name == "num_chunks") {
      number = part_->ranks;
    } else if (name == "rank" && instruction_.name == kCopiesShardsIn) {
      number = part_->position;
    } else if (results_.empty()) {
      return;
    } else if (name == "all_gather_input_numel") {
      number = et_schema::element_count(scaled_[results_.front()]);
    } else if (name == "storage_offset" && number == recorded_[results_.front()].offset) {
      number = scaled_[results_.front()].offset;
    } else if ((op_ == "narrow" || op_ == "slice") && !inputs_.empty()) {
      change_selection(name, number);
    }
  }

  /// Updates a number along the dimension whose size or offset changed.
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

  void follow_size(const std::vector<SlotId>& slots, std::size_t dim, std::int64_t& number) {
    if (!slots.empty() && dim < recorded_[slots.front()].sizes.size() &&
        recorded_[slots.front()].sizes[dim] == number) {
      number = scaled_[slots.front()].sizes[dim];
    }
  }

  [[nodiscard]] std::int64_t number_named(std::string_view name, std::int64_t standard) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
    const auto* number = at < instruction_.args.size()
                             ? std::get_if<std::int64_t>(&instruction_.args[at].value)
                             : nullptr;
    return number == nullptr ? standard : *number;
  }

  /// Returns the dimension of a tensor that the call's `dim` names.
  [[nodiscard]] std::size_t dimension(const Slot& tensor) const {
    const auto rank = static_cast<std::int64_t>(tensor.sizes.size());
    const std::int64_t dim = number_named("dim", 0);
    return static_cast<std::size_t>(std::clamp<std::int64_t>(dim < 0 ? dim + rank : dim, 0,
                                                             std::max<std::int64_t>(rank - 1, 0)));
  }
  [[nodiscard]] std::size_t dimension_of(const std::vector<SlotId>& slots) const {
    return slots.empty() ? 0 : dimension(recorded_[slots.front()]);
  }

  const std::vector<Slot>& recorded_;
  const std::vector<Slot>& scaled_;
  const std::optional<RankPart>& part_;
  Instruction& instruction_;
  std::vector<std::string_view> names_;
  std::string_view op_;
  std::vector<SlotId> inputs_;
  std::vector<SlotId> results_;
};

}  // namespace

void scale_arguments(const Program& recorded, const Program& scaled, Instruction& instruction,
                     const std::optional<RankPart>& part) {
  if (instruction.schema) {
    Call(recorded, scaled, part, instruction).scale();
  }
}

}  // namespace understudy::generator
