#include <variant>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/program.h"
#include "predictor/calls/crossing.h"
#include "predictor/simulate/flow.h"

namespace understudy::predictor {
namespace {

using et_schema::Device;
using et_schema::DeviceType;
using et_schema::SlotId;

Device device_of(const Program& program, SlotId slot) {
  return program.storages[program.slots[slot].storage].device;
}

/// Returns true if an index makes the host wait: a mask is converted to indices, which needs their
/// number; an index on the host is copied first.
bool has_waiting_index(const Program& program, const Instruction& instruction) {
  for (std::size_t i = 1; i < instruction.args.size(); ++i) {
    const auto* list = std::get_if<et_schema::Argument::List>(&instruction.args[i].value);
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

/// Returns the argument of that name, or null if the schema or the call does not have it.
template <typename Value>
const Value* argument_of(const Program& program, const Instruction& instruction,
                         std::string_view name) {
  const int at = instruction.schema
                     ? et_schema::argument_index(program.schemas[*instruction.schema], name)
                     : -1;
  const auto place = static_cast<std::size_t>(at);
  return at < 0 || place >= instruction.args.size()
             ? nullptr
             : std::get_if<Value>(&instruction.args[place].value);
}

/// Returns true if the result's size is a sum of repeats that the caller did not pass.
bool counts_repeats(const Program& program, const Instruction& instruction) {
  return instruction.schema && et_schema::overload_of(instruction.name) != "self_int" &&
         argument_of<std::int64_t>(program, instruction, "output_size") == nullptr;
}

bool is_non_blocking(const Program& program, const Instruction& instruction) {
  const auto* flag = argument_of<bool>(program, instruction, "non_blocking");
  return flag != nullptr && *flag;
}

}  // namespace

bool touches_device(const Program& program, const Instruction& instruction) {
  bool found = false;
  const auto see = [&](SlotId slot) { found |= is_accelerator(device_of(program, slot)); };
  et_schema::for_each_slot(instruction.args, see);
  et_schema::for_each_slot(instruction.results, see);
  return found;
}

bool moves_on_device(const Program& program, const Instruction& call) {
  bool is_empty = true;
  et_schema::for_each_slot(call.args, [&](SlotId) { is_empty = false; });
  return is_empty || touches_device(program, call);
}

bool waits_for_device(const Program& program, const Instruction& instruction) {
  if (instruction.kind != InstructionKind::kOp || !touches_device(program, instruction)) {
    return false;
  }
  switch (et_schema::operator_facts(instruction.name).host_wait) {
    case et_schema::HostWait::kNone:
      return false;
    case et_schema::HostWait::kAlways:
      return true;
    case et_schema::HostWait::kIndices:
      return has_waiting_index(program, instruction);
    case et_schema::HostWait::kCopy:
      return crosses_devices(program, instruction) && !is_non_blocking(program, instruction);
    case et_schema::HostWait::kRepeats:
      return counts_repeats(program, instruction);
  }
  return false;
}

}  // namespace understudy::predictor
