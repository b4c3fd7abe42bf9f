#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parts.h"

namespace understudy::pages {

Section environment_section(const et_schema::Report& report) {
  const et_schema::Environment& environment = report.environment;
  std::vector<Fact> facts;
  const auto add = [&facts](const std::string& name, const std::string& value) {
    facts.push_back({name, text(value)});
  };
  add("benchmark", environment.benchmark);
  add("benchmark hash", environment.benchmark_hash);
  add("date", environment.date_utc);
  add("device", environment.device);
  add("cpu", environment.cpu_model);
  add("CPUs", environment.cpu_count == 0 ? "" : fmt::format("{}", environment.cpu_count));
  add("threads", environment.threads == 0 ? "" : fmt::format("{}", environment.threads));
  add("backend", environment.backend);
  add("hosts", fmt::format("{}", fmt::join(environment.hosts, ", ")));
  for (const auto& [name, version] : environment.versions) {
    add("version of " + name, version);
  }
  for (const auto& [name, setting] : environment.settings) {
    add("setting " + name, setting);
  }
  return {"environment", "Environment", facts_markup(facts)};
}

}  // namespace understudy::pages
