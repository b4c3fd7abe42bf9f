#include "program_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <variant>

#include "et_schema/model/bodies.h"
#include "et_schema/model/op_class.h"
#include "et_schema/model/operator_facts.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/slot_extent.h"
#include "et_schema/support/overloaded.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {

using et_schema::SizeRule;

namespace {

/// Operators on lists of tensors are none of the table's: they give tensors of the same sizes.
SizeRule size_rule(std::string_view op) {
  const bool is_list = op.starts_with("aten::_foreach_") || op.starts_with("aten::_fused_adam") ||
                       op.starts_with("aten::_fused_sgd");
  return is_list ? SizeRule::kSame : et_schema::operator_facts(op).sizes;
}

/// It lies without holes in all of its memory.
bool is_whole(const Program& program, const Slot& slot) {
  return slot.sparse || element_count(slot) == 0 ||
         (slot.offset == 0 && dense_order(slot) &&
          et_schema::extent_bytes(slot) == program.storages[slot.storage].bytes);
}

bool changes(const Slot& slot, const SizeMap& sizes) {
  return std::any_of(slot.sizes.begin(), slot.sizes.end(),
                     [&](std::int64_t size) { return sizes.contains(size); });
}

/// What a program asks of its sizes.
class ProgramSizes {
 public:
  ProgramSizes(const Program& program, KeptSizes& kept, std::set<std::int64_t>& rows)
      : program_(program), kept_(kept), rows_(rows) {}

  void find() {
    find_parts();
    for (const Slot& slot : program_.slots) {
      if (slot.value) {
        look_at_rule(*slot.value);
      }
    }
    for (const Instruction& instruction : program_.instructions) {
      look_at(instruction);
    }
  }

