#include "identity.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "et_schema/base/words.h"
#include "et_schema/facts/operator_facts.h"

namespace understudy::generator {
namespace {

using std::string_view_literals::operator""sv;

/// Finds the candidate with the smallest key.
template <typename Key>
class Best {
 public:
  void offer(SeenIndex index, const Key& key) {
    ++count_;
    if (!key_ || key < *key_) {
      key_ = key;
      index_ = index;
    }
  }
  [[nodiscard]] Identity::Choice choice() const {
    return {index_, count_ == 0 ? Told::kExternal : count_ == 1 ? Told::kMade : Told::kInferred};
  }

 private:
  SeenIndex index_ = kNotSeen;
  std::optional<Key> key_;
  int count_ = 0;
};

/// A key that orders tensors by birth, the newest first.
std::int64_t newest_first(const SeenTensor& tensor) {
  return -static_cast<std::int64_t>(tensor.born);
}

/// How well a tensor matches an argument in a node of the backward pass; the smallest is best.
enum class InNode : std::uint8_t {
  kNamedGradient,  ///< "grad_output" of a …_backward operator
  kNamedSaved,     ///< an argument of that name of the forward operator
  kMade,           ///< made by the node and not yet read
  kGradient,       ///< received by the node
  kFreedHere,      ///< saved for this node
  kSaved,
  kSecondGradient,  ///< derived from gradients, as another argument already is
  kSavedForView,    ///< saved, but a view of the gradient is needed
  kUnlikelyGradient,
  /// Made, and the only candidate for the gradient of an argument of the forward operator.
  kLeaving,
  kMadeAndRead,
  kSavedAndRead
};

std::optional<et_schema::Meaning> meaning_of(const Wanted& wanted) {
  const et_schema::ArgumentFacts& facts = et_schema::operator_facts(wanted.op).arguments;
  const auto* const fact =
      std::ranges::find(facts, wanted.role.name, &et_schema::ArgumentFact::name);
  return fact == facts.end() ? std::nullopt : std::optional(fact->meaning);
}

/// Returns true if the argument's integers add up, as offsets and lengths do. Results that
/// operators save for their backward pass do not add up.
bool adds_up(const Wanted& wanted) {
  using et_schema::Meaning;
  constexpr std::array<Meaning, 7> kAddUp = {
      Meaning::kMonotone,        Meaning::kOffsets,       Meaning::kEnds,      Meaning::kLengths,
      Meaning::kLengthsOfResult, Meaning::kSortedLengths, Meaning::kBatchSizes};
  const std::optional<Meaning> meaning = meaning_of(wanted);
  return meaning && std::ranges::find(kAddUp, *meaning) != kAddUp.end();
}

/// Returns true if a tensor of these strides can be the argument, for profiles without strides.
/// Tensors with overlapping elements are neither written nor passed to as_strided, and a tensor
/// that is viewed in other sizes is mostly contiguous.
bool may_have_strides(const Wanted& wanted, const SeenTensor& tensor) {
  const std::span<const std::int64_t> strides = tensor.strides;
  if (wanted.role.is_written || wanted.op == "aten::as_strided"sv) {
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (strides[i] == 0 && tensor.sizes[i] > 1) {
        return false;
      }
    }
  }
  const bool is_view = wanted.op == "aten::view"sv || wanted.op == "aten::_unsafe_view"sv;
  return !is_view || tensor.is_row_major;
}

}  // namespace

bool is_parameter_name(std::string_view argument) {
  return et_schema::has_word(
      "weight bias running_mean running_var w_ih w_hh in_proj_weight out_proj_weight offsets",
      argument);
}

bool needs_its_own(const Wanted& wanted, std::span<const SeenIndex> taken, SeenIndex found) {
  // Table offsets are stored separately from the other offsets among the arguments.
  return contains(taken, found) && meaning_of(wanted) == et_schema::Meaning::kTableOffsets;
}

bool Identity::can_be(const Wanted& wanted, SeenIndex index) const {
  const SeenTensor& tensor = tensors_[index];
  const bool is_older = tensor.maker == kNoEvent;
  return !tensor.is_gone &&
         (wanted.dtype == et_schema::DType::kUndefined || wanted.dtype == tensor.dtype) &&
         std::ranges::equal(wanted.tensor.sizes, tensor.sizes) &&
         (wanted.tensor.has_strides ? std::ranges::equal(wanted.tensor.strides, tensor.strides)
                                    : may_have_strides(wanted, tensor)) &&
         tensors_.storage_of(index).freed_ns > wanted.begin_ns &&
         // Tensors that are zeroed in lists are gradients.
         (is_older || tensor.in_backward || wanted.op != "aten::_foreach_zero_"sv) &&
         // resize_ allocated it for a decomposed operator: no recorded call wrote it yet.
         (!tensor.is_resized || wanted.role.is_written || is_older || !tensor.written_by.empty());
}

