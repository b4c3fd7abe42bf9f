#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"

namespace understudy::predictor {

using et_schema::DType;

/// A tensor among an operator's arguments or results.
struct TensorLayout {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides =
      {};  ///< in elements; empty: contiguous; a sparse one's: all 0
  std::optional<std::int64_t> stored = {};  ///< numbers that a sparse one holds, where known
  bool operator==(const TensorLayout&) const = default;
};

/// A sparse one counts those that it holds, where known.
[[nodiscard]] std::int64_t element_count(const TensorLayout& tensor);
/// Bytes of the elements that it really has: a dimension of stride 0 counts once.
[[nodiscard]] double stored_bytes(const TensorLayout& tensor);
/// Strides as those of a contiguous tensor, dimensions of one element aside.
[[nodiscard]] bool is_contiguous(const TensorLayout& tensor);
/// "float32[4,5]", with strides "float32[4,5;1,4]", sparse "float32[4,5;0,0;10]" of 10 numbers.
[[nodiscard]] std::string to_string(const TensorLayout& tensor);
/// All of them, a blank between two.
[[nodiscard]] std::string to_string(const std::vector<TensorLayout>& tensors);
/// The reverse of one. Null: not such a text, or a negative size.
[[nodiscard]] std::optional<TensorLayout> parse_tensor_layout(std::string_view text);

/// "float16", as all files of ours have it, and as other tools do: "torch.float16", "half",
/// "Float", "f8e4m3", "Int". Null: no such type.
[[nodiscard]] std::optional<DType> dtype_of_tool_name(std::string_view name);

/// What a model of operators is asked.
struct OperatorCall {
  std::string name;      ///< "aten::linear"
  std::string overload;  ///< "Tensor"; empty: the operator's default
  std::vector<TensorLayout> inputs;
  std::vector<TensorLayout> outputs;
  bool operator==(const OperatorCall&) const = default;
};

/// A table's gradient that is sparse by rows, added to the table: rows at indices, as index_add_
/// adds them, but another way; so it is an overload of that, "aten::index_add_.sparse", whose times
/// say more than those of index_add_, which stand in where there are none. Its result is the table
/// as far as it is written: `met_rows` of it, where that is known, else as many as so many rows
/// drawn alike would meet. Null: any other call.
[[nodiscard]] std::optional<OperatorCall> sparse_update(
    const OperatorCall& call, std::optional<std::int64_t> met_rows = std::nullopt);

/// How many of `rows` are met by `draws`, each of any row.
[[nodiscard]] std::int64_t rows_met(std::int64_t rows, std::int64_t draws);

/// What a time is of.
enum class TimedAs : std::uint8_t {
  kTimedCall,  ///< a call and a wait for its end, over many: never below what the host needs
  kDevice,     ///< what ran on the device, nothing of the host
  kHost        ///< a call on the host that did the work itself
};
[[nodiscard]] std::string_view to_string(TimedAs timed);
[[nodiscard]] std::optional<TimedAs> timed_as_from_string(std::string_view name);

/// The device of rows that do not name their card.
inline constexpr std::string_view kGpuPlace = "cuda";

/// A call and what it took: one row of measurements, whatever file it came from.
struct MeasuredCall {
  OperatorCall call;
  std::string device;  ///< the card's name; "cpu" of a host
  int threads = 0;     ///< of the operator on a host; 0 on a card
  TimedAs timed = TimedAs::kTimedCall;
  double median_ns = 0;
  double spread_ns = 0;  ///< from the 10th to the 90th percentile; 0: not told
  std::uint64_t n = 1;   ///< calls behind the median
  std::string source;    ///< the file's name
  std::map<std::string, double> counters = {};  ///< "dram_bytes", "energy_j": per call, where read
  bool operator==(const MeasuredCall&) const = default;
};

}  // namespace understudy::predictor
