#include <algorithm>
#include <map>

#include "predictor/simulate/flow.h"

namespace understudy::predictor {
namespace {

/// Below this share of its busy time a thread's overlap is what clocks and wrappers make of a
/// caller that waits.
constexpr double kLeastOverlap = 0.1;

struct Interval {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

std::int64_t busy_ns(const std::vector<Interval>& intervals) {
  std::int64_t sum_ns = 0;
  for (const Interval& interval : intervals) {
    sum_ns += interval.end_ns - interval.begin_ns;
  }
  return sum_ns;
}

/// Intervals that overlap or touch become one.
std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (!result.empty() && interval.begin_ns <= result.back().end_ns) {
      result.back().end_ns = std::max(result.back().end_ns, interval.end_ns);
    } else {
      result.push_back(interval);
    }
  }
  return result;
}

/// Both merged.
std::int64_t overlap_ns(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t sum_ns = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum_ns += std::max<std::int64_t>(
        0, std::min(a[i].end_ns, b[j].end_ns) - std::max(a[i].begin_ns, b[j].begin_ns));
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum_ns;
}

using ByThread = std::map<std::uint64_t, std::vector<Interval>>;

ByThread busy_by_thread(const et_schema::Program& program) {
  ByThread busy;
  for (const et_schema::Instruction& instruction : program.instructions) {
    if (instruction.timing) {
      const std::int64_t begin_ns = instruction.timing->start_ns;
      busy[instruction.thread].push_back({begin_ns, begin_ns + instruction.timing->host_ns});
    }
  }
  for (auto& [thread, intervals] : busy) {
    intervals = merged(std::move(intervals));
  }
  return busy;
}

bool runs_beside(const ByThread& busy, std::uint64_t thread) {
  std::vector<Interval> others;
  for (const auto& [other, intervals] : busy) {
    if (other != thread) {
      others.insert(others.end(), intervals.begin(), intervals.end());
    }
  }
  const std::vector<Interval>& mine = busy.at(thread);
  return static_cast<double>(overlap_ns(mine, merged(std::move(others)))) >=
         kLeastOverlap * static_cast<double>(std::max<std::int64_t>(busy_ns(mine), 1));
}

}  // namespace

Timelines timelines_of(const et_schema::Program& program) {
  Timelines timelines;
  timelines.of_instruction.assign(program.instructions.size(), 0);
  timelines.threads = {program.instructions.empty() ? 0 : program.instructions.front().thread};
  const ByThread busy = busy_by_thread(program);
  if (busy.size() < 2) {
    return timelines;
  }
  const auto main = std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) {
    return busy_ns(a.second) < busy_ns(b.second);
  });
  timelines.threads = {main->first};
  std::map<std::uint64_t, std::uint32_t> own;
  for (const auto& [thread, intervals] : busy) {
    if (thread != main->first && runs_beside(busy, thread)) {
      own.emplace(thread, static_cast<std::uint32_t>(timelines.threads.size()));
      timelines.threads.push_back(thread);
    }
  }
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const auto found = own.find(program.instructions[i].thread);
    timelines.of_instruction[i] = found == own.end() ? 0 : found->second;
  }
  return timelines;
}

}  // namespace understudy::predictor
