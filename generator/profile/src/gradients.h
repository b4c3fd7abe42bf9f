#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tensors.h"

namespace understudy::generator {

/// The gradients that wait for the node of the backward pass which takes them: each is the sum of
/// what the nodes of a tensor's readers gave, and goes to the node of the operator that made it, or
/// is kept for a parameter.
class Gradients {
 public:
  explicit Gradients(Tensors& tensors) : tensors_(tensors) {}

  /// An argument of a forward operator, to which its node may give a gradient.
  struct Receiver {
    SeenIndex tensor = kNotSeen;
    std::string_view argument;  ///< its name in the schema
  };
  /// What a node of the backward pass worked on until it ended.
  struct Given {
    std::span<const Receiver> receivers;  ///< of the forward operator, in its order
    std::span<const SeenIndex> made;      ///< by the node, in order
    std::span<const SeenIndex> read;      ///< by the node's operators
    std::span<const SeenIndex> incoming;  ///< its own gradients, which it may pass on
    std::span<const SeenIndex> added;     ///< arguments of additions to waiting gradients
    std::span<const SeenIndex> sums;      ///< and their results
    std::int64_t end_ns = 0;
    std::uint64_t moment = 0;
  };
  void give(const Given& given);

  /// Takes the gradient of one of these tensors that `fits`; kNotSeen: none does.
  template <typename Fits>
  SeenIndex take(std::span<const SeenIndex> of, const Fits& fits) {
    for (const SeenIndex tensor : of) {
      if (Waiting* const waiting = find(tensor); waiting != nullptr && fits(waiting->gradient)) {
        return remove(*waiting);
      }
    }
    return kNotSeen;
  }

  /// Takes the newest gradient that `fits` of a tensor that is older than the profile, which is a
  /// parameter; kNotSeen: none does.
  template <typename Fits>
  SeenIndex take_parameters(const Fits& fits) {
    Waiting* best = nullptr;
    for (Waiting& waiting : waiting_) {
      if (tensors_.storage_of(waiting.of).is_external && fits(waiting.gradient) &&
          (best == nullptr || waiting.moment > best->moment)) {
        best = &waiting;
      }
    }
    if (best == nullptr) {
      return kNotSeen;
    }
    parameters_.emplace_back(best->of, best->gradient);
    return remove(*best);
  }

  /// The gradient of one of these receivers to which the node adds now and has not before.
  template <typename Fits>
  SeenIndex to_add_to(std::span<const Receiver> receivers, const Fits& fits) {
    for (const Receiver& receiver : receivers) {
      Waiting* const waiting = find(receiver.tensor);
      if (waiting != nullptr && !waiting->is_added_to && fits(waiting->gradient)) {
        waiting->is_added_to = true;
        return waiting->gradient;
      }
    }
    return kNotSeen;
  }

  /// The last gradient that was kept is added to this one, which was there.
  void keep_in(SeenIndex sum) {
    if (!parameters_.empty()) {
      parameters_.back().second = sum;
    }
  }

  /// A gradient was kept, of which no node tells whose it is.
  void keep_of_unknown(SeenIndex gradient) { parameters_.emplace_back(kNotSeen, gradient); }

  /// Parameters with the gradients that were kept for them; kNotSeen where that is not known.
  [[nodiscard]] const std::vector<std::pair<SeenIndex, SeenIndex>>& parameters() const {
    return parameters_;
  }

 private:
  struct Waiting {
    SeenIndex of = kNotSeen;
    SeenIndex gradient = kNotSeen;
    std::uint64_t moment = 0;
    bool is_added_to = false;
  };
  [[nodiscard]] Waiting* find(SeenIndex tensor);
  SeenIndex remove(Waiting& waiting);

  Tensors& tensors_;
  std::vector<Waiting> waiting_;  ///< by moment
  std::vector<std::pair<SeenIndex, SeenIndex>> parameters_;
};

}  // namespace understudy::generator
