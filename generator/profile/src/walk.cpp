#include "walk.h"

#include <algorithm>
#include <map>
#include <utility>

#include "buckets.h"
#include "identity.h"
#include "input_tensors.h"
#include "result_tensors.h"

namespace understudy::generator {
namespace {

using et_schema::Arena;
using et_schema::Profile;
using et_schema::Tensor;

class Walk {
 public:
  Walk(const Profile& profile, const HostEvents& host, std::span<Call> calls, Arena arena,
       et_schema::Losses& losses)
      : host_(host),
        calls_(calls),
        losses_(losses),
        buckets_(walked_.tensors),
        results_(profile, host, walked_.tensors, arena),
        autograd_(host, calls),
        gradients_(walked_.tensors),
        inputs_(host, calls, autograd_, gradients_, walked_.tensors, arena, losses),
        frames_(host.threads.size()) {
    walked_.of_call.resize(calls.size());
    walked_.order.reserve(calls.size());
  }

  Walked walk() {
    for (const Boundary& boundary : host_.boundaries()) {
      ++moment_;
      boundary.is_end ? end(boundary.event) : begin(boundary.event);
    }
    buckets_.lay();
    for (std::size_t i = 0; i < walked_.tensors.storages(); ++i) {
      if (walked_.tensors.storage(static_cast<StorageIndex>(i)).is_external) {
        losses_.add(et_schema::Loss::kExternalTensors);
      }
    }
    return std::move(walked_);
  }

 private:
  void begin(HostIndex index) {
    walked_.order.push_back(index);
    Call& call = calls_[index];
    std::vector<Frame>& open = frames_[call.thread];
    Frame frame;
    frame.event = index;
    frame.begun = moment_;
    frame.is_operator = !call.recorded.schema.empty();
    if (!open.empty()) {
      frame.is_backward = open.back().is_backward;
      frame.is_optimizer = open.back().is_optimizer;
    }
    frame.is_backward = frame.is_backward || call.is_backward;
    if (host_.source(index).name.starts_with("Optimizer.step#")) {
      frame.is_optimizer = true;
      inputs_.begin_step();
    }
    frame.keeps_gradient = host_.source(index).name == kKeepsGradient;
    if (host_.source(index).name.starts_with(kEvaluationLabel)) {
      frame.node = node_of(call);
    }
    frame.inputs = inputs_.find(call, open, moment_);
    for (std::size_t i = 0; i < frame.inputs.size(); ++i) {
      walked_.uses.push_back({call.recorded.tensors[i], frame.inputs[i]});
      walked_.tensors[frame.inputs[i]].used = moment_;
      if (call.communicates || host_.source(index).name.starts_with("c10d::")) {
        buckets_.communicate(frame.inputs[i]);
      } else if (call.role_of[i].is_written && call.role_of[i].name == "out") {
        buckets_.fill(frame.inputs[i]);
      }
    }
    if (!open.empty() && open.back().keeps_gradient && !frame.inputs.empty() &&
        call.role_of[0].is_written) {
      gradients_.keep_in(frame.inputs[0]);
    }
    if (frame.keeps_gradient && frame.inputs.size() == 1 &&
        (gradients_.parameters().empty() ||
         gradients_.parameters().back().gradient != frame.inputs[0])) {
      gradients_.keep_of_unknown(frame.inputs[0]);
    }
    note_inputs(call, frame, open);
    open.push_back(std::move(frame));
  }

  BackwardNode node_of(const Call& label) {
    BackwardNode node;
    node.forward = autograd_.forward_of(host_.source(label.event).sequence);
    if (node.forward != kNoEvent) {
      const CallTensors& had = walked_.of_call[node.forward];
      const std::vector<TensorRole>& roles = calls_[node.forward].role_of;
      for (std::size_t i = 0; i < had.inputs.size(); ++i) {
        node.receivers.push_back({had.inputs[i], i < roles.size() ? roles[i].name : ""});
      }
      node.results = had.results;
    }
    if (const auto saved = saved_.find(host_.source(label.event).sequence); saved != saved_.end()) {
      node.saved = &saved->second;
    }
    HostIndex i = label.event + 1;
    while (i < host_.events[label.event].behind) {
      const bool is_operator = !calls_[i].recorded.schema.empty();
      if (is_operator) {
        node.calls.push_back(i);
      }
      i = is_operator ? host_.events[i].behind : i + 1;
    }
    return node;
  }

