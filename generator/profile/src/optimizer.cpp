#include "optimizer.h"

#include <algorithm>

#include "et_schema/model/schema_text.h"

namespace understudy::generator {
namespace {

using et_schema::Value;
using et_schema::ValueKind;

/// The number that the argument of that name is; 1 where it is not told.
double number(const Call& call, std::string_view name) {
  const int place = et_schema::argument_index(call.recorded.schema, name);
  if (place < 0 || static_cast<std::size_t>(place) >= call.recorded.inputs.size()) {
    return 1;
  }
  const Value& value = call.recorded.inputs[static_cast<std::size_t>(place)];
  return value.is(ValueKind::kDouble) ? value.as_double()
         : value.is(ValueKind::kInt)  ? static_cast<double>(value.as_int())
                                      : 1;
}

std::string_view name_of(const Call& call) {
  return et_schema::without_namespace(et_schema::operator_name(call.recorded.schema));
}

/// Whether the operator has two tensors, of one layout: neither is a number that Python gave.
bool has_two(const Call& call) {
  const std::vector<et_schema::Tensor*>& tensors = call.recorded.tensors;
  return tensors.size() == 2 && std::ranges::equal(tensors[0]->sizes, tensors[1]->sizes);
}

/// Whether the operator changes the parameter, after which the next one has its turn.
bool ends_turn(const Call& call) {
  const std::string_view name = name_of(call);
  return (name == "addcdiv_" && call.recorded.tensors.size() == 3) ||
         (name == "add_" && has_two(call) && number(call, "alpha") < 0);
}

}  // namespace

std::vector<SeenIndex> OptimizerStep::parameters_of(const Sizes& sizes, std::size_t count) const {
  std::vector<SeenIndex> named;
  std::vector<SeenIndex> others;
  for (const SeenIndex index : tensors_.of_sizes(sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (tensors_.storage_of(index).is_external && tensor.is_visible && tensor.used != 0) {
      (tensor.is_parameter ? named : others).push_back(index);
    }
  }
  if (named.size() < count) {
    const std::size_t missing = std::min(count - named.size(), others.size());
    named.insert(named.end(), others.begin(),
                 others.begin() + static_cast<std::ptrdiff_t>(missing));
    std::ranges::sort(named, {}, [this](SeenIndex index) { return tensors_[index].born; });
  }
  named.resize(std::min(named.size(), count));
  return named;
}

void OptimizerStep::take_turn(const Sizes& sizes) {
  if (turn_ == sizes) {
    return;
  }
  turn_ = sizes;
  states_.clear();
  is_scaled_ = false;
  if (!parameters_.contains(sizes)) {
    parameters_[sizes] = parameters_of(sizes, gradients_[sizes].size());
  }
}

OptimizerStep::Operand OptimizerStep::parameter() const {
  const std::vector<SeenIndex>& all = parameters_.at(*turn_);
  const auto done = done_.find(*turn_);
  const std::size_t place = done == done_.end() ? 0 : done->second;
  return place < all.size() ? Operand{Kind::kKnown, all[place]} : Operand{};
}

OptimizerStep::Operand OptimizerStep::gradient() const {
  const std::vector<SeenIndex>& all = gradients_.at(*turn_);
  const auto done = done_.find(*turn_);
  const std::size_t place = done == done_.end() ? 0 : done->second;
  return place < all.size() ? Operand{Kind::kKnown, all[all.size() - 1 - place]} : Operand{};
}

OptimizerStep::Operand OptimizerStep::state(bool is_same) const {
  return is_same && !states_.empty() ? Operand{Kind::kKnown, states_.back()}
                                     : Operand{Kind::kNew, kNotSeen};
}

std::vector<OptimizerStep::Operand> OptimizerStep::operands(const Call& call,
                                                            std::string_view next) {
  const std::vector<et_schema::Tensor*>& tensors = call.recorded.tensors;
  if (tensors.empty() ||
      !gradients_.contains({tensors[0]->sizes.begin(), tensors[0]->sizes.end()})) {
    return {};
  }
  take_turn({tensors[0]->sizes.begin(), tensors[0]->sizes.end()});
  const std::string_view name = name_of(call);
  const Operand first_state = states_.empty() ? gradient() : Operand{Kind::kKnown, states_.front()};
  if (name == "lerp_" && has_two(call)) {
    return {state(false), gradient()};
  }
  if (name == "mul_" && !has_two(call)) {
    const bool scales_state = next == "addcmul_" || next == "add_";
    return {scales_state ? state(false) : parameter()};
  }
  if (name == "addcmul_" && tensors.size() == 3) {
    return {state(is_scaled_), gradient(), gradient()};
  }
  if (name == "addcdiv_" && tensors.size() == 3) {
    return {parameter(), states_.size() > 1 ? first_state : gradient(), {}};
  }
  if (name == "add_" && has_two(call)) {
    return number(call, "alpha") < 0 ? std::vector{parameter(), first_state}
                                     : std::vector{state(is_scaled_), gradient()};
  }
  if (name == "add" && has_two(call) && states_.empty()) {
    return {gradient(), parameter()};
  }
  if (name == "sqrt" && tensors.size() == 1 && !states_.empty()) {
    return {state(true)};
  }
  return {};
}

void OptimizerStep::began(const Call& call, const std::vector<Operand>& operands,
                          const std::vector<SeenIndex>& inputs) {
  if (operands.empty()) {
    return;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind == Kind::kNew) {
      states_.push_back(inputs[i]);
    }
  }
  is_scaled_ = name_of(call) == "mul_" && operands[0].kind == Kind::kNew;
  if (ends_turn(call)) {
    ++done_[*turn_];
    turn_.reset();
  }
}

}  // namespace understudy::generator
