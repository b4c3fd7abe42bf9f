#include "et_schema/facts/counter_formulas.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace understudy::et_schema {
namespace {

constexpr double kOfPercent = 0.01;
constexpr double kSectorBytes = 32;
constexpr double kKib = 1024;
constexpr double kMops = 512;

/// A share of the tensor cores' peak, from cycles of one of their pipes.
CounterFormula of_tensor_pipe(std::string counter, std::string_view pipe) {
  return {std::move(counter),
          {{fmt::format("sm__pipe_tensor_{}cycles_active.avg.pct_of_peak_sustained_elapsed", pipe),
            kOfPercent}}};
}

/// Floating-point operations of the tensor cores by the types of their elements. NVIDIA counts a
/// product with addition as two.
CounterFormula tensor_flop(std::initializer_list<std::string_view> types) {
  CounterFormula formula{"tensor_flop", {}};
  for (const std::string_view type : types) {
    formula.terms.push_back({fmt::format("sm__ops_path_tensor_src_{}.sum", type)});
  }
  return formula;
}

/// Floating-point instructions that threads executed in SMs ("sm") or their partitions ("smsp"). A
/// product with addition is two operations. `has_pairs`: GB10x also computes pairs of FP32
/// elements.
CounterFormula flop(std::string_view unit, bool has_pairs) {
  CounterFormula formula{"flop", {}};
  const auto add = [&](std::string_view type, std::string_view width, double elements) {
    for (const auto& [operation, factor] :
         {std::pair("add", 1), std::pair("mul", 1), std::pair("fma", 2)}) {
      formula.terms.push_back({fmt::format("{}__sass_thread_inst_executed_op_{}{}{}_pred_on.sum",
                                           unit, type, operation, width),
                               factor * elements});
    }
  };
  if (has_pairs) {
    add("f", "2", 2);
  }
  for (const char* const type : {"h", "f", "d"}) {
    add(type, "", 1);
  }
  return formula;
}

}  // namespace

std::span<const CounterFormula> counter_formulas() {
  static const std::vector<CounterFormula> kFormulas = {
      // NVIDIA. Verified with CUPTI 13.0 for Turing to Blackwell.
      {"device_ns", {{"gpu__time_duration.sum"}}},
      {"sm_active", {{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", kOfPercent}}},
      {"occupancy", {{"sm__warps_active.avg.pct_of_peak_sustained_active", kOfPercent}}},
      of_tensor_pipe("tensor_active", ""),
      of_tensor_pipe("tensor_fp16_active", "op_hmma_"),
      of_tensor_pipe("tensor_fp16_active", "subpipe_hmma_"),
      of_tensor_pipe("tensor_fp64_active", "op_dmma_"),
      of_tensor_pipe("tensor_fp64_active", "subpipe_dmma_"),
      of_tensor_pipe("tensor_int_active", "op_imma_"),
      of_tensor_pipe("tensor_int_active", "subpipe_imma_"),
      {"dram_active", {{"dram__throughput.avg.pct_of_peak_sustained_elapsed", kOfPercent}}},
      {"dram_bytes", {{"dram__bytes.sum"}}},
      {"dram_bytes", {{"dram__bytes_read.sum"}, {"dram__bytes_write.sum"}}},
      {"dram_read_bytes", {{"dram__bytes_read.sum"}}},
      {"dram_read_bytes", {{"dram__bytes_op_read.sum"}}},
      {"dram_write_bytes", {{"dram__bytes_write.sum"}}},
      {"dram_write_bytes", {{"dram__bytes_op_write.sum"}}},
      {"l2_bytes", {{"lts__t_bytes.sum"}}},
      {"l2_bytes", {{"lts__t_sectors.sum", kSectorBytes}}},
      flop("sm", true),
      flop("smsp", true),
      flop("sm", false),
      flop("smsp", false),
      tensor_flop({"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "tf32_dst_fp32", "fp64",
                   "fp8_dst_fp16", "fp8_dst_fp32", "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32",
                   "fp4_dst_fp32"}),  // GB20x
      tensor_flop({"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "tf32_dst_fp32", "fp64",
                   "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32", "fp4_dst_fp32"}),  // GB10x
      tensor_flop({"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "tf32_dst_fp32", "fp64",
                   "fp8"}),                                                    // AD10x
      tensor_flop({"bf16_dst_fp32", "fp16", "tf32_dst_fp32", "fp64", "fp8"}),  // GH100
      tensor_flop(
          {"bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "tf32_dst_fp32", "fp64"}),  // GA10x
      tensor_flop({"fp16_bf16_tf32_dst_fp32", "fp16_dst_fp16"}),                          // TU10x
      {"nvlink_bytes", {{"nvlrx__bytes.sum"}, {"nvltx__bytes.sum"}}},
      {"pcie_bytes", {{"pcie__read_bytes.sum"}, {"pcie__write_bytes.sum"}}},
      // AMD, as rocprofv3 names them: sizes in KiB, matrix operations (MOPS) of 512 FLOP.
      {"device_ns", {{"device_ns"}}},
      {"occupancy", {{"OccupancyPercent", kOfPercent}}},
      {"dram_bytes", {{"FETCH_SIZE", kKib}, {"WRITE_SIZE", kKib}}},
      {"dram_read_bytes", {{"FETCH_SIZE", kKib}}},
      {"dram_write_bytes", {{"WRITE_SIZE", kKib}}},
      {"tensor_flop",
       {{"SQ_INSTS_VALU_MFMA_MOPS_F16", kMops},
        {"SQ_INSTS_VALU_MFMA_MOPS_BF16", kMops},
        {"SQ_INSTS_VALU_MFMA_MOPS_F32", kMops},
        {"SQ_INSTS_VALU_MFMA_MOPS_F64", kMops}}},
  };
  return kFormulas;
}

std::optional<double> value_of(const CounterFormula& formula, const Counters& metrics) {
  double sum = 0;
  for (const CounterFormula::Term& term : formula.terms) {
    const auto found = metrics.find(term.metric);
    if (found == metrics.end()) {
      return std::nullopt;
    }
    sum += term.factor * found->second;
  }
  return sum;
}

Counters known_counters(const Counters& metrics) {
  Counters known;
  for (const CounterFormula& formula : counter_formulas()) {
    if (const std::optional<double> value = value_of(formula, metrics)) {
      known.try_emplace(formula.counter, *value);
    }
  }
  return known;
}

}  // namespace understudy::et_schema
