#include "replayer/device/placement.h"

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/program.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::Device;
using et_schema::DeviceType;
using et_schema::Instruction;
using et_schema::Program;

constexpr Device kAccelerator{DeviceType::kCuda, 0};

/// Finds the storages that stay on the CPU.
void find_host_storages(const Program& program, const std::vector<Instruction>& instructions,
                        std::vector<bool>& on_host) {
  for (const Instruction& instruction : instructions) {
    for (const et_schema::ArgumentFact& fact :
         et_schema::operator_facts(instruction.name).arguments) {
      const int at =
          fact.on_host && instruction.schema
              ? et_schema::argument_index(program.schemas[*instruction.schema], fact.name)
              : -1;
      if (at >= 0 && static_cast<std::size_t>(at) < instruction.args.size()) {
        et_schema::for_each_slot(
            {instruction.args[static_cast<std::size_t>(at)]},
            [&](et_schema::SlotId slot) { on_host[program.slots[slot].storage] = true; });
      }
    }
    find_host_storages(program, instruction.body, on_host);
  }
}

void move_arguments(std::vector<Argument>& arguments) {
  for (Argument& argument : arguments) {
    if (auto* device = std::get_if<Argument::DeviceRef>(&argument.value)) {
      if (device->device.type == DeviceType::kCpu) {
        device->device = kAccelerator;
      }
    } else if (const auto* text = std::get_if<std::string>(&argument.value); text != nullptr) {
      if (*text == "cpu") {  // in traces that write the device as a text
        argument.value = Argument::DeviceRef{kAccelerator};
      }
    } else if (auto* list = std::get_if<Argument::List>(&argument.value)) {
      move_arguments(*list);
    }
  }
}

/// Returns true if all tensors that the instruction makes stay on the host, so that it must run
/// there.
bool makes_host_tensors(const Program& program, const Instruction& instruction,
                        const std::vector<bool>& on_host) {
  bool any = false;
  bool all = true;
  et_schema::for_each_slot(instruction.results, [&](et_schema::SlotId slot) {
    any = true;
    all = all && on_host[program.slots[slot].storage];
  });
  return any && all;
}

/// Removes a request for page-locked memory, which exists only on the host.
void leave_unpinned(const Program& program, Instruction& instruction) {
  const int at = instruction.schema
                     ? et_schema::argument_index(program.schemas[*instruction.schema], "pin_memory")
                     : -1;
  if (at >= 0 && static_cast<std::size_t>(at) < instruction.args.size()) {
    Argument& pins = instruction.args[static_cast<std::size_t>(at)];
    if (std::holds_alternative<bool>(pins.value)) {
      pins.value = false;
    }
  }
}

/// Sets the device of a factory that has none, which would make its tensor on the CPU.
void tell_device(const Program& program, Instruction& instruction) {
  if (!instruction.schema) {
    return;
  }
  bool takes_tensors = false;
  et_schema::for_each_slot(instruction.args, [&](et_schema::SlotId) { takes_tensors = true; });
  const int at = et_schema::argument_index(program.schemas[*instruction.schema], "device");
  if (takes_tensors || at < 0 || static_cast<std::size_t>(at) >= instruction.args.size()) {
    return;
  }
  Argument& device = instruction.args[static_cast<std::size_t>(at)];
  if (std::holds_alternative<Argument::None>(device.value)) {
    device.value = Argument::DeviceRef{kAccelerator};
  }
}

void move_instructions(const Program& program, const std::vector<bool>& on_host,
                       std::vector<Instruction>& instructions) {
  for (Instruction& instruction : instructions) {
    if (!makes_host_tensors(program, instruction, on_host)) {
      move_arguments(instruction.args);
      tell_device(program, instruction);
      leave_unpinned(program, instruction);
    }
    move_instructions(program, on_host, instruction.body);
  }
}

}  // namespace

bool moves_to(c10::Device device, const Program& program) {
  return !device.is_cpu() && !uses_accelerator(program);
}

Program move_to_device(Program program) {
  std::vector<bool> on_host(program.storages.size());
  for (const et_schema::Slot& slot : program.slots) {
    if (slot.wrapped_number) {
      on_host[slot.storage] = true;
    }
  }
  find_host_storages(program, program.instructions, on_host);
  for (std::size_t i = 0; i < program.storages.size(); ++i) {
    Device& device = program.storages[i].device;
    if (device.type == DeviceType::kCpu && !on_host[i]) {
      device = kAccelerator;
    }
  }
  move_instructions(program, on_host, program.instructions);
  return program;
}

}  // namespace understudy::replayer
