#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/base/record.h"

namespace understudy::et_schema {

/// What a step's operators of one class and element type work, by their names and shapes
/// (docs/metrics.md, "Work").
struct ClassWork {
  std::string op_class;         ///< "matmul"
  std::string dtype;            ///< of what is computed: "BFloat16"
  double gflop = 0;             ///< 10^9 floating-point operations
  double recomputed_gflop = 0;  ///< of these, by forward operators that a backward pass ran again
  double bytes = 0;             ///< read and written: each tensor once a call
  bool operator==(const ClassWork&) const = default;
};

/// A step's work. A job has the sum over its ranks.
struct StepWork {
  std::vector<ClassWork> classes = {};  ///< most operations first
  double gflop = 0;                     ///< of products: matrix products, convolutions, attention
  double recomputed_gflop = 0;          ///< of these, by operators that ran again
  double bytes = 0;                     ///< of all operators
  /// Kernels of compiled graphs or by hand, which no shape tells the work of.
  std::uint64_t uncounted = 0;
  std::optional<double> tflop_per_s = {};  ///< of products on a rank; unset: no time is known
  std::string peak = {};  ///< "H100 SXM: BFloat16 989.4 TFLOP/s"; empty: no card is known
  /// Shares of the peak that the products make of the step; `mfu` without what ran again.
  std::optional<double> mfu = {};
  std::optional<double> hfu = {};
  bool operator==(const StepWork&) const = default;
};

void members(auto& walk, SameAs<ClassWork> auto& row) {
  walk("class", row.op_class, "class");
  walk("dtype", row.dtype, "type");
  walk("gflop", row.gflop, "GFLOP", CellKind::kCount);
  walk("recomputed_gflop", row.recomputed_gflop, "of these again", CellKind::kCount);
  walk("bytes", row.bytes, "bytes");
}

void members(auto& walk, SameAs<StepWork> auto& work) {
  walk("classes", work.classes, "What a step's operators work, by their shapes", kSumOfRanks);
  walk("gflop", work.gflop, "GFLOP a step in products: matrix products, convolutions, attention",
       CellKind::kCount, kSumOfRanks);
  walk("recomputed_gflop", work.recomputed_gflop, "of these by forward operators that ran again",
       CellKind::kCount, kSumOfRanks);
  walk("bytes", work.bytes, "bytes that operators read and write", kSumOfRanks);
  walk("uncounted", work.uncounted, "kernels of compiled code, not counted", kSumOfRanks);
  walk("tflop_per_s", work.tflop_per_s, "TFLOP/s of products on a rank");
  walk.if_any("peak", work.peak, "peak, dense");
  walk("mfu", work.mfu, "MFU: products that ran once ÷ peak", CellKind::kPercent);
  walk("hfu", work.hfu, "HFU: all products ÷ peak", CellKind::kPercent);
}

}  // namespace understudy::et_schema
