#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/model/program.h"
#include "value_rules.h"

namespace understudy::generator {

/// Access to the arguments of one instruction, for value rules.
class CallView {
 public:
  CallView(const et_schema::Program& program, const et_schema::Instruction& instruction)
      : program_(program), instruction_(instruction) {}

  [[nodiscard]] std::string_view op() const { return without_overload(instruction_.name); }
  [[nodiscard]] std::string_view overload() const;
  [[nodiscard]] std::size_t argument_count() const { return instruction_.args.size(); }

  /// Returns the tensor of an argument, or the first of its list; null if there is none. For "a|b",
  /// returns the first of the two that is defined.
  [[nodiscard]] const et_schema::Slot* tensor(std::string_view name) const;
  [[nodiscard]] const et_schema::Slot* first_argument() const;
  [[nodiscard]] const et_schema::Slot* first_result() const { return result(0); }
  /// Returns the result tensor with this index; null if there are fewer.
  [[nodiscard]] const et_schema::Slot* result(std::size_t number) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  /// Accepts an integer or a double.
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  /// Returns the bound that a row's `of` and `dim` describe: a size of a tensor (of the first
  /// result if `of` is empty), a number, or an entry of a list of numbers.
  [[nodiscard]] std::optional<std::int64_t> bound(const ArgumentFact& row) const;

 private:
  [[nodiscard]] const et_schema::Argument* find(std::string_view name) const;
  [[nodiscard]] const et_schema::Slot* first_slot(const et_schema::Argument* argument) const;

  const et_schema::Program& program_;
  const et_schema::Instruction& instruction_;
};

/// Returns the size of a dimension (negative: from the end); 1 for a zero-dimensional tensor.
[[nodiscard]] std::optional<std::int64_t> size_at(const et_schema::Slot* slot, std::int64_t dim);

/// Returns the value rule of a row about data of several lengths in one tensor, or about fbgemm's
/// tables; empty if the row has another meaning, or if the call does not determine the rule.
[[nodiscard]] std::optional<et_schema::ValueRule> make_jagged_rule(const ArgumentFact& row,
                                                                   const CallView& call);
/// Like make_jagged_rule(), for masks.
[[nodiscard]] std::optional<et_schema::ValueRule> make_mask_rule(const ArgumentFact& row,
                                                                 const CallView& call);
/// Like make_jagged_rule(), for rows about a tensor's numbers (positive values, probabilities,
/// scales). The rule depends on the tensor's dtype.
[[nodiscard]] std::optional<et_schema::ValueRule> make_number_rule(const ArgumentFact& row,
                                                                   const CallView& call);
/// Returns the rows of each table in a shared weights tensor, assumed equal: an fbgemm lookup
/// records only their sum.
[[nodiscard]] std::int64_t rows_per_table(const CallView& call, const et_schema::Slot& weights);

}  // namespace understudy::generator
