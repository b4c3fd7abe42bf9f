#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "calls.h"
#include "gradients.h"
#include "tensors.h"

namespace understudy::generator {

/// Tells which tensors the operators of an optimizer's step work on, as SGD, Adam and their kin
/// do: one parameter after the other, or all at once in lists (_foreach_…, _fused_…), of which each
/// place is a parameter's. All tensors of a parameter have its layout, so that only what an
/// operator does tells them apart: lerp_ and addcmul_ move a state by the gradient, addcdiv_ and
/// add_ with a negative factor change the parameter, which ends its turn.
/// Parameters are taken in the order of the forward pass, those of an operator (weight and bias)
/// together; gradients are those that autograd kept for them; a state is memory from before the
/// step.
class OptimizerStep {
 public:
  OptimizerStep(const Tensors& tensors, const Gradients& gradients)
      : tensors_(tensors), gradients_(gradients) {}

  /// A step begins.
  void begin();

  enum class Kind {
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
  /// Those of a call on a list of all gradients, as one that clips them; kOther for others.
  [[nodiscard]] std::vector<Operand> gradients(const Call& call);
  /// And what they became, and what the call results in.
  void ended(const Call& call, const std::vector<Operand>& operands,
             std::span<const SeenIndex> inputs, std::span<const SeenIndex> results);

 private:
  using Parameter = Gradients::Parameter;
  /// A parameter whose turn it is.
  struct Turn {
    Parameter parameter;
    std::vector<SeenIndex> states;  ///< by first use
    SeenIndex scaled = kNotSeen;    ///< the state that the last operator scaled
    SeenIndex copied = kNotSeen;    ///< the last state of which there is a sum
    std::vector<SeenIndex> unread;  ///< results of its operators
    SeenIndex last_result = kNotSeen;
  };
  /// What the call is, as far as it matters here.
  struct Op {
    std::string_view name;   ///< "mul_", also of "aten::_foreach_mul_"
    std::string_view next;   ///< the operator behind it
    bool has_two = false;    ///< two tensors of one layout
    double factor = 1;       ///< alpha
    bool ends_turn = false;  ///< the parameter is changed, and the next one has its turn
  };
  /// Positions among the call's tensors, of one parameter.
  using Column = std::vector<std::size_t>;

  [[nodiscard]] static std::vector<Column> columns_of(const Call& call);
  [[nodiscard]] static Op op_of(const Call& call, const Column& column, std::string_view next);
  [[nodiscard]] SeenIndex first_unknown(const SeenTensor& gradient) const;
  [[nodiscard]] Parameter next_parameter(std::span<const std::int64_t> sizes);
  [[nodiscard]] std::vector<Operand> operands_of(const Turn& turn, const Op& op,
                                                 std::size_t count) const;
  void note(Turn& turn, const Op& op, const Column& column, const std::vector<Operand>& operands,
            std::span<const SeenIndex> inputs, SeenIndex result);

  const Tensors& tensors_;
  const Gradients& gradients_;
  std::vector<Parameter> left_;                     ///< whose turn is still to come, by first use
  SeenIndex last_ = kNotSeen;                       ///< the last parameter whose turn came
  std::map<std::size_t, std::vector<Turn>> turns_;  ///< by number of parameters at once
  std::vector<SeenIndex> counters_;  ///< states without dimensions that were changed last
  std::string_view next_;
};

}  // namespace understudy::generator
