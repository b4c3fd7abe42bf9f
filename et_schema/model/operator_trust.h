#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// An operator's possible effects on the machine that runs it.
enum class OperatorReach : std::uint8_t {
  kComputes,  ///< only reads and writes its tensors
  kUnknown,   ///< in no namespace that is known to compute: a custom operator, or LibTorch's own
              ///< helpers
  kBeyond     ///< opens files, prints, or accesses memory without checks
};

struct OperatorTrust {
  OperatorReach reach = OperatorReach::kComputes;
  std::string why;  ///< effect beyond computing: "it opens the file that an argument names"
};

/// Judges an operator by its schema alone, so that new operators need no list of names. Decides by
/// a reviewed table, then by the namespace, then by text arguments that are not options of a
/// computation, and by whether anything is returned or written. Only the schema of LibTorch's
/// dispatcher is reliable; the author of a recorded schema can have invented it. docs/trust.md.
[[nodiscard]] OperatorTrust trust_of(std::string_view schema);

/// Operators that a user allows although they do more than compute: "aten::from_file", with or
/// without an overload; "*" allows all.
using AllowedOperators = std::set<std::string, std::less<>>;

[[nodiscard]] bool allows(const AllowedOperators& allowed, std::string_view name);

/// Throws Error (bad input) for the first operator of a program, bodies included, whose schema or
/// name shows that it does more than compute, unless it is allowed.
void refuse_operators(const Program& program, int rank, const std::string& file,
                      const AllowedOperators& allowed);

/// Does the same for one operator. `schema` must be that of the operator that will run.
void refuse_operator(std::string_view schema, const Instruction& instruction,
                     const AllowedOperators& allowed);

}  // namespace understudy::et_schema
