// Effects of a step on its tensors' values: what is restored, how often, and what scans find.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "et_schema/base/error.h"
#include "hooks.h"
#include "replayer/measure/measure.h"
#include "stop_rule.h"

namespace understudy::replayer {
namespace {

// A step that repeats the same batch drifts to zero gradients or to infinity. So the externals'
// initial content is restored after as many iterations as stay healthy. The search for that number
// is limited to this many iterations and seconds.
constexpr std::size_t kMostBetweenRestores = 16;
constexpr double kProbeSeconds = 1;

}  // namespace

void Measurement::find_zeros() {
  if (!stop_->any_rank(externals_.begin_zeros())) {
    return;
  }
  for (std::size_t i = 0; i < Externals::kVariants; ++i) {
    externals_.vary(i);
    guarded([&] { machine_.run(bound_); });
  }
  externals_.settle_zeros();
}

void Measurement::find_restore_interval() {
  const auto begin = std::chrono::steady_clock::now();
  bool searching = options_.asked.restores;
  restore_every_ = options_.asked.restores ? 1 : 0;
  // Subnormal numbers do not slow down a GPU (values_device.h).
  const bool on_cpu = options_.device.is_cpu();
  const char* const none = on_cpu ? "no NaN, Inf or subnormal number" : "no NaN or Inf";
  const char* const some = on_cpu ? "NaN, Inf or subnormal numbers" : "NaN or Inf";
  restore_reason_ =
      options_.asked.restores
          ? fmt::format("{} within {} iterations; more are not checked", none, kMostBetweenRestores)
          : "--no-restore";
  for (std::size_t n = 1; searching && n <= kMostBetweenRestores; ++n) {
    tell(Phase::kValues, n - 1, kMostBetweenRestores);
    std::vector<std::uint8_t> health(health_.size());
    std::vector<et_schema::ValueFinding> findings;
    const bool accepted = stays_acceptable(n, health, findings);
    const bool healthy = accepted && !stop_->any_rank(is_unhealthy(health));
    const double spent_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const bool is_late = stop_->any_rank(spent_s > kProbeSeconds);
    restore_every_ = healthy ? n : restore_every_;
    searching = healthy && !is_late;
    const char* plural = n == 1 ? "" : "s";
    if (!healthy) {
      restore_reason_ = accepted
                            ? fmt::format("{} after {} iteration{}", some, n, plural)
                            : fmt::format("an operator refuses its tensors in iteration {}", n);
    } else if (is_late && n < kMostBetweenRestores) {
      restore_reason_ = fmt::format("{} within {} iteration{}; the {:.0f} s check covered no more",
                                    none, n, plural, kProbeSeconds);
    }
  }
  externals_.restore();
  since_restore_ = 0;
}

/// Runs one iteration without a restore. Returns false if an operator rejects tensors changed by
/// earlier iterations (a matrix that is no longer positive definite). With several ranks the
/// failure must end the job, since others wait.
bool Measurement::stays_acceptable(std::size_t n, std::vector<std::uint8_t>& health,
                                   std::vector<et_schema::ValueFinding>& findings) {
  try {
    scan_once(health, findings);
  } catch (const et_schema::Error& error) {
    const Step* failed = machine_.failed_step();
    // Numbers that would reach beyond their tensors are no drift.
    const bool is_unsafe = error.kind() == et_schema::ErrorKind::kBadInput;
    if (n == 1 || job_.world_size() > 1 || failed == nullptr || is_unsafe) {
      throw;
    }
    machine_.clear(bound_, *failed);
    return false;
  }
  return true;
}

/// Runs one iteration and scans each result as soon as it is computed.
void Measurement::scan_once(std::vector<std::uint8_t>& health,
                            std::vector<et_schema::ValueFinding>& findings) {
  ScanHook hook(program_, health, findings);
  guarded([&] { machine_.run(bound_, hook); });
  for (const et_schema::SlotId slot : bound_.written) {
    if (program_.slots[slot].external && !externals_.is_mapped(slot)) {
      hook.look(slot, machine_.slots()[slot]);
    }
  }
}

bool Measurement::is_unhealthy(const std::vector<std::uint8_t>& health) {
  return std::any_of(health.begin(), health.end(),
                     [](std::uint8_t flags) { return (flags & ScanHook::kUnhealthy) != 0; });
}

void Measurement::scan_values(et_schema::RankReport& report, std::size_t iterations) {
  advance();
  const std::size_t known = report.value_findings.size();
  scan_once(health_, report.value_findings);
  for (std::size_t i = known; i < report.value_findings.size(); ++i) {
    report.value_findings[i].iteration = iterations;
  }
  const auto count = [&](std::uint8_t flag) {
    return static_cast<std::uint64_t>(std::count_if(
        health_.begin(), health_.end(), [&](std::uint8_t flags) { return (flags & flag) != 0; }));
  };
  report.values = {count(ScanHook::kNan), count(ScanHook::kInf), count(ScanHook::kSubnormal),
                   count(ScanHook::kRecordedInf)};
}

}  // namespace understudy::replayer
