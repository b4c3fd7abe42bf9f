#include "cli/pages/bench/bench_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "cli/pages/document/account.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/formats/bench/records.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/original_step.h"
#include "et_schema/model/report_figures.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::LostDeviceEvents;
using et_schema::Program;

constexpr double kMsPerNs = 1e-6;
constexpr std::size_t kLongNameInText = 90;
constexpr std::size_t kRowsInText = 40;

Json profile_json(const Program& program) {
  if (!program.profile) {
    return nullptr;
  }
  Json json = et_schema::json_of(*program.profile);
  json["step_ns"] = et_schema::recorded_step_ns(program);
  for (const char* const key : {"kernel_settings", "variables", "operator_counters", "counters",
                                "device_waits", "stream_waits"}) {
    json.erase(key);
  }
  const auto waits = et_schema::waits_between(*program.profile);
  if (!waits.empty()) {
    json["device_waits"] = et_schema::json_of(waits);
  }
  return json;
}

/// Returns the labels that launched work without an operator of their own.
std::map<std::string, std::uint64_t> working_labels(const Program& program) {
  std::map<std::string, std::uint64_t> labels;
  for (const et_schema::Instruction& instruction : program.instructions) {
    if (instruction.kind == et_schema::InstructionKind::kNative) {
      ++labels[instruction.name];
    }
  }
  return labels;
}

std::map<std::string, std::uint64_t> instruction_kinds(const Program& program) {
  std::map<std::string, std::uint64_t> kinds;
  for (const et_schema::Instruction& instruction : program.instructions) {
    ++kinds[std::string(to_string(instruction.kind))];
  }
  return kinds;
}

