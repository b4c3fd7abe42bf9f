#include "predictor/platform/cost_parts.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "et_schema/base/json_record.h"
#include "et_schema/facts/schema_text.h"
#include "predictor/operators/work.h"
#include "predictor/overheads/overheads.h"

namespace understudy::predictor {
namespace {

Estimate host_time(const HostOverheads& host, const Program& program,
                   const Instruction& instruction) {
  // Profiles name operators without their overload.
  const std::string name(et_schema::without_overload(instruction.name));
  const std::string& known_as = host.operators.contains(instruction.name) ? instruction.name : name;
  if (!host.operators.contains(known_as) && instruction.timing && has_issue_times(program)) {
    return known(static_cast<double>(instruction.timing->host_ns), "recorded");
  }
  const Family family = family_of(instruction.name);
  const bool launches = instruction.timing
                            ? instruction.timing->launches > 0
                            : family != Family::kView && family != Family::kAllocation;
  return host_time_of(host, known_as, launches);
}

double page_fault_from_json(const et_schema::JsonField& section) {
  constexpr et_schema::NumberRange kNs = {"nanoseconds, 0 or more", et_schema::kNotNegative.holds};
  return et_schema::read_json<double>(section.at("page_fault_ns"), kNs);
}

}  // namespace

std::optional<double> page_fault_ns(const Platform& platform) {
  return section_of(platform, "host", page_fault_from_json);
}

CollectiveModels collectives_of(const Platform& platform) {
  return section_of(platform, "collectives", collectives_from_json).value_or(CollectiveModels());
}

CostParts cost_parts(const Platform& platform, const std::string& device) {
  CostParts parts;
  if (auto found = section_of(platform, "collectives", collectives_from_json)) {
    const auto collectives = std::make_shared<const CollectiveModels>(*std::move(found));
    parts.communication = [collectives, place = CommPlace{device, ""}](const GroupComm& call) {
      return estimate(*collectives, call, place);
    };
  }
  auto known = section_of(platform, "overheads", overheads_from_json);
  if (!known) {
    return parts;
  }
  const auto host = std::make_shared<const HostOverheads>(*std::move(known));
  parts.gap = [host](const Program& /*program*/, const Instruction& /*instruction*/) {
    return gap_of(*host);
  };
  if (!host->operators.empty()) {
    parts.host = [host](const Program& program, const Instruction& instruction) {
      return host_time(*host, program, instruction);
    };
  }
  return parts;
}

}  // namespace understudy::predictor