  /// Records what a call's reads show about tensors.
  void note_inputs(const Call& call, const Frame& frame, std::span<Frame> open) {
    Tensors& tensors = walked_.tensors;
    if (frame.is_operator && !frame.is_backward) {
      promise(call, frame.inputs);
      return;
    }
    const auto around = std::find_if(open.rbegin(), open.rend(), [](const Frame& label) {
      return label.node.has_value() || label.is_operator;
    });
    if (around == open.rend() || around->is_operator) {
      return;
    }
    BackwardNode& node = *around->node;
    if (!frame.is_operator) {
      node.incoming.insert(node.incoming.end(), frame.inputs.begin(), frame.inputs.end());
      for (const SeenIndex gradient : frame.inputs) {
        tensors[gradient].gradient_in = around->begun;
      }
    } else {
      std::vector<SeenIndex>& list = is_addition(call) ? node.added : node.read;
      list.insert(list.end(), frame.inputs.begin(), frame.inputs.end());
    }
  }

  /// Assigns each addition in the call's node to an argument that is read again later.
  void promise(const Call& call, std::span<const SeenIndex> inputs) {
    if (autograd_.forward_of(host_.source(call.event).sequence) != call.event) {
      return;
    }
    const std::span<const HostIndex> added = autograd_.additions(call.event);
    std::vector<HostIndex> additions(added.begin(), added.end());
    for (const SeenIndex input : inputs) {
      SeenTensor& tensor = walked_.tensors[input];
      tensor.promised -= tensor.promised > 0 ? 1 : 0;
      const auto found = std::ranges::find_if(additions, [&](HostIndex addition) {
        const std::vector<Tensor*>& terms = calls_[addition].recorded.tensors;
        return !terms.empty() && std::ranges::equal(terms[0]->sizes, tensor.sizes);
      });
      if (found != additions.end()) {
        additions.erase(found);
        ++tensor.promised;
        tensor.promised_at = moment_;
      }
    }
  }

  bool is_addition(const Call& call) {
    const HostIndex parent = host_.events[call.event].parent;
    return parent != kNoEvent &&
           Autograd::is_addition(host_.source(call.event).name, host_.source(parent).name);
  }

  void end(HostIndex index) {
    Call& call = calls_[index];
    std::vector<Frame>& open = frames_[call.thread];
    Frame frame = std::move(open.back());
    open.pop_back();
    const std::vector<SeenIndex> results = results_.find(call, frame, moment_);
    walked_.of_call[index] = {frame.inputs, results};
    note_results(call, frame, results, open);
    inputs_.ended(call, frame.inputs, results);
    const bool is_visible =
        std::ranges::none_of(open, [](const Frame& around) { return around.is_operator; });
    for (const SeenIndex result : results) {
      walked_.tensors[result].is_visible = walked_.tensors[result].is_visible || is_visible;
      walked_.tensors[result].in_backward =
          walked_.tensors[result].in_backward || frame.is_backward;
    }
    const std::int64_t sequence = host_.source(index).sequence;
    if (sequence >= 0 && !frame.is_backward) {
      save(call, frame, results, saved_[sequence]);
    }
    if (!open.empty()) {
      std::vector<SeenIndex>& made = open.back().made;
      made.insert(made.end(), results.begin(), results.end());
      if (!frame.is_operator) {
        made.insert(made.end(), frame.made.begin(), frame.made.end());
      }
    }
  }

  void note_results(const Call& call, const Frame& frame, std::span<const SeenIndex> results,
                    std::span<Frame> open) {
    Tensors& tensors = walked_.tensors;
    const bool is_differentiated =
        frame.is_operator && !frame.is_backward && autograd_.goes_back(call.event);
    for (std::size_t i = 0; i < frame.inputs.size(); ++i) {
      SeenTensor& input = tensors[frame.inputs[i]];
      input.is_differentiated = input.is_differentiated || is_differentiated;
      if (call.role_of[i].is_written) {
        input.written_by = host_.source(call.event).name;
      }
    }
    const auto node = std::find_if(open.rbegin(), open.rend(),
                                   [](const Frame& label) { return label.node.has_value(); });
    if (node != open.rend() && std::ranges::any_of(frame.inputs, [&](SeenIndex input) {
          return tensors[input].gradient_in == node->begun;
        })) {
      for (const SeenIndex result : results) {
        tensors[result].gradient_in = node->begun;
      }
    }
    if (!open.empty() && open.back().node && is_addition(call)) {
      std::vector<SeenIndex>& sums = open.back().node->sums;
      sums.insert(sums.end(), results.begin(), results.end());
    }
    if (frame.node) {
      gradients_.give(*frame.node, frame.made, host_.events[call.event].end_ns, moment_);
    }
  }

