#include "optimizer.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "et_schema/facts/schema_text.h"

namespace understudy::generator {
namespace {

using et_schema::ValueKind;

constexpr std::uint64_t kNeverBorn = std::numeric_limits<std::uint64_t>::max();

/// Returns the number of the named argument; 1 if it is not recorded.
double number(const Call& call, std::string_view name) {
  const int place = et_schema::argument_index(call.recorded.schema, name);
  if (place < 0 || static_cast<std::size_t>(place) >= call.recorded.inputs.size()) {
    return 1;
  }
  const et_schema::Value& value = call.recorded.inputs[static_cast<std::size_t>(place)];
  return value.is(ValueKind::kDouble) ? value.as_double()
         : value.is(ValueKind::kInt)  ? static_cast<double>(value.as_int())
                                      : 1;
}

/// Returns "mul_" for "_foreach_mul_".
std::string_view of_one(std::string_view name) {
  constexpr std::string_view kLists = "_foreach_";
  return name.starts_with(kLists) ? name.substr(kLists.size()) : name;
}

}  // namespace

void OptimizerStep::begin() {
  left_.clear();
  turns_.clear();
  last_ = kNotSeen;
  std::vector<Parameter> unseen;  // parameters that only a compiled graph reads
  const auto add = [&](const Parameter& parameter) {
    const auto known = std::ranges::find(left_, parameter.tensor, &Parameter::tensor);
    if (known == left_.end()) {
      left_.push_back(parameter);
    } else {
      known->gradient = parameter.gradient;
    }
  };
  for (const Parameter& parameter : gradients_.parameters()) {
    if (parameter.tensor != kNotSeen) {
      add(parameter);
    }
  }
  // The backward pass processes parameters from the last to the first.
  for (Parameter parameter : gradients_.parameters() | std::views::reverse) {
    if (parameter.tensor == kNotSeen) {
      parameter.tensor = first_unknown(tensors_[parameter.gradient]);
      parameter.tensor == kNotSeen ? unseen.push_back(parameter) : add(parameter);
    }
  }
  std::ranges::sort(left_, {}, &Parameter::tensor);
  left_.insert(left_.end(), unseen.begin(), unseen.end());
}

/// Returns the first tensor older than the profile that could be a parameter and is not yet one.
SeenIndex OptimizerStep::first_unknown(const SeenTensor& gradient) const {
  for (const SeenIndex index : tensors_.of_sizes(gradient.sizes)) {
    const SeenTensor& tensor = tensors_[index];
    if (tensor.dtype == gradient.dtype && tensors_.storage_of(index).is_external &&
        tensor.is_visible && !tensor.in_backward && tensor.used != 0 &&
        std::ranges::find(left_, index, &Parameter::tensor) == left_.end() &&
        std::ranges::find(gradients_.parameters(), index, &Parameter::gradient) ==
            gradients_.parameters().end()) {
      return index;
    }
  }
  return kNotSeen;
}

/// Returns the next parameter of these sizes, or one used together with the last.
OptimizerStep::Parameter OptimizerStep::next_parameter(std::span<const std::int64_t> sizes) {
  const auto born = [&](const Parameter& parameter) {
    return parameter.tensor == kNotSeen ? kNeverBorn : tensors_[parameter.tensor].born;
  };
  auto best = left_.end();
  int best_rank = 0;
  for (auto at = left_.begin(); at != left_.end(); ++at) {
    const SeenIndex known = at->tensor == kNotSeen ? at->gradient : at->tensor;
    if (!std::ranges::equal(tensors_[known].sizes, sizes)) {
      continue;
    }
    const bool is_with_last = last_ != kNotSeen && born(*at) == tensors_[last_].born;
    const bool is_first = at == left_.begin() || born(*std::prev(at)) != born(*at);
    const int rank = is_with_last ? 3 : is_first ? 2 : 1;
    if (rank > best_rank) {
      best = at;
      best_rank = rank;
    }
  }
  if (best == left_.end()) {
    return {};
  }
  const Parameter parameter = *best;
  left_.erase(best);
  last_ = parameter.tensor;
  return parameter;
}

std::vector<OptimizerStep::Column> OptimizerStep::columns_of(const Call& call) {
  std::vector<Column> columns;
  std::size_t place = 0;
  for (std::size_t i = 0; i < call.role_of.size(); ++i) {
    const bool is_same_list =
        i > 0 && call.role_of[i].is_untyped && call.role_of[i - 1].name == call.role_of[i].name;
    place = is_same_list ? place + 1 : 0;
    const bool is_wanted = call.role_of[i].is_untyped || !call.role_of.front().is_untyped;
    if (is_wanted) {
      columns.resize(std::max(columns.size(), place + 1));
      columns[place].push_back(i);
    }
  }
  return columns;
}

OptimizerStep::Op OptimizerStep::op_of(const Call& call, const Column& column,
                                       std::string_view next) {
  const std::vector<et_schema::Tensor*>& tensors = call.recorded.tensors;
  Op op;
  op.name = of_one(et_schema::without_namespace(et_schema::operator_name(call.recorded.schema)));
  op.next = of_one(next);
  op.has_two =
      column.size() > 1 && std::ranges::equal(tensors[column[0]]->sizes, tensors[column[1]]->sizes);
  op.factor = number(call, "alpha");
  op.ends_turn = op.name.starts_with("_fused_") ||
                 (op.next != op.name && ((op.name == "addcdiv_" && column.size() == 3) ||
                                         (op.name == "add_" && op.has_two && op.factor < 0)));
  return op;
}

std::vector<OptimizerStep::Operand> OptimizerStep::operands_of(const Turn& turn, const Op& op,
                                                               std::size_t count) const {
  const auto known = [](SeenIndex tensor) {
    return tensor == kNotSeen ? Operand{} : Operand{Kind::kKnown, tensor};
  };
  const Operand state{Kind::kNew, kNotSeen};
  const Operand parameter = known(turn.parameter.tensor);
  const Operand gradient = known(turn.parameter.gradient);
  const Operand first_state = turn.states.empty() ? gradient : known(turn.states.front());
  const Operand last_state = turn.states.empty() ? Operand{} : known(turn.states.back());
  const Operand result = turn.unread.empty() ? Operand{} : known(turn.unread.back());
  const auto result_or = [&](Operand other) { return turn.unread.empty() ? other : result; };
  const bool has_new_state = turn.states.empty() || turn.copied == turn.states.back();
  if (op.name == "lerp_" && op.has_two) {
    return {state, gradient};
  }
  if (op.name == "mul_" && !op.has_two) {
    const bool scales_state = op.next == "addcmul_" || op.next == "add_";
    const bool is_known = !turn.states.empty() && turn.copied == turn.states.back();
    return {!scales_state ? result_or(parameter) : is_known ? last_state : state};
  }
  if (op.name == "addcmul_" && count == 3) {
    const Operand moved = turn.scaled == kNotSeen ? state : known(turn.scaled);
    return {moved, result_or(gradient), result_or(gradient)};
  }
  if (op.name == "addcdiv_" && count == 3) {
    const bool is_by_gradient = turn.states.size() < 2 || op.next == op.name;
    return {parameter, is_by_gradient ? gradient : first_state, known(turn.last_result)};
  }
  if (op.name == "add_" && op.has_two) {
    return op.factor < 0
               ? std::vector{parameter, result_or(first_state)}
               : std::vector{turn.scaled == kNotSeen ? result_or(state) : known(turn.scaled),
                             gradient};
  }
  if (op.name == "add" && op.has_two) {
    return {gradient, turn.states.empty() ? parameter : last_state};
  }
  if (op.name == "add") {
    return {has_new_state ? state : last_state};
  }
  std::vector<Operand> operands{op.name.ends_with('_') ? result : result_or(last_state)};
  if (op.has_two) {
    operands.push_back(turn.unread.size() > 1 ? known(turn.unread[turn.unread.size() - 2])
                                              : gradient);
  }
  return operands;
}

std::vector<OptimizerStep::Operand> OptimizerStep::operands(const Call& call,
                                                            std::string_view next) {
  next_ = next;
  std::vector<Operand> all(call.recorded.tensors.size());
  const std::vector<Column> columns = columns_of(call);
  if (columns.empty()) {
    return all;
  }
  const std::vector<et_schema::Tensor*>& tensors = call.recorded.tensors;
  const bool is_counter = tensors[columns[0][0]]->sizes.empty();
  if (is_counter) {
    const bool is_changed = call.role_of[0].is_written;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      all[columns[i][0]] = is_changed             ? Operand{Kind::kNew, kNotSeen}
                           : i < counters_.size() ? Operand{Kind::kKnown, counters_[i]}
                                                  : Operand{};
    }
    return all;
  }
  std::vector<Turn>& turns = turns_[columns.size()];
  if (columns.size() == 1 && !turns.empty() && turns[0].parameter.tensor != kNotSeen &&
      !std::ranges::equal(tensors_[turns[0].parameter.tensor].sizes, tensors[0]->sizes)) {
    turns.clear();
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    if (i >= turns.size()) {
      turns.emplace_back();
      turns.back().parameter = next_parameter(tensors[column[0]]->sizes);
    }
    const Op op = op_of(call, column, next);
    if (op.name.starts_with("_fused_")) {
      for (const std::size_t place : column) {
        const std::string_view role = call.role_of[place].name;
        const Parameter& parameter = turns[i].parameter;
        all[place] = {Kind::kNew, kNotSeen};
        if (role == "state_steps" && counters_.size() == columns.size()) {
          all[place] = {Kind::kKnown, counters_[i]};
        } else if (const SeenIndex known = role == "self"    ? parameter.tensor
                                           : role == "grads" ? parameter.gradient
                                                             : kNotSeen;
                   known != kNotSeen) {
          all[place] = {Kind::kKnown, known};
        }
      }
      continue;
    }
    const std::vector<Operand> operands = operands_of(turns[i], op, column.size());
    for (std::size_t j = 0; j < std::min(operands.size(), column.size()); ++j) {
      all[column[j]] = operands[j];
    }
  }
  return all;
}

