#include "et_schema/model/threads.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "et_schema/base/stretches.h"
#include "et_schema/model/bodies.h"

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

/// Gives slots that several threads make to each of them; see with_slots_by_thread().
class SlotDivider {
 public:
  SlotDivider(Program& program, const std::vector<std::uint64_t>& threads)
      : program_(program), threads_(threads), latest_(program.slots.size()) {
    std::iota(latest_.begin(), latest_.end(), SlotId{0});
  }

  void divide(std::vector<Instruction>& instructions, std::optional<std::uint64_t> of = {}) {
    for (Instruction& instruction : instructions) {
      const bool is_own = std::ranges::find(threads_, instruction.thread) != threads_.end();
      const std::uint64_t thread = of.value_or(is_own ? instruction.thread : kOthers);
      const std::vector<SlotId> read = slots_in(instruction.args);
      renumber_slots(instruction.args, [&](SlotId slot) { return read_by(thread, slot); });
      divide(instruction.body, thread);
      renumber_slots(instruction.results, [&](SlotId slot) {
        const bool is_read = std::ranges::find(read, slot) != read.end();
        return is_read ? read_by(thread, slot) : made_by(thread, slot);
      });
    }
  }

 private:
  static constexpr std::uint64_t kOthers = std::numeric_limits<std::uint64_t>::max();

  /// Returns the thread's own slot, or else the one made last.
  [[nodiscard]] SlotId read_by(std::uint64_t thread, SlotId slot) const {
    const auto own = made_.find({slot, thread});
    return own == made_.end() ? latest_[slot] : own->second;
  }

  SlotId made_by(std::uint64_t thread, SlotId slot) {
    if (program_.slots[slot].external) {
      return slot;
    }
    const auto [own, is_new] = made_.try_emplace({slot, thread}, slot);
    if (is_new && !is_made_.insert(slot).second) {
      own->second = static_cast<SlotId>(program_.slots.size());
      program_.slots.push_back(Slot(program_.slots[slot]));
    }
    latest_[slot] = own->second;
    return own->second;
  }

  Program& program_;
  const std::vector<std::uint64_t>& threads_;
  std::vector<SlotId> latest_;                               ///< by slot of the original program
  std::map<std::pair<SlotId, std::uint64_t>, SlotId> made_;  ///< by slot and thread
  std::set<SlotId> is_made_;
};

}  // namespace

Program with_slots_by_thread(Program program, const std::vector<std::uint64_t>& threads) {
  if (!threads.empty()) {
    SlotDivider(program, threads).divide(program.instructions);
  }
  return program;
}

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