  /// What one of its instructions asks, without what is recorded below it.
  void look_at(const Instruction& instruction) {
    if (instruction.pinned) {
      et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
        keep(program_.slots[slot], instruction.name + ": a size that its data tells");
      });
    }
    switch (instruction.kind) {
      case InstructionKind::kAlias:
        return look_at_reshape(instruction);
      case InstructionKind::kOp:
        return look_at_operator(instruction);
      case InstructionKind::kCollective:
      case InstructionKind::kP2p:
        return look_at_communication(instruction);
      case InstructionKind::kNative:
      case InstructionKind::kKernel:
        return keep_all(instruction, instruction.name + ": it is not known what it computes");
      default:
        return;
    }
  }

 private:
  void keep(std::int64_t size, const std::string& why) {
    if (size >= kLeastBlurred) {
      kept_.try_emplace(size, why);
    }
  }

  void keep(const Slot& slot, const std::string& why) {
    for (const std::int64_t size : slot.sizes) {
      keep(size, why);
    }
  }

  void keep_argument(const Argument& argument, const std::string& why) {
    for_each_integer(argument, [&](std::int64_t number) { keep(number, why); });
  }

  template <typename Visit>
  void each_slot(const Instruction& instruction, Visit visit) const {
    for (const SlotId slot : et_schema::all_slots_of(instruction)) {
      visit(program_.slots[slot]);
    }
  }

  /// Sizes whose product others are cannot change alone. Those that a reshape takes over do.
  void look_at_reshape(const Instruction& instruction) {
    const std::string why = instruction.name + ": a product of other sizes";
    const Slot* first = nullptr;
    each_slot(instruction, [&](const Slot& slot) {
      if (first == nullptr) {
        first = &slot;
      } else if (element_count(*first) != element_count(slot)) {
        keep_all(instruction, why);
      } else {
        std::vector<std::int64_t> a = first->sizes;
        std::vector<std::int64_t> b = slot.sizes;
        std::ranges::sort(a);
        std::ranges::sort(b);
        std::vector<std::int64_t> apart;
        std::ranges::set_symmetric_difference(a, b, std::back_inserter(apart));
        std::ranges::for_each(apart, [&](std::int64_t size) { keep(size, why); });
      }
    });
  }

  /// Parts of a larger memory have places and strides that its inner sizes tell; as many rows as
  /// there are, that changes none.
  void find_parts() {
    std::vector<bool> is_used(program_.slots.size());
    for (const Instruction& instruction : program_.instructions) {
      for (const SlotId slot : et_schema::all_slots_of(instruction)) {
        is_used[slot] = true;
      }
    }
    std::vector<bool> has_part(program_.storages.size());
    for (SlotId slot = 0; slot < is_used.size(); ++slot) {
      if (is_used[slot] && !is_whole(program_, program_.slots[slot])) {
        has_part[program_.slots[slot].storage] = true;
      }
    }
    for (SlotId slot = 0; slot < is_used.size(); ++slot) {
      if (is_used[slot] && has_part[program_.slots[slot].storage]) {
        keep_inner(program_.slots[slot]);
      }
    }
  }

  void keep_inner(const Slot& slot) {
    const auto outermost = std::max_element(slot.strides.begin(), slot.strides.end());
    for (std::size_t dim = 0; dim < slot.sizes.size(); ++dim) {
      const bool is_rows = slot.strides.size() == slot.sizes.size() &&
                           slot.strides.begin() + static_cast<std::ptrdiff_t>(dim) == outermost &&
                           slot.offset < *outermost;
      if (!is_rows) {
        keep(slot.sizes[dim], "a tensor that is a part of a larger memory");
      }
    }
  }

  void look_at_rule(const ValueRule& rule) {
    const std::string why = "what a tensor holds depends on it";
    const et_schema::Overloaded look = {
        [](const ValueRule::Zeros&) {},
        [](const ValueRule::Constant&) {},
        [](const ValueRule::Uniform&) {},
        [](const ValueRule::Normal&) {},
        [](const ValueRule::Integers&) {},  // rows: they go along
        [&](const ValueRule::Offsets& offsets) {
          keep(offsets.end, why);
          keep(offsets.longest, why);
        },
        [&](const ValueRule::Lengths& lengths) {
          for (const ValueRule::Segment& segment : lengths.segments) {
            keep(segment.count, why);
            keep(segment.sum, why);
          }
        },
        [&](const ValueRule::Arange& arange) {
          keep(arange.start, why);
          keep(arange.step, why);
        },
        [](const ValueRule::Bernoulli&) {},
        [&](const ValueRule::Mask& mask) { keep(mask.count, why); },
        [](const ValueRule::Targets&) {},         // classes: they go along
        [](const ValueRule::ReusedIntegers&) {},  // rows
        [&](const ValueRule::Dominant& matrices) { keep(matrices.rows, why); }};
    std::visit(look, rule.kind);
  }

  void keep_all(const Instruction& instruction, const std::string& why) {
    each_slot(instruction, [&](const Slot& slot) { keep(slot, why); });
    for (const Argument& argument : instruction.args) {
      keep_argument(argument, why);
    }
  }

  void look_at_communication(const Instruction& instruction) {
    const et_schema::CommInfo& comm = *instruction.comm;
    const bool is_alike = comm.kind == et_schema::CommKind::kAllReduce ||
                          comm.kind == et_schema::CommKind::kBroadcast;
    if (!is_alike || !comm.in_splits.empty() || !comm.out_splits.empty()) {
      keep_all(instruction, instruction.name + ": sizes that differ by the number of ranks");
    }
  }

  void look_at_operator(const Instruction& instruction) {
    const SizeRule rule = size_rule(instruction.name);
    if (rule == SizeRule::kUnknown || !instruction.schema) {
      return keep_all(instruction, instruction.name + ": how it computes sizes is not known here");
    }
    const auto arguments = et_schema::arguments_of(program_.schemas[*instruction.schema]);
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      const bool is_number = i < arguments.size() && (arguments[i].type.starts_with("int") ||
                                                      arguments[i].type.starts_with("SymInt"));
      const bool is_strides = i < arguments.size() && arguments[i].name == "stride" &&
                              et_schema::operator_facts(instruction.name).takes_strides;
      if (is_number && !et_schema::is_size_argument(arguments[i].name) && !is_strides) {
        keep_argument(instruction.args[i],
                      fmt::format("{}: '{}' is that number", instruction.name, arguments[i].name));
      }
    }
    look_at_sizes(instruction, rule, arguments);
  }

  void look_at_sizes(const Instruction& instruction, SizeRule rule,
                     const std::vector<et_schema::SchemaArgument>& arguments) {
    if (rule == SizeRule::kSame || rule == SizeRule::kIndexed) {
      keep_new_sizes(instruction);
    }
    if (rule == SizeRule::kIndexed) {
      each_slot(instruction, [&](const Slot& slot) {
        if (slot.dtype == et_schema::DType::kInt64 || slot.dtype == et_schema::DType::kInt32) {
          keep(slot, instruction.name + ": a number of indices or bags");
        }
      });
    }
    if (rule == SizeRule::kChannels) {
      each_slot(instruction, [&](const Slot& slot) {
        for (std::size_t dim = 2; dim < slot.sizes.size(); ++dim) {
          keep(slot.sizes[dim], instruction.name + ": a size in space, which it computes");
        }
      });
    }
    if (rule == SizeRule::kReshaped) {
      look_at_reshape(instruction);
    }
    if (rule == SizeRule::kOneDim) {
      keep_dim(instruction, arguments);
    }
    if (et_schema::op_class(instruction.name) == "embedding") {
      each_slot(instruction, [&](const Slot& slot) {
        if (slot.sizes.size() == 2) {
          rows_.insert(slot.sizes.front());
        }
      });
    }
  }

  /// A result's size that no argument has is computed.
  void keep_new_sizes(const Instruction& instruction) {
    std::set<std::int64_t> known;
    et_schema::for_each_slot(instruction.args, [&](SlotId slot) {
      known.insert(program_.slots[slot].sizes.begin(), program_.slots[slot].sizes.end());
    });
    for (const Argument& argument : instruction.args) {
      for_each_integer(argument, [&](std::int64_t number) { known.insert(number); });
    }
    const bool is_data = size_rule(instruction.name) == SizeRule::kIndexed;
    const std::string why =
        instruction.name +
        (is_data ? ": a size that its data tells" : ": a size that none of its arguments has");
    bool is_new = false;
    et_schema::for_each_slot(instruction.results, [&](SlotId slot) {
      for (const std::int64_t size : program_.slots[slot].sizes) {
        if (size >= kLeastBlurred && !known.contains(size)) {
          is_new = true;
          keep(size, why);
        }
      }
    });
    if (is_new && !is_data) {
      keep_all(instruction, why);
    }
  }

  /// Sizes in the dimension that is cut, joined or indexed.
  void keep_dim(const Instruction& instruction,
                const std::vector<et_schema::SchemaArgument>& arguments) {
    std::int64_t dim = 0;
    for (std::size_t i = 0; i < std::min(arguments.size(), instruction.args.size()); ++i) {
      if (arguments[i].name == "dim") {
        const auto* number = std::get_if<std::int64_t>(&instruction.args[i].value);
        dim = number != nullptr ? *number : 0;
      }
    }
    each_slot(instruction, [&](const Slot& slot) {
      const auto count = static_cast<std::int64_t>(slot.sizes.size());
      // Results may lack the dimension: then a neighbour is kept in vain.
      const std::int64_t place = dim < 0 ? dim + count : dim;
      if (place >= 0 && place < count) {
        keep(slot.sizes[static_cast<std::size_t>(place)],
             instruction.name + ": a size that it cuts or joins");
      }
    });
  }

  const Program& program_;
  KeptSizes& kept_;
  std::set<std::int64_t>& rows_;
};

}  // namespace

