#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "et_schema/facts/schema_text.h"
#include "et_schema/model/dtype.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/model/unrecorded.h"
#include "step_text.h"

namespace understudy::emitter {
namespace {

using et_schema::DType;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::Storage;
using et_schema::StorageId;

bool is_index(const Slot& slot) {
  return slot.value && et_schema::range_of(*slot.value);
}

/// By storage: true if it is older than the step and an operator or a communication changes it.
std::vector<bool> find_changed(const Program& program) {
  std::vector<bool> changed(program.storages.size());
  for (const et_schema::Instruction& instruction : program.instructions) {
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
  TensorsWriter(const Program& program, const DeviceText& devices)
      : program_(program), devices_(devices) {}

  std::vector<std::string> write(const std::set<SlotId>& read) {
    find_made(read);
    for (const SlotId slot : made_) {
      make(slot);
    }
    write_changes();
    return std::move(lines_);
  }

 private:
  [[nodiscard]] const Slot& slot_at(SlotId slot) const { return program_.slots[slot]; }
  [[nodiscard]] const Storage& storage_of(SlotId slot) const {
    return program_.storages[slot_at(slot).storage];
  }
  [[nodiscard]] std::string variable(SlotId slot) const { return variable_before(program_, slot); }

  /// Externals that are read, then parts of them with their own rule, then tensors in place of
  /// results.
  void find_made(const std::set<SlotId>& read) {
    std::vector<SlotId> given;
    std::set<StorageId> storages;
    for (const SlotId slot : read) {
      (slot_at(slot).external ? made_ : given).push_back(slot);
      storages.insert(slot_at(slot).storage);
    }
    for (SlotId slot = 0; slot < program_.slots.size(); ++slot) {
      const Slot& layout = slot_at(slot);
      if (layout.external && layout.value && !read.contains(slot) &&
          storages.contains(layout.storage) && can_be_made(layout)) {
        made_.push_back(slot);
      }
    }
    made_.insert(made_.end(), given.begin(), given.end());
  }

  void make(SlotId slot) {
    const Slot& layout = slot_at(slot);
    std::vector<std::string> arguments = {fmt::format("{}", slot), dtype_text(layout.dtype)};
    const auto add = [&](bool is_told, const char* name, const std::string& text) {
      if (is_told) {
        arguments.push_back(fmt::format("{}={}", name, text));
      }
    };
    const char* function = "number";
    if (layout.wrapped_number) {
      arguments.push_back(layout.value ? rule_text(*layout.value) : "bench.constant(1.0)");
    } else {
      const auto [first, is_first] = layout.external ? first_of_.try_emplace(layout.storage, slot)
                                                     : std::pair(first_of_.end(), true);
      function = is_first ? "tensor" : "view";
      if (!is_first) {
        arguments.insert(arguments.begin() + 1, variable(first->second));
      }
      arguments.push_back(sizes_text(layout.sizes));
      add(layout.value.has_value(), "rule", layout.value ? rule_text(*layout.value) : "");
      add(!is_contiguous(layout), "strides", sizes_text(layout.strides));
      add(layout.offset != 0, "offset", fmt::format("{}", layout.offset));
      if (is_first) {
        const std::string place = devices_.of(storage_of(slot).device);
        const std::int64_t bytes = storage_of(slot).bytes;
        add(place != "device", "place", place);
        add(layout.external && et_schema::extent_bytes(layout) != bytes, "size_bytes",
            fmt::format("{}", bytes));
      }
    }
    lines_.push_back(fmt::format("{} = {}", variable(slot), bench_text(function, arguments)));
  }

  void write_changes() {
    const std::vector<bool> changed = find_changed(program_);
    std::map<StorageId, bool> all_index;
    std::map<StorageId, std::string> zeros;
    for (const SlotId slot : made_) {
      const Slot& layout = slot_at(slot);
      const Storage& storage = storage_of(slot);
      bool& is_all_index = all_index.try_emplace(layout.storage, true).first->second;
      is_all_index = is_all_index && is_index(layout);
      if (storage.zeros > 0 && changed[layout.storage] && layout.external &&
          et_schema::is_floating(layout.dtype) && is_contiguous(layout) &&
          et_schema::extent_bytes(layout) == storage.bytes) {
        zeros.try_emplace(layout.storage, fmt::format("({}, {})", variable(slot), storage.zeros));
      }
    }
    std::vector<std::string> changes;
    std::vector<std::string> varies;
    for (const auto& [storage, first] : first_of_) {
      if (changed[storage]) {
        changes.push_back(variable(first));
      } else if (all_index[storage]) {
        varies.push_back(variable(first));
      }
    }
    std::vector<std::string> shares;
    for (const auto& [storage, text] : zeros) {
      shares.push_back(text);
    }
    const auto add = [this](const char* function, const std::vector<std::string>& arguments) {
      if (!arguments.empty()) {
        lines_.push_back(bench_text(function, {list_text(arguments)}));
      }
    };
    add("changes", changes);
    add("varies", varies);
    add("had_zeros", shares);
    if (const DType floats = et_schema::default_dtype(program_); floats != DType::kFloat32) {
      lines_.push_back(fmt::format("torch.set_default_dtype({})", dtype_text(floats)));
    }
  }

  const Program& program_;
  const DeviceText& devices_;
  std::vector<SlotId> made_;
  std::map<StorageId, SlotId> first_of_;  ///< tensor that a storage is made with
  std::vector<std::string> lines_;
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

std::vector<std::string> tensors_text(const Program& program, const std::set<SlotId>& read,
                                      const DeviceText& devices) {
  return TensorsWriter(program, devices).write(read);
}

}  // namespace understudy::emitter
