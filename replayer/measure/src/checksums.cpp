#include "replayer/measure/checksums.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "et_schema/facts/schema_text.h"
#include "replayer/device/device.h"
#include "replayer/values/random.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::Program;
using et_schema::SlotId;
using et_schema::StorageId;

/// Returns 64 bits over a tensor's elements in row-major order; "-" for an undefined tensor.
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
  const auto* bytes = static_cast<const unsigned char*>(flat.const_data_ptr());
  const std::size_t count = flat.nbytes();
  // A sum, so that numpy does it too. Each word is mixed with its place.
  std::uint64_t sum = mix(count + kGolden);
  for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof(word), count - at));
    sum += mix(word + (at / sizeof(word) + 1) * kGolden);
  }
  return fmt::format("{:016x}", sum);
}

/// Tracks memory whose elements are not all written yet. Views of it have undefined content, too.
class FreshMemory {
 public:
  /// Returns true if a result of `op` shows unwritten elements. `is_new`: the operator leaves some
  /// unwritten. Must be called for each result, in the order of calls, since it tracks writes.
  [[nodiscard]] bool is_shown(const std::string& op, bool is_new, const at::Tensor& tensor) {
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
  /// Returns true if an operator that returns existing memory has written its whole result: not a
  /// view, and not a write selected by indices or a mask.
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

  /// The weak pointers keep a storage's address from being reused.
  std::map<const c10::StorageImpl*, c10::weak_intrusive_ptr<c10::StorageImpl>> unwritten_;
};

/// Records the results of operators that a step calls, without operators called by operators. Only
/// one may exist in a thread.
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

  /// Hooks of the run loop: its own work between operators is not recorded.
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

  /// Adds the operator's line: its name and a checksum of each result.
  void note(const at::RecordFunction& function) {
    const at::RecordFunctionGuard unobserved(false);
    const auto name = function.operator_name();
    std::string op = name ? name->name : function.name();
    if (name && !name->overload_name.empty()) {
      op += "." + name->overload_name;
    }
    lines_ += op;
    std::size_t result = 0;
    const auto add = [&](const at::Tensor& tensor) {
      const bool is_new = leaves_elements_unwritten(op, result++);
      lines_ += ' ';
      lines_ += fresh_.is_shown(op, is_new, tensor) ? "fresh" : checksum(tensor);
    };
    for (const c10::IValue& value : function.outputs()) {
      if (value.isTensor()) {
        add(value.toTensor());
      } else if (value.isTensorList()) {
        std::ranges::for_each(value.toTensorVector(), add);
      }
    }
    lines_ += '\n';
  }

  std::string lines_;
  FreshMemory fresh_;
  bool in_operator_ = false;
  int depth_ = 0;
  at::CallbackHandle handle_ = 0;
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
