#include "predictor/work/step_work.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "et_schema/base/figures.h"
#include "et_schema/model/operator_call.h"
#include "predictor/calls/known_cards.h"
#include "predictor/work/work.h"

namespace understudy::predictor {
namespace {

using et_schema::ClassWork, et_schema::StepWork;

constexpr double kGiga = 1e9;
constexpr double kGigaPerTera = 1e3;

bool is_product(std::string_view op_class) {
  const auto is_of = [op_class](Family family) { return to_string(family) == op_class; };
  return std::ranges::any_of(std::array{Family::kMatmul, Family::kConvolution, Family::kAttention,
                                        Family::kRecurrent, Family::kExperts},
                             is_of);
}

ClassWork& row_of(std::string_view op_class, std::string_view dtype, StepWork& work) {
  const auto found = std::ranges::find_if(work.classes, [&](const ClassWork& row) {
    return row.op_class == op_class && row.dtype == dtype;
  });
  return found != work.classes.end()
             ? *found
             : work.classes.emplace_back(ClassWork{std::string(op_class), std::string(dtype)});
}

void add(const et_schema::Program& program, double ranks, StepWork& work) {
  for (const et_schema::Instruction& instruction : program.instructions) {
    if (instruction.kind == et_schema::InstructionKind::kKernel) {
      work.uncounted += static_cast<std::uint64_t>(ranks);
    }
    if (instruction.kind != et_schema::InstructionKind::kOp) {
      continue;
    }
    const OperatorCall call = operator_call(program, instruction);
    const Work own = work_of(call);
    const double gflop = own.flops / kGiga * ranks;
    const double bytes = bytes_of(own) * ranks;
    if (gflop + bytes == 0) {
      continue;
    }
    ClassWork& row = row_of(to_string(own.family), to_string(compute_dtype(call)), work);
    row.gflop += gflop;
    row.recomputed_gflop += instruction.recomputed ? gflop : 0;
    row.bytes += bytes;
    work.bytes += bytes;
    if (is_product(row.op_class)) {
      work.gflop += gflop;
      work.recomputed_gflop += instruction.recomputed ? gflop : 0;
    }
  }
}

}  // namespace

StepWork step_work(const std::vector<const et_schema::Program*>& of_ranks) {
  std::vector<std::pair<const et_schema::Program*, double>> distinct;
  for (const et_schema::Program* const program : of_ranks) {
    const auto known =
        std::ranges::find(distinct, program, [](const auto& one) { return one.first; });
    (known == distinct.end() ? distinct.emplace_back(program, 0) : *known).second += 1;
  }
  StepWork work;
  for (const auto& [program, ranks] : distinct) {
    add(*program, ranks, work);
  }
  std::ranges::stable_sort(work.classes, std::greater(), &ClassWork::gflop);
  return work;
}

StepWork step_work(const std::vector<const et_schema::Program*>& of_ranks, double step_ms,
                   const Card* card) {
  StepWork work = step_work(of_ranks);
  if (const auto& profile = of_ranks.front()->profile; card == nullptr && profile) {
    card = find_known_card(profile->device);
  }
  set_rates(step_ms, static_cast<int>(of_ranks.size()), card, work);
  return work;
}

void set_rates(double step_ms, int ranks, const Card* card, StepWork& work) {
  constexpr double kMsPerS = 1e3;
  const double rank_s = step_ms / kMsPerS * ranks;
  if (!(rank_s > 0) || work.gflop == 0) {
    return;
  }
  work.tflop_per_s = work.gflop / kGigaPerTera / rank_s;
  double ideal_s = 0;  // of the products at their types' peaks
  double again_s = 0;
  std::map<std::string, double> peaks;
  for (const ClassWork& row : work.classes) {
    if (card == nullptr || !is_product(row.op_class)) {
      continue;
    }
    const double peak = most_flops(*card, *et_schema::dtype_from_string(row.dtype)) / kGiga;
    ideal_s += row.gflop / peak;
    again_s += row.recomputed_gflop / peak;
    peaks[row.dtype] = peak;
  }
  const bool all_known = std::ranges::none_of(
      peaks, [](const auto& peak) { return std::isinf(peak.second) || peak.second == 0; });
  if (peaks.empty() || !all_known) {
    return;
  }
  std::vector<std::string> texts;
  for (const auto& [dtype, peak] : peaks) {
    texts.push_back(fmt::format("{} {}", dtype, et_schema::figure_text(peak / kGigaPerTera)));
  }
  work.peak = fmt::format("{}: {} TFLOP/s", card->name, fmt::join(texts, ", "));
  work.mfu = (ideal_s - again_s) / rank_s;
  work.hfu = ideal_s / rank_s;
}

}  // namespace understudy::predictor
