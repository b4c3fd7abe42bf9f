#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/program.h"

namespace understudy::generator {

/// PyTorch's answers about a program with other sizes (AskSizes).
class Answers {
 public:
  using OtherSize = et_schema::OtherSize;

  /// The program must outlive this. Throws Error (bad input) if something is told of what the
  /// program does not have.
  Answers(const et_schema::Program& program, std::vector<OtherSize> told, int rank);

  /// Throws Error (bad input) if operators cannot run with the sizes, and names all of them.
  /// `sizes`: "128 in place of 64".
  void refuse(const std::string& what, const std::string& sizes, const std::string& hint) const;
  /// Sets the sizes of tensors and the numbers among arguments, in a copy of the program, for a
  /// rank's place in its group.
  void apply(et_schema::Program& copy, std::int64_t place = 0) const;
  [[nodiscard]] const std::vector<OtherSize>& told() const { return told_; }
  [[nodiscard]] const et_schema::Instruction& call_of(const OtherSize& one) const {
    return *calls_[*one.instruction];
  }

 private:
  const et_schema::Program& program_;
  std::vector<OtherSize> told_;
  int rank_;
  std::vector<const et_schema::Instruction*> calls_;  ///< numbered as in a program's text
};

}  // namespace understudy::generator
