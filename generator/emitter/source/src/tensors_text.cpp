#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "argument_text.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/model/unrecorded.h"
#include "foreign_text.h"
#include "names.h"
#include "step_parts.h"

namespace understudy::emitter {
namespace {

using et_schema::DType;
using et_schema::Instruction;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;

bool is_index(const Slot& slot) {
  return slot.value && et_schema::range_of(*slot.value);
}

/// By storage: true if it is older than the step and an operator or a communication changes it.
std::vector<bool> find_changed(const DataFlow& flow) {
  const Program& program = flow.program();
  std::vector<bool> changed(program.storages.size());
  for (const Instruction& instruction : program.instructions) {
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      const bool is_written =
          instruction.comm || (instruction.schema && et_schema::argument_is_written(
                                                         program.schemas[*instruction.schema], i));
      if (is_written) {
        et_schema::for_each_slot({instruction.args[i]}, [&](SlotId slot) {
          const StorageId storage = program.slots[slot].storage;
          changed[storage] = program.storages[storage].external;
        });
      }
    }
  }
  return changed;
}

class TensorsWriter {
 public:
  TensorsWriter(const DataFlow& flow, const std::vector<std::string>& words,
                const DeviceText& devices)
      : flow_(flow), words_(words), devices_(devices) {}

  TensorsText write(const std::set<SlotId>& kept) {
    find_used();
    std::vector<SlotId> all = used_;
    all.insert(all.end(), kept.begin(), kept.end());
    find_vectors();
    name_all(all);
    for (const SlotId slot : used_) {
      declare(slot, "");
    }
    declare_vectors();
    for (const SlotId slot : kept) {
      declare(slot, ", until the next step");
    }
    for (const SlotId slot : used_) {
      make(slot);
    }
    fill_vectors();
    write_changes();
    return std::move(text_);
  }

 private:
  [[nodiscard]] const Program& program() const { return flow_.program(); }

  /// Finds externals that are read, then parts of them with their own rule, then given tensors.
  void find_used() {
    std::set<SlotId> read;
    for (std::size_t at = 0; at < program().instructions.size(); ++at) {
      for (const SlotId slot : flow_.reads(at)) {
        if (program().slots[slot].external && can_be_made(program().slots[slot])) {
          read.insert(slot);
        }
      }
    }
    std::set<StorageId> storages;
    for (const SlotId slot : read) {
      storages.insert(program().slots[slot].storage);
    }
    used_.assign(read.begin(), read.end());
    for (SlotId slot = 0; slot < program().slots.size(); ++slot) {
      const Slot& layout = program().slots[slot];
      if (layout.external && layout.value && !read.contains(slot) &&
          storages.contains(layout.storage) && can_be_made(layout)) {
        used_.push_back(slot);
      }
    }
    for (SlotId slot = 0; slot < program().slots.size(); ++slot) {
      if (flow_.is_given(slot) && can_be_made(program().slots[slot])) {
        used_.push_back(slot);
      }
    }
  }

  /// Finds tensors to hold in lists: those that operators read.
  void find_vectors() {
    for (const Instruction& instruction : program().instructions) {
      for (const et_schema::Argument& argument : instruction.args) {
        const std::vector<SlotId> slots = long_list(argument);
        add_vector(slots, all_states(slots));
      }
    }
  }

  void add_vector(const std::vector<SlotId>& slots, bool is_alone) {
    const std::set<SlotId> distinct(slots.begin(), slots.end());
    const bool are_free = std::all_of(slots.begin(), slots.end(), [&](SlotId slot) {
      return std::find(used_.begin(), used_.end(), slot) != used_.end() &&
             !in_vector_.contains(slot);
    });
    if (!slots.empty() && distinct.size() == slots.size() && are_free) {
      in_vector_.insert(slots.begin(), slots.end());
      vectors_.push_back({vector_name(slots), slots, is_alone});
    }
  }

  [[nodiscard]] bool all_states(const std::vector<SlotId>& slots) const {
    return std::all_of(slots.begin(), slots.end(), [&](SlotId slot) {
      const Slot& layout = program().slots[slot];
      return layout.wrapped_number || program().storages[layout.storage].state;
    });
  }

