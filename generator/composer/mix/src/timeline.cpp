#include "timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace understudy::composer {
namespace {

using et_schema::Instruction;

void shift(const Timeline& timeline, std::int64_t by_ns, std::vector<Occurrence>& all) {
  const std::set<std::size_t> occurrences(timeline.order.begin(), timeline.order.end());
  for (const std::size_t occurrence : occurrences) {
    for (Instruction& instruction : all[occurrence].instructions) {
      if (instruction.timing) {
        instruction.timing->start_ns += by_ns;
      }
    }
  }
}

/// Returns, by instruction, whether it lies within a batch of messages that began before it.
std::vector<bool> within_batches(const std::vector<Instruction>& instructions) {
  std::vector<bool> within(instructions.size());
  std::map<std::uint64_t, std::size_t> last_messages;  // of batches, by thread
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!instructions[i].comm) {
      continue;
    }
    const auto last = last_messages.find(instructions[i].thread);
    if (last != last_messages.end() && instructions[i].comm->joins_batch) {
      std::fill(within.begin() + static_cast<std::ptrdiff_t>(last->second) + 1,
                within.begin() + static_cast<std::ptrdiff_t>(i) + 1, true);
    }
    last_messages.erase(instructions[i].thread);
    if (instructions[i].comm->in_batch.value_or(false)) {
      last_messages[instructions[i].thread] = i;
    }
  }
  return within;
}

/// Keeps the position of the next instruction of each part.
class Walk {
 public:
  Walk(const std::vector<Timeline>& parts, const std::vector<Occurrence>& all)
      : parts_(parts), all_(all), next_(parts.size()) {
    for (const Occurrence& occurrence : all) {
      within_batches_.push_back(within_batches(occurrence.instructions));
    }
  }

  [[nodiscard]] bool ended(std::size_t part) const {
    return next_[part] == parts_[part].order.size();
  }
  /// Appends the next instruction and, if it begins a batch of messages, the rest of the batch. A
  /// batch must not be split: separate messages would wait for their peers one by one.
  void take(std::size_t part, Timeline& into) {
    do {
      const std::size_t occurrence = parts_[part].order[next_[part]++];
      into.order.push_back(occurrence);
      ++done_[occurrence];
    } while (!ended(part) && is_within_batch(part));
  }
  /// Returns the issue time of the next instruction, or its index if there are no times.
  [[nodiscard]] std::int64_t start(std::size_t part) {
    const std::size_t occurrence = parts_[part].order[next_[part]];
    const Instruction& instruction = all_[occurrence].instructions[done_[occurrence]];
    return instruction.timing ? instruction.timing->start_ns
                              : static_cast<std::int64_t>(next_[part]);
  }

 private:
  [[nodiscard]] bool is_within_batch(std::size_t part) {
    const std::size_t occurrence = parts_[part].order[next_[part]];
    return within_batches_[occurrence][done_[occurrence]];
  }

  const std::vector<Timeline>& parts_;
  const std::vector<Occurrence>& all_;
  std::vector<std::size_t> next_;
  std::map<std::size_t, std::size_t> done_;
  std::vector<std::vector<bool>> within_batches_;  ///< by occurrence and instruction
};

}  // namespace

Timeline alone(std::size_t occurrence, std::vector<Occurrence>& all) {
  Timeline timeline;
  std::vector<Instruction>& instructions = all[occurrence].instructions;
  timeline.order.assign(instructions.size(), occurrence);
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  for (const Instruction& instruction : instructions) {
    if (instruction.timing) {
      begin = std::min(begin, instruction.timing->start_ns);
      end = std::max(end, instruction.timing->start_ns + instruction.timing->host_ns);
    }
  }
  if (begin <= end) {
    shift(timeline, -begin, all);
    timeline.length_ns = end - begin;
  }
  return timeline;
}

Timeline in_sequence(const std::vector<Timeline>& parts, std::vector<Occurrence>& all) {
  Timeline timeline;
  for (const Timeline& part : parts) {
    shift(part, timeline.length_ns, all);
    timeline.length_ns += part.length_ns;
    timeline.order.insert(timeline.order.end(), part.order.begin(), part.order.end());
  }
  return timeline;
}

void rename_threads(std::vector<Instruction>& instructions,
                    const std::function<std::uint64_t(std::uint64_t)>& renamed) {
  for (Instruction& instruction : instructions) {
    instruction.thread = renamed(instruction.thread);
    rename_threads(instruction.body, renamed);
  }
}

Timeline side_by_side(const std::vector<Timeline>& parts, std::uint64_t& next_lane,
                      std::vector<Occurrence>& all) {
  Timeline timeline;
  for (const Timeline& part : parts) {
    std::map<std::uint64_t, std::uint64_t> lanes;
    for (const std::size_t occurrence :
         std::set<std::size_t>(part.order.begin(), part.order.end())) {
      rename_threads(all[occurrence].instructions, [&](std::uint64_t thread) {
        const auto [lane, is_new] = lanes.try_emplace(thread, next_lane);
        next_lane -= is_new ? 1U : 0U;
        return lane->second;
      });
    }
    timeline.length_ns = std::max(timeline.length_ns, part.length_ns);
  }
  Walk walk(parts, all);
  while (true) {
    std::size_t first = parts.size();
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (!walk.ended(part) && (first == parts.size() || walk.start(part) < walk.start(first))) {
        first = part;
      }
    }
    if (first == parts.size()) {
      return timeline;
    }
    walk.take(first, timeline);
  }
}

using et_schema::RecordedProfile;

std::optional<RecordedProfile> compose_profile(
    const et_schema::Program& program, const std::vector<const et_schema::Program*>& origins,
    std::int64_t length_ns) {
  const bool all_timed = std::all_of(origins.begin(), origins.end(), [](const auto* origin) {
    return origin->profile.has_value();
  });
  if (origins.empty() || !all_timed) {
    return std::nullopt;
  }
  RecordedProfile profile;
  profile.file = "composed";
  profile.join = origins.front()->profile->join;
  profile.step_ns = length_ns;
  profile.observer_source = "the sources' profiles";
  profile.device = origins.front()->profile->device;
  profile.kernel_settings = origins.front()->profile->kernel_settings;
  profile.variables = origins.front()->profile->variables;
  for (const Instruction& instruction : program.instructions) {
    const bool communicates = instruction.comm.has_value();
    ++profile.nodes;
    ++profile.events;
    if (instruction.timing) {
      ++profile.nodes_joined;
      profile.operators_ns += communicates ? 0 : instruction.timing->host_ns;
      profile.operators_device_ns += communicates ? 0 : instruction.timing->device_ns;
    }
  }
  return profile;
}

}  // namespace understudy::composer
