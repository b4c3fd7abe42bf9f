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
  std::vector<Call> calls;                        ///< in the order in which they were first met
  std::map<std::string, std::uint64_t> left_out;  ///< instructions without a call, by reason
};

/// Adds a program's: each operator with its overload, dtypes, shapes, layouts and numbers once.
/// What the benchmark knows of index values, and its shares of zeros, are kept. Calls are equal if
/// their texts are.
void add_calls(const et_schema::Program& program, BenchCalls& found);

/// The same call with each of its sizes halved and doubled, one at a time, everywhere where it
/// occurs, in integer arguments from kLeastArgument on too. Some are no valid calls.
[[nodiscard]] std::vector<Call> neighbours(const Call& call);
inline constexpr std::int64_t kLeastArgument = 16;

}  // namespace understudy::calibrator