bool same_side(std::int64_t a, std::int64_t b) {
  constexpr std::array<std::int64_t, 6> kThresholds = {128, 256, 512, 1024, 32768, 65536};
  return std::all_of(kThresholds.begin(), kThresholds.end(),
                     [&](std::int64_t threshold) { return (a <= threshold) == (b <= threshold); });
}

void find_kept(const Program& program, KeptSizes& kept, std::set<std::int64_t>& rows) {
  ProgramSizes(program, kept, rows).find();
}

bool fits(const Program& program, const std::vector<Instruction>& instructions,
          const SizeMap& sizes) {
  KeptSizes kept;
  std::set<std::int64_t> rows;
  ProgramSizes asked(program, kept, rows);
  for (const Instruction& instruction : instructions) {
    asked.look_at(instruction);
    const auto is_fit = [&](SlotId slot) {
      return !changes(program.slots[slot], sizes) || is_whole(program, program.slots[slot]);
    };
    if (!std::ranges::all_of(et_schema::all_slots_of(instruction), is_fit) ||
        !fits(program, instruction.body, sizes)) {
      return false;
    }
  }
  return std::none_of(sizes.begin(), sizes.end(),
                      [&](const auto& size) { return kept.contains(size.first); });
}

}  // namespace understudy::generator
