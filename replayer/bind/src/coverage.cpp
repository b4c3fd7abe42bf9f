#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "et_schema/model/device_time.h"
#include "et_schema/model/open_comms.h"
#include "replayer/bind/decisions.h"
#include "replayer/values/assumed_content.h"

namespace understudy::replayer {
namespace {

using et_schema::Instruction;
using et_schema::NamedCount;
using et_schema::Program;

/// (name, note) → count, ordered by name.
class Rows {
 public:
  void add(const std::string& name, const std::string& note) { ++counts_[{name, note}]; }
  [[nodiscard]] std::vector<NamedCount> rows() const {
    std::vector<NamedCount> rows;
    for (const auto& [key, count] : counts_) {
      rows.push_back({key.first, count, key.second});
    }
    return rows;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
};

/// Sums recorded times of instructions by their outcome, without communication. Times are the
/// device's if the original used one, else the host's.
class RecordedTimes {
 public:
  explicit RecordedTimes(const Program& program)
      : on_device_(program.profile && program.profile->operators_device_ns > 0),
        whole_ns_(!program.profile ? 0
                  : on_device_     ? program.profile->operators_device_ns
                                   : program.profile->operators_ns) {
    if (program.profile) {
      for (const et_schema::OutsideTime& row : program.profile->outside) {
        outside_ns_[row.why] += on_device_ ? row.device_ns : row.host_ns;
      }
    }
  }

  void add(const Instruction& instruction, std::int64_t RecordedTimes::*sum) {
    if (instruction.timing && !communicates(instruction)) {
      this->*sum += on_device_ ? instruction.timing->device_ns : instruction.timing->host_ns;
    }
  }

  /// Returns a sum's share of the step; null without a profile. At most 1, although medians may add
  /// up to slightly more than the step.
  [[nodiscard]] std::optional<double> share(std::int64_t sum_ns) const {
    if (whole_ns_ == 0) {
      return std::nullopt;
    }
    const auto whole =
        static_cast<double>(std::max(whole_ns_ - not_applicable_ns, std::int64_t{1}));
    return std::min(static_cast<double>(sum_ns) / whole, 1.0);
  }

  /// Returns the time that is neither replayed nor dropped; the three add up to the whole. Time
  /// that no row of the benchmark names has its own row.
  [[nodiscard]] std::vector<et_schema::TimeShare> others() const {
    std::vector<et_schema::TimeShare> rows;
    if (whole_ns_ == 0) {
      return rows;
    }
    std::int64_t rest_ns = whole_ns_ - not_applicable_ns - exact_ns - substituted_ns - dropped_ns;
    const auto add = [&](std::string_view name, std::int64_t sum_ns) {
      if (sum_ns > 0) {
        rows.push_back({std::string(name), *share(sum_ns)});
        rest_ns -= sum_ns;
      }
    };
    auto outside_ns = outside_ns_;
    outside_ns[et_schema::Outside::kFiltered] += filtered_ns;
    for (const auto& [why, sum_ns] : outside_ns) {
      add(to_string(why), sum_ns);
    }
    add("not named by this benchmark", rest_ns);
    return rows;
  }

  std::int64_t exact_ns = 0;
  std::int64_t substituted_ns = 0;
  /// Instructions that are not part of the step on this target.
  std::int64_t not_applicable_ns = 0;
  /// Instructions that are dropped, or replaced by a stub that does other work.
  std::int64_t dropped_ns = 0;
  std::int64_t filtered_ns = 0;  ///< excluded by the replay's own filters

 private:
  bool on_device_;
  std::int64_t whole_ns_;
  std::map<et_schema::Outside, std::int64_t> outside_ns_;
};

std::uint64_t total(const std::vector<NamedCount>& rows) {
  std::uint64_t sum = 0;
  for (const NamedCount& row : rows) {
    sum += row.count;
  }
  return sum;
}

}  // namespace

et_schema::Coverage Decisions::coverage() {
  et_schema::Coverage coverage;
  Rows substituted;
  Rows stubbed;
  Rows dropped;
  Rows not_applicable;
  Rows pinned;
  RecordedTimes times(program_);
  const AssumedContent assumed_content(program_);
  std::unordered_map<const Instruction*, std::string_view> fates;
  for (const Instruction& instruction : program_.instructions) {
    if (!is_counted(instruction)) {
      times.add(instruction, &RecordedTimes::filtered_ns);
      fates[&instruction] = to_string(et_schema::Outside::kFiltered);
      continue;
    }
    const Decision decision = outcome(instruction);
    std::string_view& fate = fates[&instruction];
    switch (decision.how) {
      case How::kDropped:
        dropped.add(instruction.name, decision.note);
        times.add(instruction, &RecordedTimes::dropped_ns);
        fate = "dropped";
        break;
      case How::kNotApplicable:
        not_applicable.add(instruction.name, decision.note);
        times.add(instruction, &RecordedTimes::not_applicable_ns);
        fate = "not applicable here";
        break;
      case How::kSubstitute:
        (decision.stubbed ? stubbed : substituted).add(instruction.name, decision.note);
        times.add(instruction,
                  decision.stubbed ? &RecordedTimes::dropped_ns : &RecordedTimes::substituted_ns);
        fate = decision.stubbed ? "stub" : "substituted";
        break;
      default:
        if (const std::string_view assumed = assumed_content.of(instruction); !assumed.empty()) {
          substituted.add(instruction.name, std::string(assumed));
          times.add(instruction, &RecordedTimes::substituted_ns);
          fate = "substituted";
          break;
        }
        ++coverage.exact;
        times.add(instruction, &RecordedTimes::exact_ns);
        fate = communicates(instruction) ? "communication" : "replayed";
        break;
    }
    if (is_pinned(instruction)) {
      pinned.add(instruction.name, why_pinned(instruction));
    }
  }
  coverage.time = times.share(times.exact_ns + times.substituted_ns);
  coverage.substituted_time = times.share(times.substituted_ns);
  coverage.dropped_time = times.share(times.dropped_ns);
  coverage.other_time = times.others();
  coverage.device_time = et_schema::device_times(
      program_,
      [&fates](const Instruction& instruction) { return std::string(fates.at(&instruction)); });
  coverage.substituted = substituted.rows();
  coverage.stubbed = stubbed.rows();
  coverage.dropped = dropped.rows();
  coverage.not_applicable = not_applicable.rows();
  coverage.pinned_outputs = pinned.rows();
  coverage.replayed = coverage.exact + total(coverage.substituted);
  coverage.selected = coverage.replayed + total(coverage.stubbed) + total(coverage.dropped);
  if (coverage.selected > 0) {
    coverage.count =
        static_cast<double>(coverage.replayed) / static_cast<double>(coverage.selected);
  }
  return coverage;
}

}  // namespace understudy::replayer
