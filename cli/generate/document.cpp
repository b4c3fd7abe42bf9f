#include "document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/compile/profiled_device.h"
#include "cli/pages/document/account.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/original_step.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::Bench;
using et_schema::LostDeviceEvents;
using et_schema::Program;
using et_schema::RecordedProfile;
using pages::byte_counts, pages::counts, pages::facts_at, pages::figures, pages::ids,
    pages::losses_at, pages::shortened, pages::summed, pages::table_at, pages::texts;
using pages::Notes;
using pages::Section;
using pages::Table;

constexpr double kMsPerNs = 1e-6;
constexpr std::size_t kLongNameInText = 90;
constexpr std::size_t kRowsInText = 40;

/// Empty if the benchmark names no sources.
et_schema::Source source_of(const Bench& bench, std::size_t rank) {
  return rank < bench.sources.size() ? bench.sources[rank] : et_schema::Source{};
}

Json profile_json(const Program& program) {
  if (!program.profile) {
    return nullptr;
  }
  const RecordedProfile& profile = *program.profile;
  Json lost = Json::array();
  for (const LostDeviceEvents& row : profile.lost) {
    lost.push_back({{"name", row.name},
                    {"reason", row.reason},
                    {"count", row.count},
                    {"device_ns", row.device_ns}});
  }
  Json outside = Json::array();
  for (const et_schema::OutsideTime& row : profile.outside) {
    outside.push_back({{"why", to_string(row.why)},
                       {"name", row.name},
                       {"host_ns", row.host_ns},
                       {"device_ns", row.device_ns}});
  }
  Json json = {{"file", profile.file},
               {"join", to_string(profile.join)},
               {"steps", profile.steps},
               {"step_ns", et_schema::recorded_step_ns(program)},
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
  if (!profile.graph_run.empty()) {
    json["graph_run"] = profile.graph_run;
  }
  for (const et_schema::DeviceWait& wait : et_schema::waits_between(profile)) {
    json["device_waits"].push_back({{"start_ns", wait.start_ns},
                                    {"host_ns", wait.host_ns},
                                    {"for", to_string(wait.waits_for)}});
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

Json bench_json(const Generated& made) {
  const Bench& bench = made.bench;
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const Program& program = bench.programs[rank];
    Json opened = Json::array();
    for (const et_schema::Opened& entry : program.selection.opened) {
      opened.push_back({{"name", entry.name}, {"count", entry.count}, {"reason", entry.reason}});
      if (program.profile) {
        opened.back()["own_ns"] = entry.own_ns;
      }
    }
    ranks.push_back({{"rank", bench.recorded_rank(rank)},
                     {"source", source_of(bench, rank).file},
                     {"schema", source_of(bench, rank).schema},
                     {"step", program.selection.step},
                     {"filters", program.selection.filters},
                     {"operators", program.selection.operators},
                     {"labels", program.selection.labels},
                     {"instructions", program.instructions.size()},
                     {"tensors", program.slots.size()},
                     {"external_bytes", et_schema::plan_memory(program).external_bytes},
                     {"opened", std::move(opened)},
                     {"working_labels", working_labels(program)},
                     {"profile", profile_json(program)},
                     {"losses", program.losses.nonzero()}});
  }
  Json document = {{"bench", made.path.empty() ? nullptr : Json(made.path)},
                   {"bytes", made.bytes},
                   {"world_size", bench.world_size()},
                   {"recorded_world_size", bench.recorded_world_size()},
                   {"ranks", std::move(ranks)}};
  if (Json device_time = device_time_json(bench); !device_time.empty()) {
    document["device_time"] = std::move(device_time);
  }
  return document;
}

et_schema::Account account_of(const Bench& bench) {
  et_schema::Account account;
  for (const Program& program : bench.programs) {
    et_schema::add_step(program, et_schema::in_no_instruction, account);
  }
  return account;
}

Json generated_json(const Generated& made, const et_schema::Account& account) {
  Json document = bench_json(made);
  document["account"] = pages::account_json(account);
  if (made.kernels) {
    document["kernels"] = kernels_json(*made.kernels);
  }
  add_changes(document, made.changes);
  if (made.chakra) {
    document["chakra"] = chakra_json(*made.chakra);
  }
  return document;
}

bool is_narrowed(const Bench& bench) {
  return !bench.programs.empty() && !bench.programs.front().selection.filters.empty();
}

/// Returns a note for figures of the whole step, if the benchmark was narrowed by filters.
std::string whole_step_note(const Bench& bench) {
  return is_narrowed(bench) ? " (in the whole step, before filters)" : "";
}

Section ranks_section(const Json& document, const Generated& made) {
  Section section{"ranks",
                  "Ranks",
                  {table_at(document, "/ranks", "Ranks",
                            {ids("rank"), counts("operators"), counts("labels"),
                             counts("instructions"), counts("tensors"),
                             byte_counts("made before the step", "external_bytes"), texts("schema"),
                             texts("step", "step", "none: the whole trace"), texts("source")})}};
  if (is_narrowed(made.bench)) {
    section.blocks.emplace_back(facts_at(document, "/ranks/0", {texts("Narrowed by", "filters")}));
  }
  if (!made.unlinked.empty()) {
    const bool is_of_profiles = made.bench.sources.front().schema.starts_with("kineto");
    section.blocks.emplace_back(Notes{{fmt::format(
        "{}: {} beside the traces, first {}{}", is_of_profiles ? "Left out" : "Not linked",
        et_schema::counted(made.unlinked.size(), "profile"), made.unlinked.front(),
        is_of_profiles ? ", which records no rank of the job" : "; see --profile")}});
  }
  return section;
}

Section opened_section(const Json& document, const Bench& bench) {
  std::vector<pages::Column> columns = {texts("operator", "name"), summed(counts("count")),
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
                    {texts("label", "name"), summed(counts("count", "value"))})}};
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
                        pages::account_table(document, "/account", "the benchmark"));
  if (document.contains("device_time")) {
    section.blocks.insert(section.blocks.begin() + 1,
                          pages::device_time_table(document, "/device_time", "what it is here"));
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
    section.blocks.emplace_back(Notes{
        {"device times are not all there: see no_device_events and unknown_device_events"}, true});
  }
  return section;
}

