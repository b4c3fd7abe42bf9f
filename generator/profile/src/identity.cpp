#include "identity.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

namespace understudy::generator {
namespace {

/// The best of the candidates that were offered, by a key of which the smallest is best.
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

bool contains(std::span<const SeenIndex> list, SeenIndex index) {
  return std::ranges::find(list, index) != list.end();
}

}  // namespace

bool is_parameter_name(std::string_view argument) {
  constexpr std::array<std::string_view, 8> kNames = {
      "weight", "bias", "running_mean",   "running_var",
      "w_ih",   "w_hh", "in_proj_weight", "out_proj_weight"};
  return std::ranges::find(kNames, argument) != kNames.end();
}

bool Identity::can_be(const Wanted& wanted, SeenIndex index, std::int64_t now_ns) const {
  const SeenTensor& tensor = tensors_[index];
  const auto is_same = [](std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
    return std::ranges::equal(a, b);
  };
  return (wanted.dtype == et_schema::DType::kUndefined || wanted.dtype == tensor.dtype) &&
         is_same(wanted.sizes, tensor.sizes) &&
         (wanted.strides.size() != wanted.sizes.size() ||
          is_same(wanted.strides, tensor.strides)) &&
         tensors_.storage_of(index).freed_ns > now_ns;
}

Identity::Choice Identity::find_gradient(const Wanted& wanted, std::span<const SeenIndex> taken,
                                         std::int64_t now_ns) const {
  using Key = std::tuple<bool, bool, std::int64_t>;
  Best<Key> best;
  for (const SeenIndex index : tensors_.of_sizes(wanted.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (tensor.in_backward && tensor.is_visible && can_be(wanted, index, now_ns)) {
      best.offer(index, {contains(taken, index), tensor.used != 0,
                         -static_cast<std::int64_t>(tensor.born)});
    }
  }
  return best.choice();
}

Identity::Choice Identity::find(const Wanted& wanted, std::span<const Frame> frames,
                                std::span<const SeenIndex> taken, std::int64_t now_ns,
                                std::int64_t end_ns) const {
  if (wanted.is_gradient) {
    const Choice choice = find_gradient(wanted, taken, now_ns);
    if (choice.tensor != kNotSeen) {
      return choice;
    }
  }
  // Inside of an operator, or of a node of the backward pass: its own tensors.
  using ScopeKey = std::tuple<bool, int, std::int64_t>;
  const auto frame = std::find_if(frames.rbegin(), frames.rend(), [](const Frame& around) {
    return around.is_operator || around.saved != nullptr;
  });
  if (frame != frames.rend()) {
    Best<ScopeKey> best;
    const auto offer = [&](std::span<const SeenIndex> list, int unread, int read, bool newest) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (can_be(wanted, list[i], now_ns)) {
          const bool is_read = tensors_[list[i]].used > frame->begun;
          const auto place = static_cast<std::int64_t>(i);
          best.offer(list[i],
                     {contains(taken, list[i]), is_read ? read : unread, newest ? -place : place});
        }
      }
    };
    for (auto open = frames.rbegin(); open != frame + 1; ++open) {
      offer(open->made, 1, 3, true);
      // Each gradient of a product is made from the node's own, not from another.
      offer(open->inputs, open->is_product ? 0 : 2, open->is_product ? 0 : 4, false);
    }
    if (frame->saved != nullptr) {
      for (std::size_t i = 0; i < frame->saved->size(); ++i) {
        const Saved& saved = (*frame->saved)[i];
        const bool is_argument = !wanted.argument.empty() && saved.argument == wanted.argument;
        if (can_be(wanted, saved.tensor, now_ns)) {
          best.offer(saved.tensor, {contains(taken, saved.tensor), is_argument ? -1 : 2,
                                    static_cast<std::int64_t>(i)});
        }
      }
    }
    const Choice choice = best.choice();
    if (choice.tensor != kNotSeen || frame->is_operator) {
      return choice;
    }
  }
  const bool in_backward = !frames.empty() && frames.back().is_backward;
  const bool in_optimizer = !frames.empty() && frames.back().is_optimizer;
  const bool is_parameter = !in_backward && is_parameter_name(wanted.argument);
  using Key = std::tuple<bool, int, std::int64_t, int, std::int64_t>;
  Best<Key> best;
  for (const SeenIndex index : tensors_.of_sizes(wanted.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (!tensor.is_visible || !can_be(wanted, index, now_ns)) {
      continue;
    }
    const SeenStorage& storage = tensors_.storage_of(index);
    const bool is_read = tensor.used != 0;
    if (is_parameter && (storage.is_external || is_read)) {
      continue;
    }
    const auto born = static_cast<std::int64_t>(tensor.born);
    const bool is_taken = contains(taken, index);
    if (in_optimizer) {
      // Each parameter in the order of the forward pass, its gradient in that of the backward one.
      const bool is_done = tensor.used > frames.back().begun;
      const int kind =
          wanted.is_written ? (storage.is_external ? 0 : 1) : (tensor.in_backward ? 0 : 1);
      best.offer(index, {is_taken, kind, is_done ? 1 : 0, 0, wanted.is_written ? born : -born});
      continue;
    }
    if (in_backward) {
      best.offer(index, {is_taken,
                         tensor.in_backward && !is_read ? 0
                         : tensor.in_backward           ? 1
                                                        : 2,
                         storage.freed_ns <= end_ns ? 0 : 1, is_read ? 1 : 0, -born});
      continue;
    }
    const bool dies = storage.freed_ns <= end_ns;
    const std::int64_t freed_ns = storage.freed_ns < backward_ns_ ? storage.freed_ns : kLatestNs;
    const int read = !is_read ? 0 : tensor.maker == wanted.op ? 1 : 2;
    best.offer(index, {is_taken, dies ? 0 : 1, dies ? 0 : freed_ns, read, -born});
  }
  return best.choice();
}

}  // namespace understudy::generator
