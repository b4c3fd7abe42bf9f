#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "et_schema/model/program.h"
#include "occurrence.h"

namespace understudy::composer {

/// Where an occurrence's instructions come from in the new program: for each instruction its
/// occurrence, in order.
struct Timeline {
  std::vector<std::size_t> order;  ///< occurrence of each instruction
  std::int64_t length_ns = 0;      ///< recorded
};

/// One behind the other.
[[nodiscard]] Timeline in_sequence(const std::vector<Timeline>& parts,
                                   std::vector<Occurrence>& all);
/// In turns of `stride` instructions; a part that ends leaves its turns to the others.
[[nodiscard]] Timeline interleaved(const std::vector<Timeline>& parts, std::size_t stride,
                                   std::vector<Occurrence>& all);
/// All starting together, on threads of their own, whose numbers go down from `next_lane`; issued
/// in order of their recorded start, or in turns where nothing was recorded.
[[nodiscard]] Timeline side_by_side(const std::vector<Timeline>& parts, std::uint64_t& next_lane,
                                    std::vector<Occurrence>& all);
/// Gives the threads of instructions, and of their bodies, other numbers.
void rename_threads(std::vector<et_schema::Instruction>& instructions,
                    const std::function<std::uint64_t(std::uint64_t)>& renamed);
/// An occurrence alone, its recorded times from 0.
[[nodiscard]] Timeline alone(std::size_t occurrence, std::vector<Occurrence>& all);

/// What is known of the times of a composed step of `length_ns`: nothing where an instruction has
/// none. `origins`: the profiles of its sources.
[[nodiscard]] std::optional<et_schema::RecordedProfile> compose_profile(
    const et_schema::Program& program, const std::vector<const et_schema::Program*>& origins,
    std::int64_t length_ns);

}  // namespace understudy::composer
