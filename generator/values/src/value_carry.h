#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "demands.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Carries demands against the flow of data: from an operator's results to its arguments, where it
/// moves values without changing them, or where what is asked of the result follows from what is
/// asked of them.
class ValueCarrier {
 public:
  ValueCarrier(const et_schema::Program& program, Demands& demands)
      : program_(program), demands_(demands) {}

  /// Looks at one operator; operators come in reverse order.
  void visit(const et_schema::Instruction& instruction);
  /// Looks at one communication, between the operators.
  void visit_collective(const et_schema::Instruction& instruction);
  /// Whether lengths, or offsets, that are asked of an operator's result are met once its argument
  /// meets what is then asked of it.
  [[nodiscard]] bool keeps_structure(const et_schema::Instruction& instruction,
                                     const et_schema::ValueRule& rule) const;

 private:
  /// Rows that one storage sends to each rank, for lengths that must agree with the values sent
  /// beside them.
  struct SentParts {
    std::int64_t offset = 0;
    std::vector<std::int64_t> splits;
  };

  /// A later exchange of values, whose parts are as long as counts that are exchanged before say.
  struct Exchange {
    et_schema::GroupId group = 0;
    std::vector<std::int64_t> in_splits;
    std::int64_t received = 0;
  };

  void counts_of_exchange(const et_schema::Instruction& instruction, et_schema::SlotId sent);
  void carry_through(const et_schema::Instruction& instruction,
                     const et_schema::OperatorFacts& facts);
  void carry(et_schema::SlotId to, const et_schema::Argument& from, et_schema::MovedOrder order);
  void carry_positive(const et_schema::Instruction& instruction,
                      const et_schema::OperatorFacts& facts);
  void carry_mask(const et_schema::Instruction& instruction, const et_schema::OperatorFacts& facts);
  [[nodiscard]] std::optional<et_schema::SlotId> summed_up(const et_schema::Instruction& sum) const;
  void ends_to_lengths(const et_schema::Instruction& instruction);
  void offsets_to_lengths(const et_schema::Instruction& instruction);
  void lengths_of_permuted(const et_schema::Instruction& instruction);

  const et_schema::Program& program_;
  Demands& demands_;
  std::map<et_schema::StorageId, SentParts> sent_;
  std::vector<Exchange> exchanges_;  ///< the last one seen is the next one in the program
};

}  // namespace understudy::generator
