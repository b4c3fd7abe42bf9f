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
  std::string_view argument;  ///< in the schema; empty for results and for tensors made by children
};

/// A node of the backward pass, up to the current time.
struct BackwardNode {
  HostIndex forward = kNoEvent;                       ///< the operator that the node differentiates
  std::vector<ForwardTensor> receivers;               ///< the arguments of that operator
  std::span<const SeenIndex> results;                 ///< of that operator
  const std::vector<ForwardTensor>* saved = nullptr;  ///< tensors that autograd may have saved
  std::vector<HostIndex> calls;                       ///< the node's direct operators
  std::vector<SeenIndex> incoming;  ///< gradients that the node received and may pass on
  std::vector<SeenIndex> read;      ///< by its operators
  std::vector<SeenIndex> added;     ///< arguments of additions to waiting gradients
  std::vector<SeenIndex> sums;      ///< results of those additions
};

/// Gradients that backward nodes computed and no node has consumed yet, one per forward tensor. If
/// several operators read the tensor, the gradients from their nodes are summed. The consumer is
/// the node of the operator that made the tensor. The gradient of a parameter is kept instead.
class Gradients {
 public:
  explicit Gradients(Tensors& tensors) : tensors_(tensors) {}

  struct Parameter {
    SeenIndex tensor = kNotSeen;  ///< kNotSeen: unknown
    SeenIndex gradient = kNotSeen;
  };

  /// Records that a node ended after it `made` these tensors, in order.
  void give(const BackwardNode& node, std::span<const SeenIndex> made, std::int64_t end_ns,
            std::uint64_t moment);

  /// Removes and returns the gradient of one of these tensors that `fits`; kNotSeen if none does.
  template <typename Fits>
  SeenIndex take(std::span<const SeenIndex> of, const Fits& fits) {
    for (const SeenIndex tensor : of) {
      if (Waiting* const waiting = find(tensor); waiting != nullptr && fits(waiting->gradient)) {
        return remove(*waiting);
      }
    }
    return kNotSeen;
  }

  /// Removes and returns the newest gradient that `fits` and belongs to a parameter, that is, a
  /// tensor older than the profile; kNotSeen if none does.
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

  /// Returns a gradient of these receivers that `fits` and was not added to yet; kNotSeen if none.
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

  /// Records that the last kept gradient was added to the existing one `sum`.
  void keep_in(SeenIndex sum) {
    if (!parameters_.empty()) {
      parameters_.back().gradient = sum;
    }
  }

  /// Records that a gradient was kept for an unknown parameter.
  void keep_of_unknown(SeenIndex gradient) { parameters_.push_back({kNotSeen, gradient}); }

  /// Returns the parameters with the gradients that were kept for them.
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