std::vector<OptimizerStep::Operand> OptimizerStep::gradients(const Call& call) {
  std::vector<Operand> all(call.recorded.tensors.size());
  begin();
  for (const Column& column : columns_of(call)) {
    const Parameter parameter = next_parameter(call.recorded.tensors[column[0]]->sizes);
    if (parameter.tensor == kNotSeen) {
      return std::vector<Operand>(all.size());
    }
    all[column[0]] = {Kind::kKnown, parameter.gradient};
  }
  return all;
}

void OptimizerStep::note(Turn& turn, const Op& op, const Column& column,
                         const std::vector<Operand>& operands, std::span<const SeenIndex> inputs,
                         SeenIndex result) {
  for (std::size_t j = 0; j < column.size(); ++j) {
    if (operands[column[j]].kind == Kind::kNew) {
      turn.states.push_back(inputs[column[j]]);
    }
    if (j > 0 || !op.name.ends_with('_')) {
      std::erase(turn.unread, inputs[column[j]]);
    }
  }
  const SeenIndex first = inputs[column[0]];
  const bool is_state = std::ranges::find(turn.states, first) != turn.states.end();
  turn.scaled = op.name == "mul_" && !op.has_two && is_state ? first : kNotSeen;
  if (result == kNotSeen || result == first) {
    return;
  }
  if (op.name == "add" && !op.has_two && is_state) {
    turn.copied = first;
  }
  if (op.name == "add" && op.has_two && turn.states.empty()) {
    turn.parameter.gradient = result;  // with weight decay
    return;
  }
  turn.unread.push_back(result);
  turn.last_result = result;
}

void OptimizerStep::ended(const Call& call, const std::vector<Operand>& operands,
                          std::span<const SeenIndex> inputs, std::span<const SeenIndex> results) {
  const std::vector<Column> columns = columns_of(call);
  if (columns.empty()) {
    return;
  }
  if (tensors_[inputs[columns[0][0]]].sizes.empty()) {
    if (call.role_of[0].is_written) {
      counters_.clear();
      for (const Column& column : columns) {
        counters_.push_back(inputs[column[0]]);
      }
    }
    return;
  }
  std::vector<Turn>& turns = turns_[columns.size()];
  if (turns.size() < columns.size()) {
    return;  // a wrapper (DTensor): the call on its parts, which is below it, has ended the turn
  }
  const Op op = op_of(call, columns[0], next_);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    note(turns[i], op, columns[i], operands, inputs,
         results.size() == columns.size() ? results[i] : kNotSeen);
  }
  if (op.ends_turn) {
    turns.clear();
  }
}

}  // namespace understudy::generator
