#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "occurrence.h"

namespace understudy::composer {

/// The order of instructions in the new program.
struct Timeline {
  std::vector<std::size_t> order;  ///< occurrence of each instruction
  std::int64_t length_ns = 0;      ///< recorded
};

/// Concatenates the parts.
[[nodiscard]] Timeline in_sequence(const std::vector<Timeline>& parts,
                                   std::vector<Occurrence>& all);
/// Runs the parts concurrently, each on threads of its own, numbered downwards from `next_lane`.
/// Instructions are in the order of their recorded start; they alternate if no times were recorded.
[[nodiscard]] Timeline side_by_side(const std::vector<Timeline>& parts, std::uint64_t& next_lane,
                                    std::vector<Occurrence>& all);
/// Replaces the thread numbers of instructions and of their bodies.
void rename_threads(std::vector<et_schema::Instruction>& instructions,
                    const std::function<std::uint64_t(std::uint64_t)>& renamed);
/// Returns the timeline of a single occurrence, with its recorded times starting from 0.
[[nodiscard]] Timeline alone(std::size_t occurrence, std::vector<Occurrence>& all);

/// Returns the profile of a composed step of `length_ns`; empty if a source has none. `origins` are
/// the sources' programs.
[[nodiscard]] std::optional<et_schema::RecordedProfile> compose_profile(
    const et_schema::Program& program, const std::vector<const et_schema::Program*>& origins,
    std::int64_t length_ns);

}  // namespace understudy::composer
