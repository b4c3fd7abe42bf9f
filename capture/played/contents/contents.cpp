// What a script finds in the memory of a played card, whose kernels compute nothing: when an
// operator ends, whose arguments are known, it is done again on the host, on tensors that lie where
// the card's do. What follows from a number that is not known is assumed, on the card and on the
// host.
#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <vector>

#include "capture/played/contents/operators.h"
#include "capture/played/contents/reads.h"
#include "capture/played/contents/tensors.h"
#include "capture/played/played.h"

namespace understudy::contents {
namespace {

constexpr std::int64_t kMostNumbers = 1 << 20;  // of an operator that is done again

using Values = std::vector<c10::IValue>;
using Storages = std::unordered_set<const void*>;  // by where they begin

/// An operator that runs.
struct Call : at::ObserverContext, Reader {
  Values inputs;
  Values answered;                 ///< its results, if they were needed before it ran
  std::vector<Bytes> forgotten;    ///< became assumed, since its kernels have pointers there
  Storages given;                  ///< of its arguments
  Storages written;                ///< by the operators within it
  bool is_known = true;            ///< all that it depends on
  bool is_host_known = true;       ///< what of it is on the host
  bool has_card = false;           ///< a tensor of the card among its arguments
  bool stands_for_others = false;  ///< a tensor has none: the operators within say what is known
};

struct Result {
  at::Tensor tensor;
  bool is_made;  ///< else an argument that was written
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

Values repeat(const Call& call) {
  torch::jit::Stack stack;
  for (const c10::IValue& input : call.inputs) {
    stack.push_back(on_host(input));
  }
  call.called->handle.callBoxed(stack);
  return stack;
}

std::vector<at::Tensor> tensors_of(const Values& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    each_tensor(value, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  }
  return tensors;
}

bool is_small(const Values& values) {
  std::int64_t numbers = 0;
  for (const at::Tensor& tensor : tensors_of(values)) {
    numbers += tensor.numel();
  }
  return numbers <= kMostNumbers;
}

void give(const at::Tensor& tensor) {
  const Bytes all = all_of_storage(tensor);
  played_give(all.at, all.count);
}

// ---- what an operator is given

void take_argument(Call& call, const at::Tensor& tensor, bool matters) {
  if (!has_memory(tensor)) {
    call.stands_for_others |= stands_for_others(tensor);
    call.is_known &= !matters || tensor.layout() == at::kStrided;
    return;
  }
  const bool is_tensor_known = is_known(tensor);
  call.given.insert(storage_of(tensor));
  call.has_card |= tensor.is_cuda();
  call.is_known &= !matters || is_tensor_known;
  call.is_host_known &= !matters || is_tensor_known || tensor.is_cuda();
  if (tensor.is_cpu() && !is_tensor_known && call.called->decides &&
      (!call.called->reads_lengths || !tensor.is_floating_point())) {
    check_decision(call);
  }
}

/// What an operator's kernels would count or compare, and the operator reads back.
void answer_ahead(Call& call) {
  const Operator& op = *call.called;
  if ((!op.has_dynamic_size && op.name != "aten::equal") || !op.is_of_torch || !call.has_card ||
      !call.is_known || call.stands_for_others || !is_small(call.inputs)) {
    return;
  }
  const Aside aside;
  try {
    call.answered = repeat(call);
    const c10::IValue& first = call.answered.front();
    const bool has_dim = op.name == "aten::unique_dim" || op.name == "aten::unique_dim_consecutive";
    call.answer = first.isBool() ? static_cast<std::int64_t>(first.toBool())
                                 : first.toTensor().size(has_dim ? call.inputs[1].toInt() : 0);
  } catch (const std::exception&) {
    call.answered.clear();  // the card's own operator says what is wrong
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
  for (std::size_t i = 0; i < op->matters.size() && i < call->inputs.size(); ++i) {
    call->is_known &= !op->matters[i] || !has_unread(call->inputs[i]);
    each_tensor(call->inputs[i],
                [&](const at::Tensor& tensor) { take_argument(*call, tensor, op->matters[i]); });
  }
  answer_ahead(*call);
  innermost() = call.get();
  return call;
}

void hear_forgotten(const void* at, std::size_t bytes) {
  if (innermost() != nullptr) {
    static_cast<Call*>(innermost())->forgotten.push_back({static_cast<const char*>(at), bytes});
  }
}

// ---- what it leaves

bool has_own_memory(const Call& call, const at::Tensor& result) {
  return has_memory(result) && call.given.count(storage_of(result)) == 0;
}

std::vector<Result> results_of(const Call& call, const Values& outputs) {
  std::vector<Result> results;
  for (const at::Tensor& tensor : tensors_of(outputs)) {
    if (has_own_memory(call, tensor)) {
      results.push_back({tensor, true});
    }
  }
  for (const std::size_t place : call.called->written) {
    each_tensor(call.inputs[place], [&](const at::Tensor& tensor) {
      if (has_memory(tensor)) {
        results.push_back({tensor, false});
      }
    });
  }
  return results;
}

/// Does the operator again. Its results must come out as the card's.
bool compute(const Call& call, const Values& outputs) {
  const Aside aside;
  try {
    const auto host = tensors_of(call.answered.empty() ? repeat(call) : call.answered);
    const auto card = tensors_of(outputs);
    for (std::size_t i = 0; i < card.size(); ++i) {
      if (card[i].numel() == 0 || !has_own_memory(call, card[i])) {
        continue;
      }
      if (host.at(i).sizes() != card[i].sizes() || host[i].dtype() != card[i].dtype()) {
        return false;
      }
      on_host(card[i]).copy_(host[i]);
    }
    return true;
  } catch (const std::exception&) {
    return false;  // the host has no such operator
  }
}

/// Whether the operator can be done again: nothing that it starts from was changed meanwhile.
bool can_repeat(const Call& call, const std::vector<Result>& results, const Values& outputs) {
  bool is_untouched = true;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    each_tensor(call.inputs[i], [&](const at::Tensor& tensor) {
      const bool is_changed = has_memory(tensor) && call.written.count(storage_of(tensor)) > 0;
      is_untouched &= !is_changed || !call.called->matters[i];
    });
  }
  for (const auto& [tensor, is_made] : results) {
    is_untouched &= is_made || tensor.is_cuda() || call.called->name == "aten::copy_";
  }
  return is_untouched && !call.stands_for_others && is_small(call.inputs) && is_small(outputs);
}

/// Whether what the operator left is what a card would have left.
bool is_computed(const Call& call, const std::vector<Result>& results, const Values& outputs) {
  const Operator& op = *call.called;
  bool is_of_card = call.has_card;
  bool is_done = true;  // the operators within it did all, and no kernel came after them
  for (const auto& [tensor, is_made] : results) {
    is_of_card |= tensor.is_cuda();
    is_done &= call.written.count(storage_of(tensor)) > 0 && is_known(tensor);
  }
  if (!call.is_known || !is_of_card) {
    return call.is_known;
  }
  if (!op.is_of_torch || op.is_random || op.makes_nothing || played_is_capturing() != 0) {
    return false;
  }
  return is_done || (can_repeat(call, results, outputs) && compute(call, outputs));
}

/// Kernels of torch's own operators write their results alone; other pointers that they have, to
/// what they read or left over in their arguments, forget nothing.
void remember(const Call& call, const std::vector<Result>& results) {
  Storages written = call.written;
  for (const Result& result : results) {
    written.insert(storage_of(result.tensor));
  }
  for (const Bytes& bytes : call.forgotten) {
    const void* const storage = live_storage_around(bytes);
    if (storage != nullptr && written.count(storage) == 0) {
      know(bytes);
    }
  }
}

void leave(const Call& call, const std::vector<Result>& results, const Values& outputs) {
  for (const auto& [tensor, is_made] : results) {
    if (is_made && tensor.is_cuda() && call.written.count(storage_of(tensor)) == 0) {
      give(tensor);
    }
  }
  const bool is_known_now = is_computed(call, results, outputs);
  const bool leaves_card = std::any_of(
      results.begin(), results.end(), [](const Result& result) { return result.tensor.is_cuda(); });
  if (call.called->is_of_torch && !call.stands_for_others) {
    remember(call, results);
  }
  for (const auto& [tensor, is_made] : results) {
    if (call.stands_for_others && call.written.count(storage_of(tensor)) > 0) {
      continue;
    }
    follow_storage(tensor);
    // Where the card has results, too, the host's are counted of what is on the host: lengths.
    const bool is_of_host = leaves_card && tensor.is_cpu() && is_made;
    if (!(is_of_host ? call.is_host_known : is_known_now)) {
      assume(extent(tensor));
    } else if (is_made || tensor.is_non_overlapping_and_dense()) {
      know(extent(tensor));
    }
  }
}

/// A tensor that takes other memory: nobody says what is copied there.
void leave_moved(const Call& call) {
  const at::Tensor& tensor = call.inputs.front().toTensor();
  if (tensor.is_cuda() && has_own_memory(call, tensor)) {
    give(tensor);
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
    const auto results = results_of(call, function.outputs());
    if (!call.called->is_of_groups) {
      leave(call, results, function.outputs());
    }
    for (const Result& result : results) {
      call.written.insert(storage_of(result.tensor));
    }
  }
  if (call.parent != nullptr) {
    static_cast<Call*>(call.parent)->written.merge(call.written);
  }
}

}  // namespace
}  // namespace understudy::contents

extern "C" {

/// Whether a tensor's bytes are not known.
int understudy_is_assumed(const char* at, std::size_t bytes, int is_of_host) {
  return understudy::contents::is_known({at, bytes}, is_of_host != 0) ? 0 : 1;
}

/// Follows all operators from now on.
void understudy_follow_contents() {
  understudy::contents::answer_reads();
  played_on_forgotten(&understudy::contents::hear_forgotten);
  at::addGlobalCallback(
      at::RecordFunctionCallback(&understudy::contents::begin, &understudy::contents::end)
          .needsInputs(true)
          .needsOutputs(true)
          .scopes({at::RecordScope::FUNCTION}));
}
}