  [[nodiscard]] std::string vector_name(const std::vector<SlotId>& slots) {
    std::set<std::string> words;
    for (const SlotId slot : slots) {
      words.insert(words_[slot]);
    }
    const auto are = [&](std::string_view suffix) {
      return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
        return word == fmt::format("weight{}", suffix) || word == fmt::format("bias{}", suffix);
      });
    };
    return vector_names_.take(are("")        ? "parameters"
                              : are("_grad") ? "gradients"
                                             : *words.begin() + "s");
  }

  void declare_vectors() {
    for (const Vector& vector : vectors_) {
      const std::string what =
          fmt::format("{}{}", vector.slots.size(), vector.is_alone ? "" : " of those above");
      text_.declarations.push_back(
          fmt::format("self.{} = [None] * {}  # {}", vector.name, vector.slots.size(), what));
    }
  }

  void fill_vectors() {
    for (const Vector& vector : vectors_) {
      std::vector<std::string> members;
      for (const SlotId slot : vector.slots) {
        members.push_back(member(slot));
      }
      const std::string all = fmt::format("{}", fmt::join(members, ", "));
      text_.vectors[all] = "t." + vector.name;
      if (!vector.is_alone) {
        text_.making.push_back(fmt::format("t.{} = [{}]", vector.name, all));
      }
    }
  }

  /// Numbers equal names: "weight1", "weight2".
  void name_all(const std::vector<SlotId>& slots) {
    std::set<std::string> taken;
    for (const Vector& vector : vectors_) {
      taken.insert(vector.name);
      for (std::size_t i = 0; vector.is_alone && i < vector.slots.size(); ++i) {
        text_.members[vector.slots[i]] = fmt::format("{}[{}]", vector.name, i);
      }
    }
    std::map<std::string, int> totals;
    for (const SlotId slot : slots) {
      totals[words_[slot]] += text_.members.contains(slot) ? 0 : 1;
    }
    std::map<std::string, int> given;
    for (const SlotId slot : slots) {
      if (text_.members.contains(slot)) {
        continue;
      }
      const std::string& word = words_[slot];
      std::string name = totals[word] == 1 ? word : fmt::format("{}{}", word, ++given[word]);
      while (!taken.insert(name).second) {
        name += "_";
      }
      text_.members[slot] = name;
    }
  }

  void declare(SlotId slot, const std::string& more) {
    const Slot& layout = program().slots[slot];
    if (text_.members[slot].ends_with(']')) {
      return;  // an element of a vector
    }
    const std::string what =
        fmt::format("{}[{}]{}", to_string(layout.dtype), fmt::join(layout.sizes, ", "), more);
    const std::string& name = text_.members[slot];
    text_.declarations.push_back(fmt::format("self.{} = None  # {}", name, what));
  }

  [[nodiscard]] std::string layout_text(const Slot& layout) const {
    const std::string text =
        fmt::format("{}, {}", dtype_text(layout.dtype), sizes_text(layout.sizes));
    if (is_contiguous(layout) && layout.offset == 0) {
      return text;
    }
    return fmt::format("{}, strides={}{}", text, sizes_text(layout.strides),
                       layout.offset == 0 ? "" : fmt::format(", offset={}", layout.offset));
  }

  void make(SlotId slot) {
    const Slot& layout = program().slots[slot];
    const et_schema::Storage& storage = program().storages[layout.storage];
    const std::string rule = layout.value ? ", rule=" + rule_of(slot, *layout.value) : "";
    const auto first = flow_.is_given(slot) ? first_of_.end() : first_of_.find(layout.storage);
    std::string call;
    if (layout.wrapped_number) {
      call = fmt::format("number({}, {}{})", slot, dtype_text(layout.dtype),
                         rule.empty() ? ", rule=bench.constant(1.0)" : rule);
    } else if (first != first_of_.end()) {
      call =
          fmt::format("view({}, {}, {}{})", slot, member(first->second), layout_text(layout), rule);
    } else {
      const bool is_whole =
          flow_.is_given(slot) || et_schema::extent_bytes(layout) == storage.bytes;
      const std::string place = devices_.of(storage.device);
      const bool is_plain = is_whole && place == "bench.device()";
      call = is_plain ? fmt::format("tensor({}, {}{})", slot, layout_text(layout), rule)
                      : make_elsewhere(slot, place, rule, is_whole ? 0 : storage.bytes);
    }
    if (!flow_.is_given(slot)) {
      first_of_.try_emplace(layout.storage, slot);
    }
    text_.making.push_back(fmt::format("{} = make.{}", member(slot), call));
  }

  /// Returns the rule's text. A long one (row frequencies can fill pages) becomes a function.
  std::string rule_of(SlotId slot, const et_schema::ValueRule& value) {
    constexpr std::size_t kLongest = 160;
    std::string text = rule_text(value);
    if (text.size() <= kLongest) {
      return text;
    }
    text_.long_rules.emplace_back("rows_of_" + identifier(text_.members.at(slot)), std::move(text));
    return text_.long_rules.back().first + "()";
  }

  [[nodiscard]] std::string make_elsewhere(SlotId slot, const std::string& place,
                                           const std::string& rule, std::int64_t bytes) const {
    const Slot& layout = program().slots[slot];
    return fmt::format("tensor({}, {}, {}{}, strides={}, offset={}, place={}, size_bytes={})", slot,
                       dtype_text(layout.dtype), sizes_text(layout.sizes), rule,
                       sizes_text(layout.strides), layout.offset,
                       place == "\"cpu\"" ? place : "None", bytes);
  }

  [[nodiscard]] std::string member(SlotId slot) const { return "t." + text_.members.at(slot); }

  void write_changes() {
    const std::vector<bool> changed = find_changed(flow_);
    std::vector<std::string> changes;
    std::vector<std::string> varies;
    std::map<StorageId, bool> all_index;
    for (const SlotId slot : used_) {
      const Slot& layout = program().slots[slot];
      all_index.try_emplace(layout.storage, true);
      all_index[layout.storage] = all_index[layout.storage] && is_index(layout);
    }
    for (const auto& [storage, first] : first_of_) {
      if (changed[storage]) {
        changes.push_back(member(first));
      } else if (all_index[storage]) {
        varies.push_back(member(first));
      }
    }
    const auto add = [this](const char* what, const std::vector<std::string>& names) {
      if (!names.empty()) {
        text_.making.push_back(fmt::format("make.{}({})", what, list_text(names)));
      }
    };
    add("changes", changes);
    add("varies", varies);
    add("zeros", zeros_of(changed));
    if (const et_schema::DType floats = et_schema::default_dtype(program());
        floats != et_schema::DType::kFloat32) {
      text_.making.push_back(fmt::format("make.default_dtype({})", dtype_text(floats)));
    }
  }

  /// Returns tensors and the share of zeros in the original, one for each storage that changes.
  [[nodiscard]] std::vector<std::string> zeros_of(const std::vector<bool>& changed) const {
    std::vector<std::string> zeros;
    std::set<StorageId> seen;
    for (const SlotId slot : used_) {
      const Slot& layout = program().slots[slot];
      const et_schema::Storage& storage = program().storages[layout.storage];
      const bool has_zeros = storage.zeros > 0 && storage.external && changed[layout.storage] &&
                             !flow_.is_given(slot) && et_schema::is_floating(layout.dtype) &&
                             is_contiguous(layout) &&
                             et_schema::extent_bytes(layout) == storage.bytes;
      if (has_zeros && seen.insert(layout.storage).second) {
        zeros.push_back(fmt::format("({}, {})", member(slot), storage.zeros));
      }
    }
    return zeros;
  }

  const DataFlow& flow_;
  const std::vector<std::string>& words_;
  const DeviceText& devices_;
  std::vector<SlotId> used_;
  std::map<StorageId, SlotId> first_of_;
  struct Vector {
    std::string name;
    std::vector<SlotId> slots;
    bool is_alone = false;  ///< its tensors have no members of their own
  };
  std::vector<Vector> vectors_;
  std::set<SlotId> in_vector_;
  NameBook vector_names_;
  TensorsText text_;
};

}  // namespace

bool can_be_made(const Slot& slot) {
  const bool is_quantised =
      slot.dtype == DType::kQInt8 || slot.dtype == DType::kQUInt8 || slot.dtype == DType::kQInt32;
  try {
    return !slot.sparse && !is_quantised && slot.dtype != DType::kUndefined &&
           !dtype_text(slot.dtype).empty();
  } catch (const CannotShow&) {
    return false;
  }
}

TensorsText write_tensors(const DataFlow& flow, const std::vector<std::string>& words,
                          const std::set<SlotId>& kept, const DeviceText& devices) {
  return TensorsWriter(flow, words, devices).write(kept);
}

}  // namespace understudy::emitter
