#include "replayer/substitutes/find_substitute.h"

#include <utility>
#include <variant>
#include <vector>

#include "kernel_launch.h"
#include "replayer/dispatch/model_names.h"
#include "replayer/dispatch/schema_map.h"
#include "stub.h"

namespace understudy::replayer {

namespace {

/// Returns the layouts of the results; null if a result is undefined or not a tensor.
std::vector<const et_schema::Slot*> recorded_results(const Program& program,
                                                     const Instruction& instruction) {
  std::vector<const et_schema::Slot*> results;
  for (const Argument& result : instruction.results) {
    const auto* slot = std::get_if<Argument::SlotRef>(&result.value);
    results.push_back(slot != nullptr ? &program.slots[slot->id] : nullptr);
  }
  return results;
}

std::size_t list_size(const Instruction& instruction, std::size_t index) {
  const auto* list = index < instruction.args.size()
                         ? std::get_if<Argument::List>(&instruction.args[index].value)
                         : nullptr;
  return list != nullptr ? list->size() : 0;
}

std::optional<Substitute> find_by_table(const Program& program, const Instruction& instruction,
                                        c10::Device device) {
  if (instruction.kind != InstructionKind::kNative) {
    return find_substitute(schema_text(program, instruction), device,
                           recorded_results(program, instruction));
  }
  const RecordedSchema schema = parse_recorded_schema(schema_text(program, instruction));
  const std::string name =
      schema.overload.empty() ? schema.name : schema.name + "." + schema.overload;
  // A native instruction's arguments are lists: the gradients it received, the forward operator's
  // arguments, and the tensors that operators below the label allocated.
  return find_native_substitute(instruction.name, list_size(instruction, 0), name, schema.arguments,
                                list_size(instruction, 2));
}

}  // namespace

std::string schema_text(const Program& program, const Instruction& instruction) {
  return instruction.schema ? program.schemas[*instruction.schema] : instruction.name;
}

std::optional<Substitute> find_substitute(const Program& program, const Instruction& instruction,
                                          c10::Device device) {
  if (instruction.kind == InstructionKind::kKernel) {
    std::variant<Substitute, std::string> launch = find_kernel_launch(program, instruction, device);
    if (auto* launched = std::get_if<Substitute>(&launch)) {
      return std::move(*launched);
    }
    const auto& why_not = std::get<std::string>(launch);
    if (std::optional<Substitute> stub = find_kernel_stub(program, instruction, device)) {
      stub->by += why_not.empty() ? "" : "; " + why_not;
      return stub;
    }
    // A stub can move the same bytes only if the written tensors are known. Without them it is
    // still stubbed if it took time: an idle device would differ more from the original than a busy
    // one.
    const bool took_time = instruction.timing &&
                           (instruction.timing->device_ns > 0 || instruction.timing->host_ns > 0);
    if (instruction.results.empty() && !took_time) {
      return std::nullopt;
    }
    return make_stub(program, instruction, device,
                     std::string(instruction.results.empty() ? kReadingStub : kPlainStub));
  }
  std::optional<Substitute> found = find_by_table(program, instruction, device);
  if (found && found->rung == Rung::kStubbed) {
    return lasting_as_recorded(*std::move(found), instruction, device);
  }
  return found;
}

}  // namespace understudy::replayer