Identity::Choice Identity::find(const Wanted& wanted, Frames frames, Taken taken) const {
  const bool in_backward = !frames.empty() && frames.back().is_backward;
  if (wanted.call.recorded.schema.empty() && (wanted.call.is_backward || in_backward)) {
    return find_gradient(wanted, frames, taken);
  }
  if (std::ranges::any_of(frames, &Frame::is_operator)) {
    return find_in_operator(wanted, frames, taken);
  }
  if (wanted.role.is_written && frames.size() > 1 && frames.back().keeps_gradient) {
    return find_kept(wanted);
  }
  if (std::ranges::any_of(frames, [](const Frame& frame) { return frame.node.has_value(); })) {
    const Choice choice = find_in_node(wanted, frames, taken);
    if (choice.tensor != kNotSeen) {
      return choice;
    }
  }
  return !frames.empty() && (in_backward || frames.back().is_optimizer)
             ? find_in_step(wanted, frames, taken)
             : find_forward(wanted, taken);
}

Identity::Choice Identity::find_gradient(const Wanted& wanted, Frames frames, Taken taken) const {
  const auto fits = [&](SeenIndex index) {
    return can_be(wanted, index) && !contains(taken, index);
  };
  SeenIndex waiting = kNotSeen;
  if (wanted.op == kKeepsGradient) {
    waiting = gradients_.take_parameters(fits);
  } else if (!frames.empty() && frames.back().node) {
    waiting = gradients_.take(frames.back().node->results, fits);
  }
  if (waiting != kNotSeen) {
    return {waiting, Told::kMade};
  }
  Best<std::tuple<bool, bool, std::int64_t>> best;
  for (const SeenIndex index : tensors_.of_sizes(wanted.tensor.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (tensor.is_visible && can_be(wanted, index)) {
      best.offer(index, {contains(taken, index), tensor.used != 0, newest_first(tensor)});
    }
  }
  return best.choice();
}

/// Finds gradients that were zeroed before, in the order of the parameters.
Identity::Choice Identity::find_kept(const Wanted& wanted) const {
  Best<std::int64_t> best;
  for (const SeenIndex index : tensors_.of_sizes(wanted.tensor.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (tensors_.storage_of(index).is_external && tensor.written_by == "aten::zero_" &&
        can_be(wanted, index)) {
      best.offer(index, newest_first(tensor));
    }
  }
  return best.choice();
}

Identity::Choice Identity::find_in_operator(const Wanted& wanted, Frames frames,
                                            Taken taken) const {
  const auto around = std::find_if(frames.rbegin(), frames.rend(),
                                   [](const Frame& frame) { return frame.is_operator; });
  Best<std::tuple<bool, int, std::int64_t>> best;
  // A call does not write another view of a tensor that it reads.
  const auto is_view_of_taken = [&](SeenIndex index) {
    return std::ranges::any_of(taken, [&](SeenIndex other) {
      return other != index && tensors_[other].storage == tensors_[index].storage;
    });
  };
  const auto offer = [&](std::span<const SeenIndex> list, int rank, bool newest) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (can_be(wanted, list[i]) && !(wanted.role.is_written && is_view_of_taken(list[i]))) {
        const bool is_read = tensors_[list[i]].used > around->begun;
        const auto place = static_cast<std::int64_t>(i);
        best.offer(list[i],
                   {contains(taken, list[i]), is_read ? rank + 2 : rank, newest ? -place : place});
      }
    }
  };
  for (auto open = frames.rbegin(); open != around + 1; ++open) {
    offer(newest_of(open->made), 1, true);
    offer(open->inputs, 2, false);
  }
  return best.choice();
}