/// Returns the custom operators of a program, with the rows of the operator map that name them, or
/// why none matches.
Json mapped_operators(const Program& program) {
  std::map<std::string, Json> found;  // by schema
  for (const et_schema::Instruction& instruction : program.instructions) {
    if (instruction.kind != et_schema::InstructionKind::kOp || !instruction.schema ||
        instruction.name.starts_with("aten::")) {
      continue;
    }
    const std::string& schema = program.schemas[*instruction.schema];
    const auto [known, is_new] = found.try_emplace(schema);
    if (is_new) {
      const et_schema::MapMatch match = et_schema::operator_map().find(schema);
      known->second = {{"name", instruction.name},
                       {"count", 0},
                       {"row", match.call ? match.call->row->place() : match.why_not},
                       {"by", match.call ? match.call->row->by() : ""}};
    }
    Json& count = known->second["count"];
    count = count.get<std::uint64_t>() + 1;
  }
  Json rows = Json::array();
  for (auto& [schema, row] : found) {
    if (row["row"] != "") {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// Returns the row of a rank with this program; whose it is, and its source, are still missing.
Json program_json(const Program& program) {
  Json row = {{"rank", nullptr}, {"source", nullptr}, {"schema", nullptr}};
  row.update(et_schema::json_of(program.selection));
  row.update({{"instructions", program.instructions.size()},
              {"kinds", instruction_kinds(program)},
              {"tensors", program.slots.size()},
              {"storages", program.storages.size()},
              {"external_bytes", et_schema::plan_step_memory(program).external_bytes},
              {"working_labels", working_labels(program)},
              {"mapped", mapped_operators(program)},
              {"profile", profile_json(program)},
              {"losses", program.losses.nonzero()}});
  return row;
}

/// Returns the recorded device time of all ranks by class of kernel and kind of instruction. Empty
/// if no profile with device events is linked.
Json device_time_json(const Bench& bench) {
  std::vector<std::vector<et_schema::DeviceTime>> ranks;
  for (const Program& program : bench.programs) {
    ranks.push_back(et_schema::device_times(
        program, [](const et_schema::HeldTime& part) { return std::string(part.holder); }));
  }
  return et_schema::json_of(sum_of(ranks));
}

bool is_narrowed(const Bench& bench) {
  return !bench.programs.empty() && !bench.programs.front().selection.filters.empty();
}

/// Returns a note for figures of the whole step, if the benchmark was narrowed by filters.
std::string whole_step_note(const Bench& bench) {
  return is_narrowed(bench) ? " (in the whole step, before filters)" : "";
}

Section ranks_section(const Json& document, const Bench& bench) {
  Section section{"ranks",
                  "Ranks",
                  {table_at(document, "/ranks", "Ranks",
                            {ids("rank"), counts("operators"), counts("labels"),
                             counts("instructions"), counts("tensors"), counts("storages"),
                             byte_counts("made before the step", "external_bytes"), texts("schema"),
                             texts("step", "step", "none: the whole trace"), texts("source")}),
                   table_at(document, "/ranks/*/kinds", "Instructions",
                            {texts("instruction", "name"), summed(counts("count", "value"))})}};
  if (is_narrowed(bench)) {
    section.blocks.emplace_back(facts_at(document, "/ranks/0", {texts("Narrowed by", "filters")}));
  }
  return section;
}

Section opened_section(const Json& document, const Bench& bench) {
  std::vector<Column> columns = {texts("operator", "name"), summed(counts("count")),
                                 texts("reason")};
  if (!bench.programs.empty() && bench.programs.front().profile) {
    constexpr double kUsPerNs = 1e-3;
    columns.push_back(summed(figures("own µs", "own_ns", kUsPerNs, "in it, not replayed")));
  }
  return {"opened",
          "Opened",
          {table_at(document, "/ranks/*/opened",
                    fmt::format("Opened{}: the operators below them are replayed in their place",
                                whole_step_note(bench)),
                    std::move(columns)),
           table_at(document, "/ranks/*/working_labels",
                    "Labels that did work without an operator of their own",
                    {texts("label", "name"), summed(counts("count", "value"))}),
           table_at(document, "/ranks/*/mapped", "Custom operators that the operator map knows",
                    {texts("operator", "name"), summed(counts("count")), texts("row"),
                     texts("replayed by", "by")})}};
}

/// Shows the source of recorded times, what was matched, and what was lost.
Section profiles_section(const Json& document, const Bench& bench) {
  const bool is_linked = std::ranges::any_of(
      bench.programs, [](const Program& program) { return program.profile.has_value(); });
  if (!is_linked) {
    return {"profiles", "Recorded times", {}};
  }
  Section section = {
      "profiles",
      "Recorded times",
      {table_at(document, "/ranks",
                "Recorded times, without the cost of recording" + whole_step_note(bench),
                {ids("rank"), counts("nodes joined", "profile/nodes_joined"),
                 counts("of", "profile/nodes_with_rf_id"),
                 counts("device events", "profile/device_events_linked"),
                 counts("of", "profile/device_events"), counts("steps", "profile/steps"),
                 figures("step ms", "profile/step_ns", kMsPerNs),
                 figures("unprofiled ms", "profile/unprofiled_step_ns", kMsPerNs),
                 figures("operators ms", "profile/operators_ns", kMsPerNs),
                 figures("device ms", "profile/operators_device_ns", kMsPerNs),
                 figures("taken out, ns/event", "profile/observer_ns_per_event"),
                 texts("joined by", "profile/join"), texts("profile", "profile/file")}),
       table_at(document, "/ranks/*/profile/outside",
                "Time of the step that stands in no instruction",
                {texts("what", "why"), summed(figures("host ms", "host_ns", kMsPerNs)),
                 summed(figures("device ms", "device_ns", kMsPerNs)),
                 shortened(texts("name"), kLongNameInText)},
                kRowsInText),
       table_at(document, "/ranks/*/profile/lost",
                "Device events that no operator can be told to have launched",
                {shortened(texts("device event", "name"), kLongNameInText), summed(counts("count")),
                 summed(figures("ms", "device_ns", kMsPerNs)), texts("reason")},
                kRowsInText)}};
  section.blocks.insert(section.blocks.begin() + 1,
                        account_table(document, "/account", "the benchmark"));
  if (document.contains("device_time")) {
    section.blocks.insert(section.blocks.begin() + 1,
                          device_time_table(document, "/device_time", "what it is here"));
  }
  return section;
}

Section losses_section(const Json& document, const Bench& bench) {
  Section section{"losses", "Losses", {}};
  et_schema::Losses losses;
  for (const Program& program : bench.programs) {
    losses += program.losses;
  }
  if (losses.nonzero().empty()) {
    section.blocks.emplace_back(Notes{{"Nothing was lost or repaired."}});
  } else {
    section.blocks.emplace_back(losses_at(document, "/ranks/*/losses"));
  }
  if (losses[et_schema::Loss::kNoDeviceEvents] + losses[et_schema::Loss::kUnknownDeviceEvents] >
      0) {
    section.blocks.emplace_back(
        Notes{{"device times are not all there: see no_device_events and unknown_device_events"}});
  }
  return section;
}

/// Shows how each group changed with the number of ranks, and why.
Section scaled_section(const nlohmann::ordered_json& document, const et_schema::ScaledJob& scaled) {
  Section section{
      "scaled",
      fmt::format("{} ranks became {}", scaled.world_size, scaled.ranks.size()),
      {table_at(document, "/scaled/groups", "Process groups; bytes of the first rank that has them",
                {texts("group", "name"), texts("kind"), texts("because", "why"),
                 counts("ranks", "ranks_before"), counts("now", "ranks_after"), counts("calls"),
                 counts("bytes sent", "sent_bytes_before"), counts("now", "sent_bytes_after"),
                 counts("received", "received_bytes_before"), counts("now", "received_bytes_after"),
                 texts("rule")})}};
  if (scaled.groups.empty()) {
    section.blocks = {
        Notes{{"No rank communicates: they run side by side. What data-parallel ranks would "
               "sum is not in the traces."}}};
  }
  return section;
}

}  // namespace

et_schema::Account account_of(const Bench& bench) {
  et_schema::Account account;
  for (const Program& program : bench.programs) {
    et_schema::add_step(program, et_schema::in_no_instruction, account);
  }
  return account;
}

Json bench_json(const Bench& bench) {
  Json ranks = Json::array();
  std::map<const Program*, std::size_t> first;  // the first of the ranks that share a program
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const auto [same, is_new] = first.try_emplace(&bench.programs[rank], rank);
    ranks.push_back(is_new ? program_json(bench.programs[rank]) : ranks[same->second]);
    ranks.back()["rank"] = bench.recorded_rank(rank);
    const bool is_named = rank < bench.sources.size();  // composed benchmarks have no sources
    ranks.back()["source"] = is_named ? bench.sources[rank].file : "";
    ranks.back()["schema"] = is_named ? bench.sources[rank].schema : "";
  }
  Json document = {{"tool_version", bench.tool_version},
                   {"world_size", bench.world_size()},
                   {"recorded_world_size", bench.recorded_world_size()},
                   {"ranks", std::move(ranks)},
                   {"account", account_json(account_of(bench))}};
  if (Json device_time = device_time_json(bench); !device_time.empty()) {
    document["device_time"] = std::move(device_time);
  }
  if (bench.scaled) {
    document["scaled"] = et_schema::json_of(*bench.scaled);
  }
  return document;
}

std::string bench_verdict(const Bench& bench) {
  std::uint64_t operators = 0;
  std::uint64_t losses = 0;
  std::int64_t step_ns = 0;
  for (const Program& program : bench.programs) {
    operators += program.selection.operators;
    step_ns = std::max(step_ns, et_schema::recorded_step_ns(program));
    for (const auto& [name, count] : program.losses.nonzero()) {
      losses += count;
    }
  }
  const std::string disturbed = et_schema::disturbance_text(bench.programs);
  const std::string recorded =
      step_ns == 0 ? "no recorded times"
                   : fmt::format("the recorded step took {} ms{}{}",
                                 et_schema::figure_text(static_cast<double>(step_ns) * kMsPerNs),
                                 disturbed.empty() ? "" : "; ", disturbed);
  const std::string lost = losses == 0 ? "nothing was"
                                       : fmt::format("{} {}", et_schema::with_commas(losses),
                                                     losses == 1 ? "thing was" : "things were");
  return fmt::format("{} on {}; {}; {} lost, assumed or repaired.",
                     et_schema::counted(operators, "operator"),
                     et_schema::counted(bench.world_size(), "rank"), recorded, lost);
}

std::string doubts_of(const Bench& bench) {
  std::string text;
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    text += et_schema::device_doubts(bench.programs, rank);
  }
  return text;
}

std::vector<Section> bench_sections(const Json& document, const Bench& bench) {
  std::vector<Section> sections = {ranks_section(document, bench), opened_section(document, bench),
                                   profiles_section(document, bench),
                                   losses_section(document, bench)};
  if (bench.scaled) {
    sections.push_back(scaled_section(document, *bench.scaled));
  }
  return sections;
}

}  // namespace understudy::pages
