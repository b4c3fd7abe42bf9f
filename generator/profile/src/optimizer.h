#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "calls.h"
#include "tensors.h"

namespace understudy::generator {

/// Tells which tensors the operators of an optimizer's step work on where it takes one parameter
/// after the other, as SGD, Adam and their kin do. All tensors of a parameter have its layout, so
/// that only what an operator does tells them apart: lerp_ and addcmul_ move a state by the
/// gradient, addcdiv_ and add_ with a negative factor change the parameter, which ends its turn.
/// Parameters of one size are taken in the order of the forward pass, their gradients in that of
/// the backward pass, turned round; a state is memory from before the step.
class OptimizerStep {
 public:
  explicit OptimizerStep(const Tensors& tensors) : tensors_(tensors) {}

  /// A gradient that autograd keeps for its parameter.
  void add_gradient(SeenIndex gradient) { gradients_[sizes_of(gradient)].push_back(gradient); }

  enum class Kind : std::uint8_t {
    kOther,  ///< nothing special
    kKnown,  ///< `tensor`
    kNew     ///< a state that the step meets for the first time
  };
  struct Operand {
    Kind kind = Kind::kOther;
    SeenIndex tensor = kNotSeen;
  };
  /// The tensors of a call that stands in no operator; `next` is the name of the operator behind
  /// it.
  [[nodiscard]] std::vector<Operand> operands(const Call& call, std::string_view next);
  /// And what they became.
  void began(const Call& call, const std::vector<Operand>& operands,
             const std::vector<SeenIndex>& inputs);

 private:
  using Sizes = std::vector<std::int64_t>;

  [[nodiscard]] Sizes sizes_of(SeenIndex index) const {
    return {tensors_[index].sizes.begin(), tensors_[index].sizes.end()};
  }
  void take_turn(const Sizes& sizes);
  [[nodiscard]] Operand parameter() const;
  [[nodiscard]] Operand gradient() const;
  [[nodiscard]] Operand state(bool is_same) const;
  [[nodiscard]] std::vector<SeenIndex> parameters_of(const Sizes& sizes, std::size_t count) const;

  const Tensors& tensors_;
  std::map<Sizes, std::vector<SeenIndex>> gradients_;  ///< in the order of the backward pass
  std::map<Sizes, std::vector<SeenIndex>> parameters_;
  std::map<Sizes, std::size_t> done_;  ///< parameters that had their turn
  std::optional<Sizes> turn_;          ///< sizes of the parameter whose turn it is
  std::vector<SeenIndex> states_;      ///< of that parameter, by first use
  bool is_scaled_ = false;             ///< the last operator scaled a state
};

}  // namespace understudy::generator
