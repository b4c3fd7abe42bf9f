#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "gradients.h"
#include "read_calls.h"
#include "tensors.h"

namespace understudy::generator {

/// Identifies the tensors of the operators in an optimizer's step, for SGD, Adam and similar. Such
/// a step processes one parameter after the other, or all at once in lists (_foreach_…, _fused_…)
/// with one place for each parameter. All tensors of a parameter have its layout, so only the
/// operators distinguish them: lerp_ and addcmul_ update a state by the gradient; addcdiv_ and add_
/// with a negative factor change the parameter, which ends its turn.
///
/// Parameters are processed in the order of the forward pass, with weight and bias of one operator
/// together. Gradients are those that autograd kept for them. A state is memory from before the
/// step.
class OptimizerStep {
 public:
  OptimizerStep(const Tensors& tensors, const Gradients& gradients)
      : tensors_(tensors), gradients_(gradients) {}

  /// Begins a step.
  void begin();

  enum class Kind {
    kOther,  ///< nothing special
    kKnown,  ///< the tensor is `tensor`
    kNew     ///< a state that the step uses for the first time
  };
  struct Operand {
    Kind kind = Kind::kOther;
    SeenIndex tensor = kNotSeen;
  };
  /// Returns the tensors of a call outside of other operators; `next` is the name of the operator
  /// after it.
  [[nodiscard]] std::vector<Operand> operands(const Call& call, std::string_view next);
  /// Returns the tensors of a call on a list of all gradients (clipping); kOther for other calls.
  [[nodiscard]] std::vector<Operand> gradients(const Call& call);
  /// Records the tensors found for the operands, and the call's results.
  void ended(const Call& call, const std::vector<Operand>& operands,
             std::span<const SeenIndex> inputs, std::span<const SeenIndex> results);

 private:
  using Parameter = Gradients::Parameter;
  /// A parameter that is being processed.
  struct Turn {
    Parameter parameter;
    std::vector<SeenIndex> states;  ///< ordered by first use
    SeenIndex scaled = kNotSeen;    ///< the state that the last operator scaled
    SeenIndex copied = kNotSeen;    ///< the last state that `add` read: state + number
    std::vector<SeenIndex> unread;  ///< results of its operators
    SeenIndex last_result = kNotSeen;
  };
  /// The properties of a call that matter here.
  struct Op {
    std::string_view name;   ///< "mul_", also for "aten::_foreach_mul_"
    std::string_view next;   ///< the operator behind it
    bool has_two = false;    ///< two tensors of one layout
    double factor = 1;       ///< alpha
    bool ends_turn = false;  ///< the parameter is changed, and the next one follows
  };
  /// Positions of one parameter's tensors among the call's tensors.
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
  std::vector<Parameter> left_;                     ///< not yet processed, by first use
  SeenIndex last_ = kNotSeen;                       ///< the last parameter that was processed
  std::map<std::size_t, std::vector<Turn>> turns_;  ///< by number of parameters processed at once
  std::vector<SeenIndex> counters_;                 ///< 0-D states that were changed last
  std::string_view next_;
};

}  // namespace understudy::generator