  /// Saves tensors for the backward pass. A tensor that a child was the first to show, and its
  /// views, are the result itself; the operator saves none of these.
  void save(const Call& call, const Frame& frame, std::span<const SeenIndex> results,
            std::vector<ForwardTensor>& saved) const {
    saved.clear();
    for (const SeenIndex made : frame.made) {
      if (walked_.tensors.any_in(walked_.tensors[made].storage, frame.inputs) ||
          !walked_.tensors.storage_of(made).is_external) {
        saved.push_back({made, {}});
      }
    }
    for (std::size_t i = 0; i < frame.inputs.size(); ++i) {
      saved.push_back({frame.inputs[i], i < call.role_of.size() ? call.role_of[i].name : ""});
    }
    for (const SeenIndex result : results) {
      saved.push_back({result, {}});
    }
  }

  const HostEvents& host_;
  std::span<Call> calls_;
  et_schema::Losses& losses_;
  Walked walked_;
  Buckets buckets_;
  ResultTensors results_;
  Autograd autograd_;
  Gradients gradients_;
  InputTensors inputs_;
  std::vector<std::vector<Frame>> frames_;                    ///< by thread
  std::map<std::int64_t, std::vector<ForwardTensor>> saved_;  ///< by sequence number
  std::uint64_t moment_ = 0;
};

/// Finds calls that were queried with strides other than those of the tensors that were then
/// identified, because the profile records none. Sets the right strides.
std::vector<Call*> calls_of_other_strides(std::span<Call> calls, const Walked& walked) {
  std::vector<Call*> found;
  for (Call& call : calls) {
    const std::vector<SeenIndex>& inputs = walked.of_call[call.event].inputs;
    bool is_other = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Tensor& tensor = *call.recorded.tensors[i];
      if (tensor.has_strides) {
        continue;
      }
      const std::span<const std::int64_t> strides = walked.tensors[inputs[i]].strides;
      const bool is_asked = tensor.strides.empty() ? is_row_major(tensor.sizes, strides)
                                                   : std::ranges::equal(strides, tensor.strides);
      if (!is_asked) {
        tensor.strides = strides;
        is_other = true;
      }
    }
    if (is_other && !call.recorded.schema.empty() && !call.told.tensors.empty()) {
      found.push_back(&call);
    }
  }
  return found;
}

/// Asks for the results of calls that were asked with other strides, then of those that read these
/// results, until no layout changes. Returns true if one did.
bool settle_layouts(std::span<Call> calls, Walked& walked, Arena& arena, const AskResults& ask) {
  constexpr int kMostSteps = 256;  // a layout goes on by one call in each
  for (int step = 0; step < kMostSteps; ++step) {
    const std::vector<Call*> others = calls_of_other_strides(calls, walked);
    if (others.empty()) {
      return step > 0;
    }
    ask_again(others, ask);
    for (const Call* call : others) {
      const std::vector<SeenIndex>& results = walked.of_call[call->event].results;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const ResultTensor& told = call->told.tensors[i];
        SeenTensor& result = walked.tensors[results[i]];
        if (told.same_as < 0 && std::ranges::equal(told.sizes, result.sizes) &&
            !std::ranges::equal(told.strides, result.strides)) {
          result.strides = arena.copy<std::int64_t>(told.strides);
          result.is_row_major = is_row_major(result.sizes, result.strides);
        }
      }
    }
  }
  return true;
}

}  // namespace

Walked walk_calls(const Profile& profile, const HostEvents& host, std::span<Call> calls,
                  Arena arena, const AskResults& ask, et_schema::Losses& losses) {
  constexpr int kMostRounds = 16;  // other layouts may show other identities
  for (int round = 1;; ++round) {
    et_schema::Losses inferred;
    Walked walked = Walk(profile, host, calls, arena, inferred).walk();
    if (round == kMostRounds || !settle_layouts(calls, walked, arena, ask)) {
      losses += inferred;
      return walked;
    }
  }
}

}  // namespace understudy::generator
