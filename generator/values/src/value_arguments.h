#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/model/program.h"
#include "value_rules.h"

namespace understudy::generator {

/// The arguments of one instruction as rules look at them.
class CallView {
 public:
  CallView(const et_schema::Program& program, const et_schema::Instruction& instruction)
      : program_(program), instruction_(instruction) {}

  [[nodiscard]] std::string_view op() const { return without_overload(instruction_.name); }
  [[nodiscard]] std::string_view overload() const;
  [[nodiscard]] std::size_t argument_count() const { return instruction_.args.size(); }

  /// The tensor, or the first of a list of tensors; null if there is none. Of names "a|b", of which
  /// an operator has one or leaves one undefined, the first that there is.
  [[nodiscard]] const et_schema::Slot* tensor(std::string_view name) const;
  [[nodiscard]] const et_schema::Slot* first_argument() const;
  [[nodiscard]] const et_schema::Slot* first_result() const { return result(0); }
  /// The tensor of this number among the results; null if there are fewer.
  [[nodiscard]] const et_schema::Slot* result(std::size_t number) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  /// An integer or a double.
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  /// What a row's `of` and `dim` say: a size of a tensor (of the first result where `of` is empty),
  /// a number, or an entry of a list of numbers.
  [[nodiscard]] std::optional<std::int64_t> bound(const ArgumentFact& row) const;

 private:
  [[nodiscard]] const et_schema::Argument* find(std::string_view name) const;
  [[nodiscard]] const et_schema::Slot* first_slot(const et_schema::Argument* argument) const;

  const et_schema::Program& program_;
  const et_schema::Instruction& instruction_;
};

/// Size of a dimension, negative ones from the end; 1 of a tensor without dimensions.
[[nodiscard]] std::optional<std::int64_t> size_at(const et_schema::Slot* slot, std::int64_t dim);

/// What a row asks of data of several lengths in one tensor, and of fbgemm's tables; none where the
/// row's meaning is another, or the call does not tell it.
[[nodiscard]] std::optional<et_schema::ValueRule> make_jagged_rule(const ArgumentFact& row,
                                                                   const CallView& call);
/// The same for masks.
[[nodiscard]] std::optional<et_schema::ValueRule> make_mask_rule(const ArgumentFact& row,
                                                                 const CallView& call);
/// The same for numbers, by the argument's dtype.
[[nodiscard]] std::optional<et_schema::ValueRule> make_number_rule(const ArgumentFact& row,
                                                                   const CallView& call);
/// Rows of each of the tables that share one weights tensor, taken as equal: an fbgemm lookup
/// records only their sum.
[[nodiscard]] std::int64_t rows_per_table(const CallView& call, const et_schema::Slot& weights);

}  // namespace understudy::generator
