#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tensors.h"

namespace understudy::generator {

/// A tensor of a forward operator.
struct ForwardTensor {
  SeenIndex tensor = kNotSeen;
  std::string_view argument;  ///< in the schema; empty of results, and of what children made
};

/// A node of the backward pass, as far as it has run.
struct BackwardNode {
  HostIndex forward = kNoEvent;                       ///< the operator that it goes back through
  std::vector<ForwardTensor> receivers;               ///< the arguments of that operator
  std::span<const SeenIndex> results;                 ///< of that operator
  const std::vector<ForwardTensor>* saved = nullptr;  ///< what autograd may have kept of it
  std::vector<HostIndex> calls;     ///< the node's operators, without those in operators
  std::vector<SeenIndex> incoming;  ///< its own gradients, which it may pass on
  std::vector<SeenIndex> read;      ///< by its operators
  std::vector<SeenIndex> added;     ///< arguments of additions to waiting gradients
  std::vector<SeenIndex> sums;      ///< and their results
};

/// The gradients that wait for the node of the backward pass which takes them: each is the sum of
/// what the nodes of a tensor's readers gave, and goes to the node of the operator that made it, or
/// is kept for a parameter.
class Gradients {
 public:
  explicit Gradients(Tensors& tensors) : tensors_(tensors) {}

  struct Parameter {
    SeenIndex tensor = kNotSeen;  ///< kNotSeen: it is not known
    SeenIndex gradient = kNotSeen;
  };

  /// A node ends, which `made` these tensors, in order.
  void give(const BackwardNode& node, std::span<const SeenIndex> made, std::int64_t end_ns,
            std::uint64_t moment);

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
    parameters_.push_back({best->of, best->gradient});
    return remove(*best);
  }

  /// The gradient of one of these receivers to which the node adds now and has not before.
  template <typename Fits>
  SeenIndex to_add_to(std::span<const ForwardTensor> receivers, const Fits& fits) {
    for (const ForwardTensor& receiver : receivers) {
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
      parameters_.back().gradient = sum;
    }
  }

  /// A gradient was kept, of which no node tells whose it is.
  void keep_of_unknown(SeenIndex gradient) { parameters_.push_back({kNotSeen, gradient}); }

  /// Parameters with the gradients that were kept for them.
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }

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
  std::vector<Parameter> parameters_;
};

}  // namespace understudy::generator