bool Identity::is_last_of_its_sizes(SeenIndex index, const Frame& node, HostIndex call) const {
  const SeenTensor& tensor = tensors_[index];
  const auto has_sizes = [&](std::span<const std::int64_t> sizes) {
    return std::ranges::equal(sizes, tensor.sizes);
  };
  return std::ranges::any_of(node.node->receivers,
                             [&](const ForwardTensor& receiver) {
                               return has_sizes(tensors_[receiver.tensor].sizes);
                             }) &&
         std::ranges::none_of(node.node->calls, [&](HostIndex other) {
           return other >= call && host_.events[other].parent != node.event &&
                  std::ranges::any_of(calls_[other].told.tensors, has_sizes, &ResultTensor::sizes);
         });
}

std::optional<bool> Identity::view_is_of_gradient(const Call& view,
                                                  const BackwardNode& node) const {
  if (view.recorded.tensors.size() != 1 || view.told.tensors.size() != 1 ||
      view.told.tensors[0].storage_of < 0) {
    return {};
  }
  const ResultTensor& result = view.told.tensors[0];
  for (auto at = std::ranges::find(node.calls, view.event); at != node.calls.end(); ++at) {
    const std::vector<et_schema::Tensor*>& read = calls_[*at].recorded.tensors;
    const auto reader = std::ranges::find_if(read, [&](const et_schema::Tensor* tensor) {
      return *at != view.event && std::ranges::equal(tensor->sizes, result.sizes) &&
             std::ranges::equal(tensor->strides, result.strides);
    });
    if (reader == read.end() || read.size() < 2) {
      continue;
    }
    // gradient × saved′, saved′ × gradient, or the transpose of gradient′ × saved.
    const auto next = at + 1;
    return reader == read.begin() && next != node.calls.end() &&
           calls_[*next].recorded.schema == view.recorded.schema &&
           calls_[*at].told.tensors.size() == 1 &&
           std::ranges::equal(calls_[*next].recorded.tensors[0]->sizes,
                              calls_[*at].told.tensors[0].sizes);
  }
  return {};
}

Identity::Choice Identity::find_in_node(const Wanted& wanted, Frames frames, Taken taken) const {
  const auto around = std::find_if(frames.rbegin(), frames.rend(),
                                   [](const Frame& frame) { return frame.node.has_value(); });
  const BackwardNode& node = *around->node;
  const bool is_first = taken.empty();
  const bool adds = wanted.op == "aten::add" || wanted.op == "aten::add_";
  if (adds && is_first && &*around == &frames.back()) {
    const SeenIndex waiting = gradients_.to_add_to(
        node.receivers, [&](SeenIndex index) { return can_be(wanted, index); });
    if (waiting != kNotSeen) {
      return {waiting, Told::kMade};
    }
  }
  const auto is_of_gradient = [&](SeenIndex index) {
    return tensors_[index].gradient_in == around->begun;
  };
  const bool is_formula = wanted.op.find("backward") != std::string_view::npos;
  const bool has_gradient = std::ranges::any_of(taken, is_of_gradient);
  const bool is_sum = adds || wanted.op == "aten::sub" || wanted.op == "aten::sub_";
  const std::optional<bool> views_gradient =
      is_formula ? std::nullopt : view_is_of_gradient(wanted.call, node);
  Best<std::tuple<bool, InNode, std::int64_t>> best;
  const auto is_read = [&](SeenIndex index) { return tensors_[index].used > around->begun; };
  for (auto open = frames.rbegin(); open != around + 1; ++open) {
    for (const SeenIndex made : newest_of(open->made)) {
      if (can_be(wanted, made)) {
        const bool is_leaving = !(adds && &*around == &frames.back()) &&
                                is_last_of_its_sizes(made, *around, wanted.call.event);
        const InNode rank = is_read(made) ? InNode::kMadeAndRead
                            : is_leaving  ? InNode::kLeaving
                            : is_formula  ? (is_first ? InNode::kMade : InNode::kSaved)
                            : has_gradient && is_of_gradient(made) && !is_sum
                                ? InNode::kSecondGradient
                                : InNode::kMade;
        best.offer(made, {contains(taken, made), rank, newest_first(tensors_[made])});
      }
    }
  }
  for (std::size_t i = 0; i < node.incoming.size(); ++i) {
    const SeenIndex index = node.incoming[i];
    if (can_be(wanted, index)) {
      const bool is_likely = is_formula ? wanted.role.name.starts_with("grad")
                                        : views_gradient != false && !has_gradient;
      const InNode rank = !is_likely   ? InNode::kUnlikelyGradient
                          : is_formula ? InNode::kNamedGradient
                                       : InNode::kGradient;
      best.offer(index, {tensors_.any_in(tensors_[index].storage, taken), rank,
                         static_cast<std::int64_t>(i)});
    }
  }
  for (std::size_t i = 0; node.saved != nullptr && i < node.saved->size(); ++i) {
    const ForwardTensor& saved = (*node.saved)[i];
    if (can_be(wanted, saved.tensor)) {
      const bool has_name = is_formula && !wanted.role.name.empty() &&
                            wanted.role.name == saved.argument && wanted.role.name != "self";
      const bool is_freed_here =
          autograd_.frees(node.forward, tensors_.storage_of(saved.tensor).freed_ns);
      const InNode rank = has_name                 ? InNode::kNamedSaved
                          : is_read(saved.tensor)  ? InNode::kSavedAndRead
                          : views_gradient == true ? InNode::kSavedForView
                          : is_freed_here          ? InNode::kFreedHere
                                                   : InNode::kSaved;
      best.offer(saved.tensor, {contains(taken, saved.tensor), rank, static_cast<std::int64_t>(i)});
    }
  }
  return best.choice();
}

