#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/operator_call.h"

namespace understudy::predictor {

using et_schema::DType;
using et_schema::OperatorCall;
using et_schema::TensorLayout;

/// Returns the type of a name: "float16", as in Understudy's files, or another tool's spelling
/// ("torch.float16", "half", "Float", "f8e4m3", "Int"). Returns null if no type has the name.
[[nodiscard]] std::optional<DType> dtype_of_tool_name(std::string_view name);

/// Returns the call that adds a row-sparse gradient to a table; null for any other call. Such an
/// update runs other kernels than index_add_ on the same rows, so it has an overload of its own,
/// "aten::index_add_.sparse". If that overload was not measured, times of index_add_ are used. Its
/// result is the part of the table that is written: `met_rows` rows, or if unset, the expected
/// number of distinct rows of uniform draws.
[[nodiscard]] std::optional<OperatorCall> sparse_update(
    const OperatorCall& call, std::optional<std::int64_t> met_rows = std::nullopt);

/// Returns the expected number of distinct rows among `draws` uniform draws from `rows` rows.
[[nodiscard]] std::int64_t rows_met(std::int64_t rows, std::int64_t draws);

/// The work that a time covers.
enum class TimedAs : std::uint8_t {
  /// A call and the wait for its end, averaged over many; never below the host's time.
  kTimedCall,
  kDevice,  ///< device work only, without the host
  kHost     ///< a call on the host, which does the work itself
};
[[nodiscard]] std::string_view to_string(TimedAs timed);
[[nodiscard]] std::optional<TimedAs> timed_as_from_string(std::string_view name);

/// The device of rows that do not name their card.
inline constexpr std::string_view kGpuPlace = "cuda";

/// A call and its measured time: one row of measurements, from any kind of file.
struct MeasuredCall {
  OperatorCall call;
  std::string device;  ///< the card's name, or "cpu" for a host
  int threads = 0;     ///< threads of the operator on a host; 0 on a card
  TimedAs timed = TimedAs::kTimedCall;
  double median_ns = 0;
  double spread_ns = 0;  ///< from the 10th to the 90th percentile; 0: unknown
  std::uint64_t n = 1;   ///< number of calls that the median is taken over
  std::string source;    ///< the file's name
  std::map<std::string, double> counters = {};  ///< per call: "dram_bytes", "energy_j"
  bool operator==(const MeasuredCall&) const = default;
};

}  // namespace understudy::predictor
