#include "replayer/measure/checksums.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/facts/schema_text.h"
#include "replayer/device/device.h"
#include "replayer/values/result_checksum.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

/// Records the results of operators that a step calls, without operators called by operators.
class Recorder {
 public:
  /// Hooks of the run loop: its own work between operators is not recorded.
  void built(const Step& step) { in_operator_ = step.kind == StepKind::kCall; }
  void called(const Step&, const torch::jit::Stack&) { in_operator_ = false; }
  void stored(const Step&) {}
  void dropped(const Step&) {}

  std::string take() { return std::move(lines_); }

 private:
  void note(const std::string& op, const std::vector<at::Tensor>& results) {
    if (in_operator_) {
      lines_ += checksum_line(op, results, fresh_, leaves_elements_unwritten);
    }
  }

  std::string lines_;
  FreshMemory fresh_;
  bool in_operator_ = false;
  ResultObserver observer_{
      [this](const std::string& op, const std::vector<at::Tensor>& results) { note(op, results); }};
};

/// Returns the external storages that an operator or a communication changes, each with its first
/// external slot.
std::map<StorageId, SlotId> changed_externals(const Program& program, const BoundProgram& bound) {
  std::map<StorageId, SlotId> changed;
  for (const Instruction& instruction : program.instructions) {
    for (std::size_t i = 0; i < instruction.args.size(); ++i) {
      const bool is_written =
          instruction.comm || (instruction.schema && et_schema::argument_is_written(
                                                         program.schemas[*instruction.schema], i));
      if (!is_written) {
        continue;
      }
      et_schema::for_each_slot({instruction.args[i]}, [&](SlotId slot) {
        const StorageId storage = program.slots[slot].storage;
        const auto first = std::ranges::find_if(bound.externals, [&](SlotId external) {
          return program.slots[external].storage == storage;
        });
        if (program.storages[storage].external && first != bound.externals.end()) {
          changed[storage] = *first;
        }
      });
    }
  }
  return changed;
}

}  // namespace

std::string take_checksums(const Program& program, BoundProgram& bound, Machine& machine,
                           Externals& externals, c10::Device device, std::uint64_t seed) {
  externals.restore();
  externals.place(machine.slots(), machine.given());
  machine.prime(bound);
  seed_generators(device, seed);
  std::string lines;
  {
    Recorder recorder;
    machine.run(bound, recorder);
    lines = recorder.take();
  }
  for (const auto& [storage, slot] : changed_externals(program, bound)) {
    lines += "after: " + checksum(machine.slots()[slot]) + "\n";
  }
  externals.restore();
  return lines;
}

}  // namespace understudy::replayer
