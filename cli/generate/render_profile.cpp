#include "generate/render_profile.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/table.h"

namespace understudy::cli {
namespace {

using et_schema::Bench;
using et_schema::LostDeviceEvents;
using et_schema::Program;
using et_schema::RecordedProfile;

constexpr double kNsPerMs = 1e6;

std::string ms(std::int64_t ns) {
  return fmt::format("{:.3f}", static_cast<double>(ns) / kNsPerMs);
}

std::string part_of(std::uint64_t part, std::uint64_t whole) {
  return fmt::format("{} of {}", with_commas(part), with_commas(whole));
}

TextTable profile_table(const Bench& bench) {
  TextTable table({{"rank", Alignment::kRight},
                   {"profile"},
                   {"joined by"},
                   {"nodes", Alignment::kRight},
                   {"device events", Alignment::kRight},
                   {"steps", Alignment::kRight},
                   {"step ms", Alignment::kRight},
                   {"unprofiled ms", Alignment::kRight},
                   {"operators ms", Alignment::kRight},
                   {"device ms", Alignment::kRight},
                   {"taken out, ns/event", Alignment::kRight}});
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    if (!bench.programs[rank].profile) {
      continue;
    }
    const RecordedProfile& profile = *bench.programs[rank].profile;
    table.add({std::to_string(rank), profile.file, std::string(to_string(profile.join)),
               part_of(profile.nodes_joined, profile.nodes_with_rf_id),
               part_of(profile.device_events_linked, profile.device_events),
               with_commas(profile.steps), ms(profile.step_ns),
               profile.unprofiled_step_ns ? ms(*profile.unprofiled_step_ns) : "-",
               ms(profile.operators_ns), ms(profile.operators_device_ns),
               fmt::format("{:.0f}", profile.observer_ns_per_event)});
  }
  return table;
}

std::string shortened(const std::string& name) {
  constexpr std::size_t kWidestName = 90;
  return name.size() > kWidestName ? name.substr(0, kWidestName) + "…" : name;
}

/// Summed over ranks, by name and reason.
TextTable lost_table(const Bench& bench) {
  std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::int64_t>> sums;
  for (const Program& program : bench.programs) {
    for (const LostDeviceEvents& lost :
         program.profile ? program.profile->lost : std::vector<LostDeviceEvents>()) {
      auto& [count, device_ns] = sums[{lost.name, lost.reason}];
      count += lost.count;
      device_ns += lost.device_ns;
    }
  }
  TextTable table(
      {{"device event"}, {"count", Alignment::kRight}, {"ms", Alignment::kRight}, {"reason"}});
  for (const auto& [key, sum] : sums) {
    table.add({shortened(key.first), with_commas(sum.first), ms(sum.second), key.second});
  }
  return table;
}

/// Summed over ranks, by reason and name: what coverage by time lacks.
TextTable outside_table(const Bench& bench) {
  using Key = std::pair<et_schema::Outside, std::string>;
  std::map<Key, std::pair<std::int64_t, std::int64_t>> sums;
  for (const Program& program : bench.programs) {
    for (const et_schema::OutsideTime& row :
         program.profile ? program.profile->outside : std::vector<et_schema::OutsideTime>()) {
      auto& [host_ns, device_ns] = sums[{row.why, row.name}];
      host_ns += row.host_ns;
      device_ns += row.device_ns;
    }
  }
  TextTable table(
      {{"what"}, {"name"}, {"host ms", Alignment::kRight}, {"device ms", Alignment::kRight}});
  for (const auto& [key, sum] : sums) {
    table.add(
        {std::string(to_string(key.first)), shortened(key.second), ms(sum.first), ms(sum.second)});
  }
  return table;
}

}  // namespace

std::string profiles_text(const Bench& bench, const std::string& note) {
  const TextTable profiles = profile_table(bench);
  if (profiles.empty()) {
    return {};
  }
  std::string text = fmt::format("\nRecorded times{}\n{}", note, profiles.to_text());
  if (const TextTable outside = outside_table(bench); !outside.empty()) {
    text += "\nTime of the step that stands in no instruction\n" + outside.to_text();
  }
  if (const TextTable lost = lost_table(bench); !lost.empty()) {
    text += "\nDevice events that no operator can be told to have launched\n" + lost.to_text();
  }
  return text;
}

nlohmann::ordered_json profile_json(const Program& program) {
  if (!program.profile) {
    return nullptr;
  }
  const RecordedProfile& profile = *program.profile;
  nlohmann::ordered_json lost = nlohmann::ordered_json::array();
  for (const LostDeviceEvents& row : profile.lost) {
    lost.push_back({{"name", row.name},
                    {"reason", row.reason},
                    {"count", row.count},
                    {"device_ns", row.device_ns}});
  }
  nlohmann::ordered_json outside = nlohmann::ordered_json::array();
  for (const et_schema::OutsideTime& row : profile.outside) {
    outside.push_back({{"why", to_string(row.why)},
                       {"name", row.name},
                       {"host_ns", row.host_ns},
                       {"device_ns", row.device_ns}});
  }
  nlohmann::ordered_json json = {{"file", profile.file},
                                 {"join", to_string(profile.join)},
                                 {"steps", profile.steps},
                                 {"step_ns", profile.step_ns},
                                 {"unprofiled_step_ns", nullptr},
                                 {"observer_ns_per_event", profile.observer_ns_per_event},
                                 {"observer_source", profile.observer_source},
                                 {"events", profile.events},
                                 {"nodes", profile.nodes},
                                 {"nodes_with_rf_id", profile.nodes_with_rf_id},
                                 {"nodes_joined", profile.nodes_joined},
                                 {"device_events", profile.device_events},
                                 {"device_events_linked", profile.device_events_linked},
                                 {"operators_ns", profile.operators_ns},
                                 {"operators_device_ns", profile.operators_device_ns},
                                 {"outside", std::move(outside)},
                                 {"lost", std::move(lost)}};
  if (profile.unprofiled_step_ns) {
    json["unprofiled_step_ns"] = *profile.unprofiled_step_ns;
  }
  if (profile.host_probe) {
    json["host_probe"] = {{"kind", profile.host_probe->kind}, {"us", profile.host_probe->us}};
  }
  for (const et_schema::DeviceWait& wait : profile.device_waits) {
    json["device_waits"].push_back({{"start_ns", wait.start_ns},
                                    {"host_ns", wait.host_ns},
                                    {"for", to_string(wait.waits_for)}});
  }
  return json;
}

}  // namespace understudy::cli
