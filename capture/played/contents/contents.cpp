// What a script finds in the memory of a played card, whose kernels compute nothing: when an
// operator ends, whose arguments are known, it is done again on the host, on tensors that lie where
// the card's do. What follows from a number that is not known is assumed, on the card and on the
// host.
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/played/contents/driver.h"
#include "capture/played/contents/operators.h"
#include "capture/played/contents/reads.h"
#include "capture/played/contents/storages.h"
#include "capture/played/contents/tensors.h"

namespace understudy::contents {
namespace {

constexpr std::int64_t kMostNumbers = 1 << 20;  // of an operator that is done again

using Places = std::unordered_set<const void*>;  // where storages begin

/// An operator that runs.
struct Call : at::ObserverContext, Reader {
  std::vector<c10::IValue> inputs;
  std::vector<c10::IValue> made;   ///< its results, if they were needed before it ran
  std::vector<Bytes> forgotten;    ///< by the driver, for the pointers that its kernels have
  Places given;                    ///< of its arguments
  Places written;                  ///< by the operators within it
  bool is_known = true;            ///< all that it depends on
  bool has_card = false;           ///< a tensor of the card among its arguments
  bool stands_for_others = false;  ///< its tensors have no memory: what it is made of says all
};

/// What is done here is not recorded, and not differentiated.
class Aside {
 private:
  at::RecordFunctionGuard unrecorded_{false};
  at::NoGradGuard no_grad_;
  c10::impl::ExcludeDispatchKeyGuard below_{
      c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset |
      c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                           c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::PreDispatch})};
};

std::vector<c10::IValue> repeat(const Operator& op, const std::vector<c10::IValue>& inputs) {
  torch::jit::Stack stack;
  for (const c10::IValue& input : inputs) {
    stack.push_back(on_host(input));
  }
  op.handle.callBoxed(stack);
  return stack;
}

std::int64_t numbers(const std::vector<c10::IValue>& values) {
  std::int64_t count = 0;
  for (const c10::IValue& value : values) {
    each_tensor(value, [&](const at::Tensor& tensor) { count += tensor.numel(); });
  }
  return count;
}

// ---- what an operator is given

void take_argument(Call& call, const at::Tensor& tensor, bool matters) {
  if (!has_memory(tensor)) {
    call.stands_for_others |= stands_for_others(tensor);
    call.is_known &= !matters || tensor.layout() == at::kStrided;
    return;
  }
  const bool is_extent_known = is_known(extent(tensor));
  call.given.insert(storage_of(tensor));
  call.has_card |= tensor.is_cuda();
  call.is_known &= !matters || is_extent_known;
  if (tensor.is_cpu() && !is_extent_known && call.called->decides &&
      (!call.called->reads_lengths || !tensor.is_floating_point())) {
    check_decision(call);
  }
}

/// What an operator's kernels would count or compare, and the operator reads back.
void answer_ahead(Call& call) {
  const Operator& op = *call.called;
  if ((!op.has_dynamic_size && op.name != "aten::equal") || !call.has_card || !op.is_of_torch ||
      !call.is_known || call.stands_for_others || numbers(call.inputs) > kMostNumbers) {
    return;
  }
  const Aside aside;
  try {
    call.made = repeat(op, call.inputs);
    if (call.made.front().isBool()) {
      call.answer = call.made.front().toBool() ? 1 : 0;
      return;
    }
    const at::Tensor& first = call.made.front().toTensor();
    const bool has_dim = op.name == "aten::unique_dim" || op.name == "aten::unique_dim_consecutive";
    call.answer = first.size(has_dim ? call.inputs[1].toInt() : 0);
  } catch (const std::exception&) {
    call.made.clear();  // the card's own operator says what is wrong
  }
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const auto name = function.operator_name();
  const Operator* const op = name ? find_operator(*name) : nullptr;
  if (op == nullptr) {
    return nullptr;
  }
  auto call = std::make_unique<Call>();
  call->called = op;
  call->parent = innermost();
  call->inputs.assign(function.inputs().begin(), function.inputs().end());
  for (std::size_t i = 0; i < call->inputs.size(); ++i) {
    const bool matters = i >= op->matters.size() || op->matters[i];
    call->is_known &= !matters || !has_unread(call->inputs[i]);
    each_tensor(call->inputs[i],
                [&](const at::Tensor& tensor) { take_argument(*call, tensor, matters); });
  }
  answer_ahead(*call);
  innermost() = call.get();
  return call;
}

// ---- what it leaves

struct Results {
  std::vector<at::Tensor> made;     ///< in memory of their own
  std::vector<at::Tensor> written;  ///< arguments
};

Results results_of(const Call& call, const std::vector<c10::IValue>& outputs) {
  Results results;
  for (const c10::IValue& output : outputs) {
    each_tensor(output, [&](const at::Tensor& tensor) {
      if (has_memory(tensor) && call.given.count(storage_of(tensor)) == 0) {
        results.made.push_back(tensor);
      }
    });
  }
  for (const std::size_t place : call.called->written) {
    each_tensor(call.inputs[place], [&](const at::Tensor& tensor) {
      if (has_memory(tensor)) {
        results.written.push_back(tensor);
      }
    });
  }
  return results;
}

