#pragma once

// Emitted projects contain this file verbatim: only LibTorch and the standard library.

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replayer/values/random.h"

namespace understudy::replayer {

/// Returns 64 bits over a tensor's elements in row-major order; "-" for an undefined tensor.
inline std::string checksum(const at::Tensor& tensor) {
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
  constexpr std::size_t kDigits = 16;
  std::array<char, kDigits + 1> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(sum));
  return text.data();
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

/// Passes each operator's results to a function; operators called by operators are skipped. Only
/// one observer may exist in a thread.
class ResultObserver {
 public:
  using Look = std::function<void(const std::string& op, const std::vector<at::Tensor>& results)>;

  explicit ResultObserver(Look look) : look_(std::move(look)) {
    current() = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              ++current()->depth_;
              return nullptr;
            },
            [](const at::RecordFunction& function, at::ObserverContext*) {
              if (--current()->depth_ == 0) {
                current()->see(function);
              }
            })
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~ResultObserver() {
    at::removeCallback(handle_);
    current() = nullptr;
  }
  ResultObserver(const ResultObserver&) = delete;
  ResultObserver& operator=(const ResultObserver&) = delete;

 private:
  static ResultObserver*& current() {
    static thread_local ResultObserver* observer = nullptr;
    return observer;
  }

  void see(const at::RecordFunction& function) {
    const at::RecordFunctionGuard unobserved(false);
    const auto name = function.operator_name();
    std::string text = name ? name->name : function.name();
    if (name && !name->overload_name.empty()) {
      text += "." + name->overload_name;
    }
    std::vector<at::Tensor> results;
    for (const c10::IValue& value : function.outputs()) {
      if (value.isTensor()) {
        results.push_back(value.toTensor());
      } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
          results.push_back(tensor);
        }
      }
    }
    look_(text, results);
  }

  Look look_;
  int depth_ = 0;
  at::CallbackHandle handle_ = 0;
};

/// Returns an operator's line: its name and a checksum of each result. `leaves_unwritten(op,
/// result)` is true for results with uninitialised elements.
template <typename LeavesUnwritten>
std::string checksum_line(const std::string& op, const std::vector<at::Tensor>& results,
                          FreshMemory& fresh, LeavesUnwritten leaves_unwritten) {
  std::string line = op;
  for (std::size_t i = 0; i < results.size(); ++i) {
    line += ' ';
    line +=
        fresh.is_shown(op, leaves_unwritten(op, i), results[i]) ? "fresh" : checksum(results[i]);
  }
  return line + "\n";
}

}  // namespace understudy::replayer
