#pragma once

// Looks at what operators give: checksums to compare runs by, and whether numbers stay healthy.

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <ATen/record_function.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "replayer/values/result_checksum.h"

namespace bench {

namespace replayer = understudy::replayer;

/// Whether an operator is aten::empty or named after it. This project stands alone: it is what
/// et_schema/model/allocation.h of Understudy says, and observe.py.
inline bool allocates_memory(const std::string& name) {
  std::string base = name.substr(0, name.find('.'));
  base.erase(0, base.find("::") == std::string::npos ? 0 : base.find("::") + 2);
  for (const std::string beginning : {"_", "new_"})
    base.erase(0, base.rfind(beginning, 0) == 0 ? beginning.size() : 0);
  return base == "empty" || base.rfind("empty_", 0) == 0;
}

/// Whether an operator leaves elements of a result as memory had them: all of fresh memory, the
/// paths of a CTC loss behind an example's own length, parts of an LSTM's workspace.
inline bool gives_fresh_memory(const std::string& name, std::size_t result) {
  const std::string base = name.substr(0, name.find('.'));
  return allocates_memory(name) || name.find("resize") != std::string::npos ||
         (result == 1 && base == "aten::_ctc_loss") ||
         (result == 3 && base == "aten::mkldnn_rnn_layer");
}

/// Shows each operator's results to a function while it lives; operators below operators are
/// passed over.
template <typename Look>
class Observer {
 public:
  explicit Observer(Look look) : look_(std::move(look)) {
    current() = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(
            [](const at::RecordFunction&) -> std::unique_ptr<at::ObserverContext> {
              ++current()->depth_;
              return nullptr;
            },
            [](const at::RecordFunction& function, at::ObserverContext*) {
              if (--current()->depth_ == 0)
                current()->see(function);
            })
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~Observer() {
    at::removeCallback(handle_);
    current() = nullptr;
  }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

 private:
  static Observer*& current() {
    static thread_local Observer* observer = nullptr;
    return observer;
  }
  void see(const at::RecordFunction& function) {
    const at::RecordFunctionGuard unobserved(false);
    const auto name = function.operator_name();
    std::string text = name ? name->name : function.name();
    if (name && !name->overload_name.empty())
      text += "." + name->overload_name;
    std::vector<at::Tensor> results;
    for (const c10::IValue& value : function.outputs()) {
      if (value.isTensor()) {
        results.push_back(value.toTensor());
      } else if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector())
          results.push_back(tensor);
      }
    }
    look_(text, results);
  }

  Look look_;
  int depth_ = 0;
  at::CallbackHandle handle_ = 0;
};

/// One line an operator: its name and a checksum of each result.
inline std::string checksum_line(const std::string& name, const std::vector<at::Tensor>& results,
                                 replayer::FreshMemory& fresh) {
  std::string line = name;
  for (std::size_t i = 0; i < results.size(); ++i) {
    line += ' ';
    const bool is_new = gives_fresh_memory(name, i);
    line += fresh.is_shown(name, is_new, results[i]) ? "fresh" : replayer::checksum(results[i]);
  }
  return line += '\n';
}

inline bool is_healthy(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || tensor.is_meta() ||
      !(tensor.is_floating_point() || tensor.is_complex())) {
    return true;
  }
  return at::isfinite(tensor).all().item<bool>();
}

}  // namespace bench
