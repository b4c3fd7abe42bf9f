#include "replayer/measure/checksums.h"

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "et_schema/model/schema_text.h"
#include "replayer/device/device.h"
#include "replayer/values/result_checksum.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

/// Notes the results of operators that a step calls; of those that an operator calls in turn, none.
class Recorder {
 public:
  Recorder() {
    current() = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              ++current()->depth_;
              return nullptr;
            },
            [](const at::RecordFunction& function, at::ObserverContext*) {
              if (--current()->depth_ == 0 && current()->in_operator_) {
                current()->note(function);
              }
            })
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~Recorder() {
    at::removeCallback(handle_);
    current() = nullptr;
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Hooks of the run loop: what it does beside operators is left out.
  void built(const Step& step) { in_operator_ = step.kind == StepKind::kCall; }
  void called(const Step&, const torch::jit::Stack&) { in_operator_ = false; }
  void stored(const Step&) {}
  void dropped(const Step&) {}

  std::string take() { return std::move(lines_); }

 private:
  static Recorder*& current() {
    static thread_local Recorder* recorder = nullptr;
    return recorder;
  }

  void note(const at::RecordFunction& function) {
    const at::RecordFunctionGuard unobserved(false);
    const auto name = function.operator_name();
    std::string text = name ? name->name : function.name();
    if (name && !name->overload_name.empty()) {
      text += "." + name->overload_name;
    }
    std::size_t result = 0;
    const auto add = [&](const at::Tensor& tensor) {  // fresh memory holds anything
      const bool is_new = leaves_elements_unwritten(text, result++);
      lines_ += fresh_.is_shown(text, is_new, tensor) ? " fresh" : " " + checksum(tensor);
    };
    lines_ += text;
    for (const c10::IValue& value : function.outputs()) {
      if (value.isTensor()) {
        add(value.toTensor());
      } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
          add(tensor);
        }
      }
    }
    lines_ += "\n";
  }

  std::string lines_;
  FreshMemory fresh_;
  bool in_operator_ = false;
  int depth_ = 0;
  at::CallbackHandle handle_ = 0;
};

/// Of each storage older than the step that an operator or a communication changes, the first slot
/// that is there.
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
