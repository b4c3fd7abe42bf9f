#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "et_schema/model/accelerator.h"
#include "et_schema/model/schema_text.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {
namespace {

using et_schema::Argument;
using et_schema::Device;
using et_schema::DeviceType;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::SlotId;

// Operators that copy a value or a count to the host (ATen/native, "local_scalar_dense",
// "nonzero").
constexpr std::array<std::string_view, 16> kReadValues = {
    "aten::item",          "aten::_local_scalar_dense",
    "aten::is_nonzero",    "aten::equal",
    "aten::allclose",      "aten::nonzero",
    "aten::nonzero_numpy", "aten::argwhere",
    "aten::masked_select", "aten::masked_select_backward",
    "aten::unique_dim",    "aten::unique_consecutive",
    "aten::_unique",       "aten::_unique2",
    "aten::bincount",      "aten::_coalesce"};
constexpr std::array<std::string_view, 5> kIndex = {"aten::index", "aten::index_put",
                                                    "aten::index_put_", "aten::_index_put_impl_",
                                                    "aten::_unsafe_index"};
constexpr std::array<std::string_view, 5> kCopies = {"aten::to", "aten::_to_copy", "aten::copy_",
                                                     "aten::cpu", "aten::cuda"};

constexpr std::array<std::string_view, 2> kRepeats = {"aten::repeat_interleave.Tensor",
                                                      "aten::repeat_interleave.self_Tensor"};

std::string_view without_overload(std::string_view name) {
  return name.substr(0, name.find('.'));
}

template <std::size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Device device_of(const Program& program, SlotId slot) {
  return program.storages[program.slots[slot].storage].device;
}

/// A mask is turned into numbers, which needs their count; an index on the host is copied first.
bool has_waiting_index(const Program& program, const Instruction& instruction) {
  for (std::size_t i = 1; i < instruction.args.size(); ++i) {
    const auto* list = std::get_if<Argument::List>(&instruction.args[i].value);
    if (list == nullptr) {
      continue;
    }
    bool found = false;
    et_schema::for_each_slot(*list, [&](SlotId slot) {
      const DType dtype = program.slots[slot].dtype;
      found |= dtype == DType::kBool || dtype == DType::kUInt8 ||
               device_of(program, slot).type == DeviceType::kCpu;
    });
    return found;
  }
  return false;
}

/// Repeats in a tensor are added up for the size of the result, unless the caller says it.
bool counts_repeats(const Program& program, const Instruction& instruction) {
  if (!instruction.schema || !is_one_of(kRepeats, instruction.name)) {
    return false;
  }
  const int at = et_schema::argument_index(program.schemas[*instruction.schema], "output_size");
  const bool is_given =
      at >= 0 && static_cast<std::size_t>(at) < instruction.args.size() &&
      std::holds_alternative<std::int64_t>(instruction.args[static_cast<std::size_t>(at)].value);
  return !is_given;
}

bool is_non_blocking(const Program& program, const Instruction& instruction) {
  if (!instruction.schema) {
    return false;
  }
  const int at = et_schema::argument_index(program.schemas[*instruction.schema], "non_blocking");
  if (at < 0 || static_cast<std::size_t>(at) >= instruction.args.size()) {
    return false;
  }
  const auto* flag = std::get_if<bool>(&instruction.args[static_cast<std::size_t>(at)].value);
  return flag != nullptr && *flag;
}

/// Between a device and the host, either way.
bool crosses(const Program& program, const Instruction& instruction) {
  bool device = false;
  bool host = false;
  const auto see = [&](SlotId slot) {
    const Device where = device_of(program, slot);
    device |= is_accelerator(where);
    host |= where.type == DeviceType::kCpu;
  };
  et_schema::for_each_slot(instruction.args, see);
  et_schema::for_each_slot(instruction.results, see);
  return device && host;
}

}  // namespace

bool touches_device(const Program& program, const Instruction& instruction) {
  bool found = false;
  const auto see = [&](SlotId slot) { found |= is_accelerator(device_of(program, slot)); };
  et_schema::for_each_slot(instruction.args, see);
  et_schema::for_each_slot(instruction.results, see);
  return found;
}

bool waits_for_device(const Program& program, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kOp || !touches_device(program, instruction)) {
    return false;
  }
  const std::string_view name = without_overload(instruction.name);
  if (instruction.pinned || is_one_of(kReadValues, name) || counts_repeats(program, instruction)) {
    return true;
  }
  if (is_one_of(kIndex, name)) {
    return has_waiting_index(program, instruction);
  }
  return is_one_of(kCopies, name) && crosses(program, instruction) &&
         !is_non_blocking(program, instruction);
}

}  // namespace understudy::predictor
