#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {

/// The distinct operator calls of programs.
struct BenchCalls {
  std::vector<Call> calls;                        ///< in order of first occurrence
  std::map<std::string, std::uint64_t> left_out;  ///< instructions without a call, by reason
};

/// Adds a program's distinct calls. A call is an operator with its overload, dtypes, shapes,
/// layouts and numbers; it keeps the benchmark's rules for index values and shares of zeros. Calls
/// with equal texts (to_text()) are equal.
void add_calls(const et_schema::Program& program, BenchCalls& found);

/// Returns variants of the call, in which one size is halved or doubled wherever it occurs,
/// including in integer arguments of kLeastArgument or more. Some variants are not valid calls.
[[nodiscard]] std::vector<Call> neighbours(const Call& call);
inline constexpr std::int64_t kLeastArgument = 16;

}  // namespace understudy::calibrator
