#include <map>
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
  const AssumedContent assumed_content(program_);
  std::unordered_map<const Instruction*, std::string_view> fates;
  for (const Instruction& instruction : program_.instructions) {
    if (!is_counted(instruction)) {
      fates[&instruction] = to_string(et_schema::Outside::kFiltered);
      continue;
    }
    const Decision decision = outcome(instruction);
    std::string_view& fate = fates[&instruction];
    switch (decision.how) {
      case How::kDropped:
        dropped.add(instruction.name, decision.note);
        fate = et_schema::kDropped;
        break;
      case How::kNotApplicable:
        not_applicable.add(instruction.name, decision.note);
        fate = et_schema::kNotApplicable;
        break;
      case How::kSubstitute:
        (decision.stubbed ? stubbed : substituted).add(instruction.name, decision.note);
        fate = decision.stubbed ? et_schema::kStub : et_schema::kSubstituted;
        break;
      default:
        if (const std::string_view assumed = assumed_content.of(instruction); !assumed.empty()) {
          substituted.add(instruction.name, std::string(assumed));
          fate = et_schema::kSubstituted;
          break;
        }
        ++coverage.exact;
        fate = communicates(instruction) ? et_schema::kCommunication : et_schema::kReplayed;
        break;
    }
    if (is_pinned(instruction)) {
      pinned.add(instruction.name, why_pinned(instruction));
    }
  }
  et_schema::set_times(
      program_,
      [&fates](const et_schema::HeldTime& part) {
        return std::string(part.instruction == nullptr ? part.holder : fates.at(part.instruction));
      },
      coverage);
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