Section kernels_section(const Json& document) {
  return {"kernels",
          "Kernels",
          {facts_at(document, "/kernels",
                    {counts("kernels compiled", "kernels"), counts("cubins"),
                     counts("bytes of them", "bytes"),
                     counts("instructions that launch them", "launches"),
                     counts("instructions without machine code: stubs", "stubs"),
                     texts("compiled by", "compiler")}),
           table_at(document, "/kernels/failures", "Not compiled",
                    {texts("kernel", "name"), ids("sm", "architecture"), texts("why")})}};
}

Section chakra_section(const Json& document) {
  return {
      "chakra",
      "Chakra traces",
      {table_at(document, "/chakra/ranks", "Chakra traces, and comm_groups.json",
                {texts("file"), ids("rank"), counts("nodes"), counts("on a device", "device_nodes"),
                 counts("communication", "communication_nodes"), counts("data edges", "data_edges"),
                 counts("order edges", "order_edges")}),
       facts_at(document, "/chakra", {byte_counts("of them", "bytes"), texts("in", "folder")}),
       pages::account_table(document, "/chakra/account", "the Chakra traces"),
       table_at(document, "/chakra/left_out", "What a Chakra trace cannot hold",
                {texts("loss", "name"), counts("count", "value")})}};
}

std::string title_of(const Generated& made) {
  const Bench& bench = made.bench;
  const std::string ranks = et_schema::counted(bench.world_size(), "rank");
  const std::string partial =
      bench.partial ? fmt::format(" ({} of {}, each to be replayed alone)",
                                  fmt::join(bench.partial->ranks, ", "), bench.partial->world_size)
                    : "";
  const std::string made_of = ranks + partial;
  std::string disturbed = et_schema::disturbance_text(bench.programs);
  disturbed.insert(0, disturbed.empty() ? "" : "; ");
  return made.path.empty() ? fmt::format("Traces of {}{}", made_of, disturbed)
                           : fmt::format("{}: the benchmark of {}, {}{}", made.path, made_of,
                                         et_schema::with_bytes(made.bytes), disturbed);
}

}  // namespace

pages::Page generated_page(const Generated& made) {
  const et_schema::Account account = account_of(made.bench);
  const Json document = generated_json(made, account);
  pages::Page page;
  page.title = title_of(made);
  page.verdict = pages::verdict_on(account, "The benchmark");
  page.sections = {ranks_section(document, made), opened_section(document, made.bench),
                   profiles_section(document, made.bench), losses_section(document, made.bench)};
  if (made.chakra) {
    page.sections.push_back(chakra_section(document));
  }
  if (made.kernels) {
    page.sections.push_back(kernels_section(document));
  }
  add_change_sections(page, document, made.changes);
  return made_by("generate", std::move(page), document, "generated.json");
}

}  // namespace understudy::cli
