#include "et_schema/model/threads.h"

#include <algorithm>
#include <map>
#include <utility>

#include "et_schema/base/stretches.h"

namespace understudy::et_schema {
namespace {

/// Least overlap with other threads, as a share of a thread's busy time, that counts. Inexact
/// clocks, and wrappers around a caller that waits, cause smaller ones.
constexpr double kLeastOverlap = 0.1;

using ByThread = std::map<std::uint64_t, Stretches>;

ByThread busy_by_thread(const Program& program) {
  ByThread busy;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.timing) {
      const std::int64_t start_ns = instruction.timing->start_ns;
      busy[instruction.thread].push_back({start_ns, start_ns + instruction.timing->host_ns});
    }
  }
  for (auto& [thread, stretches] : busy) {
    stretches = merged_stretches(std::move(stretches));
  }
  return busy;
}

bool runs_beside(const ByThread& busy, std::uint64_t thread) {
  Stretches others;
  for (const auto& [other, stretches] : busy) {
    if (other != thread) {
      others.insert(others.end(), stretches.begin(), stretches.end());
    }
  }
  others = merged_stretches(std::move(others));
  std::int64_t overlap_ns = 0;
  for (const Stretch& own : busy.at(thread)) {
    overlap_ns += covered_ns(others, own);
  }
  return static_cast<double>(overlap_ns) >=
         kLeastOverlap * static_cast<double>(std::max<std::int64_t>(total_ns(busy.at(thread)), 1));
}

}  // namespace

RecordedThreads recorded_threads(const Program& program) {
  RecordedThreads threads;
  const ByThread busy = busy_by_thread(program);
  if (busy.size() < 2) {
    threads.main = program.instructions.empty() ? 0 : program.instructions.front().thread;
    return threads;
  }
  threads.main = std::ranges::max_element(busy, {}, [](const auto& entry) {
                   return total_ns(entry.second);
                 })->first;
  for (const auto& [thread, stretches] : busy) {
    if (thread != threads.main && runs_beside(busy, thread)) {
      threads.beside.push_back(thread);
    }
  }
  return threads;
}

}  // namespace understudy::et_schema
