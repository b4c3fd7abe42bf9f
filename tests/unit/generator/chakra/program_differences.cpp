#include "program_differences.h"

#include <algorithm>
#include <unordered_map>
#include <variant>

#include "generator/flow/model_names.h"

namespace understudy::generator::test {
namespace {

class Differences {
 public:
  Differences(const Program& a, const Program& b) : a_(a), b_(b) {}

  std::map<std::string, std::uint64_t> find() {
    if (a_.instructions.size() != b_.instructions.size()) {
      counts_["instruction.count"] = 1;
    }
    const std::size_t count = std::min(a_.instructions.size(), b_.instructions.size());
    for (std::size_t i = 0; i < count; ++i) {
      compare(a_.instructions[i], b_.instructions[i]);
    }
    for (const auto& [a, b] : slots_) {
      compare_slots(a, b);
    }
    for (const auto& [a, b] : storages_) {
      compare_storages(a, b);
    }
    compare_profiles();
    note("heap_blocks", a_.heap_blocks, b_.heap_blocks);
    return counts_;
  }

 private:
  template <typename Value>
  void note(const char* field, const Value& a, const Value& b) {
    counts_[field] += a == b ? 0U : 1U;
    if (counts_[field] == 0) {
      counts_.erase(field);
    }
  }

  void compare(const Instruction& a, const Instruction& b) {
    note("instruction.kind", a.kind, b.kind);
    note("instruction.node_id", a.node_id, b.node_id);
    note("instruction.thread", a.thread, b.thread);
    note("instruction.name", a.name, b.name);
    const bool is_label = a.kind == et_schema::InstructionKind::kNative;
    note(is_label ? "label.schema" : "instruction.schema", schema_of(a_, a), schema_of(b_, b));
    note(is_label ? "label.args" : "instruction.args", true, same(a.args, b.args));
    note("instruction.results", true, same(a.results, b.results));
    note("instruction.pinned", a.pinned, b.pinned);
    note("instruction.comm", a.comm, b.comm);
    note("instruction.body", a.body.empty(), b.body.empty());
    note("timing", a.timing.has_value(), b.timing.has_value());
    if (a.timing && b.timing) {
      note("timing.start_ns", a.timing->start_ns, b.timing->start_ns);
      note("timing.host_ns", a.timing->host_ns, b.timing->host_ns);
      note("timing.gap_ns", a.timing->gap_ns, b.timing->gap_ns);
      note("timing.device_ns", a.timing->device_ns, b.timing->device_ns);
      note("timing.launches", a.timing->launches, b.timing->launches);
      note("timing.stream", a.timing->stream, b.timing->stream);
      note("timing.page_faults", a.timing->page_faults, b.timing->page_faults);
    }
  }

  static std::string schema_of(const Program& program, const Instruction& instruction) {
    return instruction.schema ? program.schemas[*instruction.schema] : std::string();
  }

  bool same(const std::vector<Argument>& a, const std::vector<Argument>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    bool all = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      all = same(a[i], b[i]) && all;
    }
    return all;
  }

  bool same(const Argument& a, const Argument& b) {
    const auto* slot_a = std::get_if<Argument::SlotRef>(&a.value);
    const auto* slot_b = std::get_if<Argument::SlotRef>(&b.value);
    if (slot_a != nullptr && slot_b != nullptr) {
      return pair(slots_, slots_back_, slot_a->id, slot_b->id) &&
             pair(storages_, storages_back_, a_.slots[slot_a->id].storage,
                  b_.slots[slot_b->id].storage);
    }
    const auto* list_a = std::get_if<Argument::List>(&a.value);
    const auto* list_b = std::get_if<Argument::List>(&b.value);
    return list_a != nullptr && list_b != nullptr ? same(*list_a, *list_b) : a == b;
  }

  using Pairs = std::unordered_map<std::uint32_t, std::uint32_t>;

  /// One of `a` is always the same one of `b`, and the other way round.
  static bool pair(Pairs& there, Pairs& back, std::uint32_t a, std::uint32_t b) {
    return there.try_emplace(a, b).first->second == b && back.try_emplace(b, a).first->second == a;
  }

  void compare_slots(SlotId a, SlotId b) {
    const et_schema::Slot& x = a_.slots[a];
    const et_schema::Slot& y = b_.slots[b];
    note("slot.dtype", x.dtype, y.dtype);
    note("slot.sizes", x.sizes, y.sizes);
    note("slot.strides", x.strides, y.strides);
    note("slot.strides_recorded", x.strides_recorded, y.strides_recorded);
    note("slot.offset", x.offset, y.offset);
    note("slot.external", x.external, y.external);
    note("slot.wrapped_number", x.wrapped_number, y.wrapped_number);
    note("slot.sparse", x.sparse, y.sparse);
    note(x.wrapped_number ? "slot.value (Python number)" : "slot.value", x.value, y.value);
    note("slot.content", x.content, y.content);
  }

  void compare_storages(StorageId a, StorageId b) {
    const et_schema::Storage& x = a_.storages[a];
    const et_schema::Storage& y = b_.storages[b];
    note("storage.device", x.device, y.device);
    note("storage.bytes", x.bytes, y.bytes);
    note("storage.external", x.external, y.external);
    note("storage.held_until", x.held_until, y.held_until);
    note("storage.state", x.state, y.state);
    note("storage.zeros", x.zeros, y.zeros);
    note("storage.pinned", x.pinned, y.pinned);
  }

  void compare_profiles() {
    note("profile", a_.profile.has_value(), b_.profile.has_value());
    if (a_.profile && b_.profile) {
      note("profile.step_ns", a_.profile->step_ns, b_.profile->step_ns);
      note("profile.operators_ns", a_.profile->operators_ns, b_.profile->operators_ns);
      note("profile.operators_device_ns", a_.profile->operators_device_ns,
           b_.profile->operators_device_ns);
    }
  }

  const Program& a_;
  const Program& b_;
  Pairs slots_;
  Pairs slots_back_;
  Pairs storages_;
  Pairs storages_back_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace

std::map<std::string, std::uint64_t> differences(const Program& a, const Program& b) {
  return Differences(a, b).find();
}

}  // namespace understudy::generator::test
