#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// What an operator can do to the machine of whoever calls it.
enum class OperatorReach : std::uint8_t {
  kComputes,  ///< it reads and writes the tensors that it is given, and nothing else
  kUnknown,   ///< it is of no namespace that is known to compute: a custom operator, or LibTorch's
              ///< own helpers
  kBeyond     ///< it opens files, prints, or takes memory for what it is not
};

struct OperatorTrust {
  OperatorReach reach = OperatorReach::kComputes;
  std::string why;  ///< what it does beyond computing: "it opens the file that an argument names"
};

/// Told by a schema alone, so that new operators are judged without a list of names: first by a
/// reviewed table, then by the namespace, by text arguments that name no option of a computation,
/// and by whether anything is returned or written at all. The schema of LibTorch's dispatcher is
/// what counts; a recorded one, which its author can have made up, tells no less than the name
/// does. docs/trust.md.
[[nodiscard]] OperatorTrust trust_of(std::string_view schema);

/// Names of operators that a user allows though they do more than compute: "aten::from_file", with
/// or without an overload; "*" allows all.
using AllowedOperators = std::set<std::string, std::less<>>;

[[nodiscard]] bool allows(const AllowedOperators& allowed, std::string_view name);

/// Throws Error (bad input) at the first operator of a program, bodies included, whose schema or
/// name says that it does more than compute, unless it is allowed.
void refuse_operators(const Program& program, int rank, const std::string& file,
                      const AllowedOperators& allowed);

/// The same of one operator, as its target knows it.
void refuse_operator(std::string_view schema, const Instruction& instruction,
                     const AllowedOperators& allowed);

}  // namespace understudy::et_schema
