#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "demands.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// Propagates demands against the data flow, from an operator's results to its arguments, if it
/// moves values without changing them, or if a demand on the arguments implies the one on the
/// result.
class ValueCarrier {
 public:
  ValueCarrier(const et_schema::Program& program, Demands& demands)
      : program_(program), demands_(demands) {}

  /// Visits one operator. Operators must be visited in reverse order.
  void visit(const et_schema::Instruction& instruction);
  /// Visits one communication, in order with the operators.
  void visit_collective(const et_schema::Instruction& instruction);
  /// Returns true if the lengths or offsets demanded of an operator's result follow from the
  /// demands that are then made on its argument.
  [[nodiscard]] bool keeps_structure(const et_schema::Instruction& instruction,
                                     const et_schema::ValueRule& rule) const;

 private:
  /// The numbers of rows that a storage sends to each rank. Lengths that are sent along must agree
  /// with them.
  struct SentParts {
    std::int64_t offset = 0;
    std::vector<std::int64_t> splits;
  };

  /// An exchange of values later in the program. An earlier exchange of counts announced the sizes
  /// of its parts.
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
  /// In reverse order: the last entry is the next exchange in the program.
  std::vector<Exchange> exchanges_;
};

}  // namespace understudy::generator