Identity::Choice Identity::find_in_step(const Wanted& wanted, Frames frames, Taken taken) const {
  Best<std::tuple<bool, int, bool, bool, std::int64_t>> best;
  for (const SeenIndex index : tensors_.of_sizes(wanted.tensor.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (!tensor.is_visible || !can_be(wanted, index)) {
      continue;
    }
    const SeenStorage& storage = tensors_.storage_of(index);
    const bool is_taken = contains(taken, index);
    if (frames.back().is_optimizer) {
      const bool is_done = tensor.used > frames.back().begun;
      const bool is_likely = wanted.role.is_written ? storage.is_external : tensor.in_backward;
      best.offer(index, {is_taken, is_likely ? 0 : 1, is_done, false,
                         wanted.role.is_written ? -newest_first(tensor) : newest_first(tensor)});
    } else {
      const bool is_read = tensor.used != 0;
      best.offer(index, {is_taken,
                         !tensor.in_backward ? 2
                         : is_read           ? 1
                                             : 0,
                         storage.freed_ns > wanted.call.next_ns, is_read, newest_first(tensor)});
    }
  }
  return best.choice();
}

Identity::Choice Identity::find_forward(const Wanted& wanted, Taken taken) const {
  const bool is_parameter = is_parameter_name(wanted.role.name);
  const bool is_kept = autograd_.reads_parameter(wanted.call.event, wanted.tensor.sizes);
  const bool is_structure = adds_up(wanted);
  Best<std::tuple<bool, int, std::int64_t, std::int64_t>> best;
  for (const SeenIndex index : tensors_.of_sizes(wanted.tensor.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (!tensor.is_visible || !can_be(wanted, index)) {
      continue;
    }
    const SeenStorage& storage = tensors_.storage_of(index);
    const bool is_freed_by_it = storage.freed_ns <= wanted.call.next_ns ||
                                autograd_.frees(wanted.call.event, storage.freed_ns);
    const bool is_read = tensor.used != 0;
    const bool is_promised = tensor.promised > 0;
    // An argument named like a parameter is a new tensor in each call. So is a counter of a module.
    const bool is_old = storage.is_external || is_read;
    const bool is_counter =
        storage.is_external && (tensor.sizes.empty() || tensor.written_by == "aten::zero_") &&
        !tensor.written_by.empty() && (!wanted.role.is_written || tensor.written_by == wanted.op);
    const bool is_another =
        (!is_promised && (is_parameter ? is_old : is_kept && storage.is_external)) || is_counter;
    // Results that an operator returns only for its own node (statistics) have no other reader.
    const bool is_its_makers = tensor.place > 0 && autograd_.frees(tensor.maker, storage.freed_ns);
    if ((!is_freed_by_it && (is_another || is_its_makers)) || (is_structure && tensor.place > 0)) {
      continue;
    }
    const int grade = is_freed_by_it              ? 0
                      : !is_read                  ? 1
                      : is_promised               ? 2
                      : !tensor.is_differentiated ? 3
                                                  : 4;
    const std::int64_t freed_ns =
        storage.freed_ns < autograd_.begin_ns() ? storage.freed_ns : kLatestNs;
    best.offer(index,
               {contains(taken, index), grade, freed_ns,
                is_promised && storage.is_external ? static_cast<std::int64_t>(tensor.promised_at)
                                                   : newest_first(tensor)});
  }
  return best.choice();
}

}  // namespace understudy::generator
