#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// What is told of a program's other sizes.
class Answers {
 public:
  using OtherSize = et_schema::OtherSize;

  /// `program` and `told` must outlive this. Throws Error (bad input) if something is told of what
  /// the program does not have.
  Answers(et_schema::Program& program, const std::vector<OtherSize>& told, int rank);

  /// Throws Error (bad input) with all operators that cannot follow. `sizes`: "128 in place of 64".
  void refuse(const std::string& what, const std::string& sizes, const std::string& hint) const;
  /// Sets the sizes of tensors and the numbers among arguments, for a rank's place in its group.
  void apply(std::int64_t place = 0) const;
  [[nodiscard]] et_schema::Instruction& call_of(const OtherSize& one) const {
    return *calls_[*one.instruction];
  }

 private:
  [[nodiscard]] bool fits(const OtherSize& one) const;

  et_schema::Program& program_;
  const std::vector<OtherSize>& told_;
  int rank_;
  std::vector<et_schema::Instruction*> calls_;  ///< numbered as in a program's text
};

}  // namespace understudy::generator
