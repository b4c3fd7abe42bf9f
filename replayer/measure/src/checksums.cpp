#include "replayer/measure/checksums.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "et_schema/model/schema_text.h"
#include "replayer/device/device.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

/// The finaliser of SplitMix64.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

std::string checksum(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return "-";
  }
  if (tensor.layout() != at::kStrided || tensor.is_meta() || tensor.is_quantized()) {
    return "opaque";
  }
  const at::Tensor written = tensor._is_zerotensor() ? at::zeros(tensor.sizes(), tensor.options())
                                                     : tensor;  // zeros may have no memory
  const at::Tensor flat = written.resolve_conj().resolve_neg().cpu().contiguous();
  const auto* const bytes = static_cast<const std::byte*>(flat.const_data_ptr());
  const std::size_t count = flat.nbytes();
  std::uint64_t sum = mix(count + kGolden);
  for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof(word), count - at));
    sum = mix(sum ^ word) + kGolden;
  }
  return fmt::format("{:016x}", sum);
}

/// Memory of which elements have not been written yet. Views of it hold anything, too.
class FreshMemory {
 public:
  /// Whether a result holds elements that nobody wrote. Takes notice of what operators give: to be
  /// asked of each result, in order of calls.
  [[nodiscard]] bool is_shown(const std::string& op, std::size_t result, const at::Tensor& tensor) {
    const bool is_new = leaves_elements_unwritten(op, result);
    if (!tensor.defined() || !tensor.has_storage()) {
      return is_new;
    }
    const c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
    if (is_new) {
      unwritten_.insert_or_assign(storage, tensor.storage().getWeakStorageImpl());
      return true;
    }
    const auto known = unwritten_.find(storage);
    if (known == unwritten_.end()) {
      return false;
    }
    if (!writes_all_it_shows(op)) {
      return true;
    }
    if (tensor.nbytes() >= tensor.storage().nbytes()) {
      unwritten_.erase(known);
    }
    return false;
  }

 private:
  /// Whether an operator that gives memory which was there before has written all of its result: no
  /// view, and none that writes where indices or a mask say.
  static bool writes_all_it_shows(const std::string& op) {
    const std::string base = op.substr(0, op.find('.'));
    const bool gives_out = op.find("out", base.size()) != std::string::npos;
    if (base.back() != '_' && !gives_out) {
      return false;
    }
    for (const char* part : {"index", "scatter", "masked", "put_", "diagonal", "as_strided",
                             "detach", "squeeze", "swapaxes", "swapdims", "::t_", "transpose"}) {
      if (base.find(part) != std::string::npos) {
        return false;
      }
    }
    return true;
  }

  /// While it is known here, a storage's address is no other's.
  std::map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> unwritten_;
};

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
      lines_ += fresh_.is_shown(text, result++, tensor) ? " fresh" : " " + checksum(tensor);
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