/// Does the operator again. Its results must come out as the card's.
bool compute(const Call& call, const std::vector<c10::IValue>& outputs) {
  const Aside aside;
  try {
    const auto host = call.made.empty() ? repeat(*call.called, call.inputs) : call.made;
    std::vector<at::Tensor> made;
    for (const c10::IValue& value : host) {
      each_tensor(value, [&](const at::Tensor& tensor) { made.push_back(tensor); });
    }
    std::size_t next = 0;
    bool is_same = true;
    for (const c10::IValue& output : outputs) {
      each_tensor(output, [&](const at::Tensor& tensor) {
        is_same = is_same && next < made.size() &&
                  (tensor.numel() == 0 ||
                   (made[next].sizes() == tensor.sizes() && made[next].dtype() == tensor.dtype()));
        if (is_same && tensor.numel() > 0 && has_memory(tensor) &&
            call.given.count(storage_of(tensor)) == 0) {
          on_host(tensor).copy_(made[next]);
        }
        ++next;
      });
    }
    return is_same;
  } catch (const std::exception&) {
    return false;
  }
}

/// Whether the operator can be done again: nothing that it starts from was changed meanwhile.
bool can_repeat(const Call& call, const Results& results, const std::vector<c10::IValue>& outputs) {
  const Operator& op = *call.called;
  bool is_untouched = true;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    each_tensor(call.inputs[i], [&](const at::Tensor& tensor) {
      const bool is_changed = has_memory(tensor) && call.written.count(storage_of(tensor)) > 0;
      is_untouched &= !is_changed || !op.matters[i];
    });
  }
  for (const at::Tensor& tensor : results.written) {
    is_untouched &= tensor.is_cuda() || op.name == "aten::copy_";  // the host's are done
  }
  return is_untouched && !call.stands_for_others && numbers(call.inputs) <= kMostNumbers &&
         numbers(outputs) <= kMostNumbers;
}

/// Whether what the operator left is what a card would have left.
bool is_computed(const Call& call, const Results& results,
                 const std::vector<c10::IValue>& outputs) {
  const Operator& op = *call.called;
  bool is_of_card = call.has_card;
  bool is_done = true;  // the operators within it did all, and no kernel came after them
  for (const auto* tensors : {&results.made, &results.written}) {
    for (const at::Tensor& tensor : *tensors) {
      is_of_card |= tensor.is_cuda();
      is_done &= call.written.count(storage_of(tensor)) > 0 && is_known(extent(tensor));
    }
  }
  if (!call.is_known || !is_of_card) {
    return call.is_known;
  }
  if (!op.is_of_torch || op.is_random || op.makes_nothing || driver::is_capturing()) {
    return false;
  }
  return is_done || (can_repeat(call, results, outputs) && compute(call, outputs));
}

/// Kernels of torch's own operators write their results alone; other pointers that they have, to
/// what they read or left over in their arguments, forget nothing.
void remember(const Call& call, const Results& results) {
  if (!call.called->is_of_torch || call.stands_for_others) {
    return;
  }
  Places written = call.written;
  for (const auto* tensors : {&results.made, &results.written}) {
    for (const at::Tensor& tensor : *tensors) {
      written.insert(storage_of(tensor));
    }
  }
  for (const Bytes& bytes : call.forgotten) {
    const void* const storage = live_storages().around(bytes);
    if (storage != nullptr && written.count(storage) == 0) {
      know(bytes);
    }
  }
}

void leave(const Call& call, const Results& results, const std::vector<c10::IValue>& outputs) {
  for (const at::Tensor& tensor : results.made) {
    if (tensor.is_cuda() && call.written.count(storage_of(tensor)) == 0) {
      const Bytes all = all_of_storage(tensor);
      driver::give(all.at, all.count);
    }
  }
  const bool is_known_now = is_computed(call, results, outputs);
  remember(call, results);
  const auto set = [&](const at::Tensor& tensor, bool has_gaps) {
    if (call.stands_for_others && call.written.count(storage_of(tensor)) > 0) {
      return;
    }
    if (!is_known_now) {
      assume(extent(tensor));
    } else if (!has_gaps) {
      know(extent(tensor));
      live_storages().add(tensor);
    }
  };
  for (const at::Tensor& tensor : results.made) {
    set(tensor, false);
  }
  for (const at::Tensor& tensor : results.written) {
    set(tensor, !tensor.is_non_overlapping_and_dense());
  }
}

/// Memory that is taken anew for a tensor that is there.
void leave_moved(const Call& call) {
  const at::Tensor& tensor = call.inputs.front().toTensor();
  if (has_memory(tensor) && tensor.is_cuda() && call.given.count(storage_of(tensor)) == 0) {
    const Bytes all = all_of_storage(tensor);
    driver::give(all.at, all.count);
  }
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) {
    return;
  }
  Call& call = *static_cast<Call*>(context);
  innermost() = call.parent;
  if (call.called->moves) {
    leave_moved(call);
  } else if (!call.called->keeps_contents) {
    const auto& outputs = function.outputs();
    const Results results = results_of(call, outputs);
    if (!call.called->is_of_groups) {
      leave(call, results, outputs);
    }
    for (const auto* tensors : {&results.made, &results.written}) {
      for (const at::Tensor& tensor : *tensors) {
        call.written.insert(storage_of(tensor));
      }
    }
  }
  if (call.parent != nullptr) {
    static_cast<Call*>(call.parent)->written.merge(call.written);
  }
}

void hear_forgotten(const void* at, std::size_t bytes) {
  if (innermost() != nullptr) {
    static_cast<Call*>(innermost())->forgotten.push_back({static_cast<const char*>(at), bytes});
  }
}

void follow() {
  answer_reads();
  driver::on_forgotten(&hear_forgotten);
  at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end)
                            .needsInputs(true)
                            .needsOutputs(true)
                            .scopes({at::RecordScope::FUNCTION}));
}

}  // namespace
}  // namespace understudy::contents

/// Follows all operators from now on. The played driver must be loaded.
extern "C" void understudy_follow_contents() {
  understudy::contents::follow();
}
