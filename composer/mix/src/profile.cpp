#include <algorithm>

#include "timeline.h"

namespace understudy::composer {

using et_schema::Instruction;
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
  profile.kernel_settings = origins.front()->profile->kernel_settings;
  profile.variables = origins.front()->profile->variables;
  profile.host_probe = origins.front()->profile->host_probe;
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
