#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "arguments.h"
#include "cli/pages/document/from_json.h"
#include "cli/profile/launches.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/memory_plan.h"
#include "et_schema/model/operator_call.h"
#include "generator/link/align.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using Launches = std::span<const Launch>;
using pages::byte_counts, pages::counts, pages::shortened, pages::table_at, pages::texts;

/// Either is null if the other side alone has it.
struct Change {
  const Launch* before = nullptr;
  const Launch* after = nullptr;
  [[nodiscard]] const Launch& either() const { return *(before != nullptr ? before : after); }
};

/// Holds two sequences against each other by keys (generator::align()): calls `pair` with launches
/// of equal ones, and `between` with what stands between two pairs on either side.
template <typename KeyOf, typename Pair, typename Between>
void hold(Launches a, Launches b, const KeyOf& key_of, const Pair& pair, const Between& between) {
  std::map<std::decay_t<decltype(key_of(a.front()))>, generator::NameId> numbers;
  const auto numbered = [&](Launches launches) {
    std::vector<generator::NameId> ids;
    for (const Launch& launch : launches) {
      ids.push_back(numbers.try_emplace(key_of(launch), numbers.size()).first->second);
    }
    return ids;
  };
  const std::vector<std::uint32_t> places = generator::align(numbered(a), numbered(b));
  std::size_t first_a = 0;
  std::size_t first_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const std::size_t place = places[i]; place != generator::kUnaligned) {
      between(a.subspan(first_a, i - first_a), b.subspan(first_b, place - first_b));
      pair(a[i], b[place]);
      first_a = i + 1;
      first_b = place + 1;
    }
  }
  between(a.subspan(first_a), b.subspan(first_b));
}

/// Equal launches are the same. Between these, launches of one operator have changed, and as many
/// of others at one place; the rest came or went.
std::vector<Change> changes_between(Launches all_a, Launches all_b) {
  std::vector<Change> changes;
  const auto add = [&](const Launch& before, const Launch& after) {
    changes.push_back({&before, &after});
  };
  const auto add_others = [&](Launches a, Launches b) {
    const std::size_t paired = a.size() == b.size() ? a.size() : 0;
    for (std::size_t i = 0; i < paired; ++i) {
      add(a[i], b[i]);
    }
    for (const Launch& went : a.subspan(paired)) {
      changes.push_back({.before = &went});
    }
    for (const Launch& came : b.subspan(paired)) {
      changes.push_back({.after = &came});
    }
  };
  hold(
      all_a, all_b, std::identity(), [](const Launch&, const Launch&) {},
      [&](Launches a, Launches b) {
        hold(
            a, b, [](const Launch& launch) { return launch.launcher; }, add, add_others);
      });
  return changes;
}

/// Returns the row of a change: what both sides share stands in it, the rest in "before", "after".
/// Of what one side has alone, the operator, the phase and the name do.
Json row_of(const Change& change) {
  const Json before = change.before != nullptr ? json_of(*change.before) : Json::object();
  const Json after = change.after != nullptr ? json_of(*change.after) : Json::object();
  const bool is_changed = !before.empty() && !after.empty();
  Json row = {{"change", is_changed ? "changed" : before.empty() ? "came" : "went"}, {"count", 0}};
  for (const auto& [side, own, other] :
       {std::tuple("before", &before, &after), std::tuple("after", &after, &before)}) {
    for (const auto& [key, value] : own->items()) {
      const bool is_shared = is_changed ? other->value(key, Json()) == value
                                        : key == "launcher" || key == "phase" || key == "name";
      (is_shared ? row : row[side])[key] = value;
    }
  }
  return row;
}

Json document_of(const std::vector<NotRun>& a, const std::vector<NotRun>& b) {
  Json steps = Json::array();
  std::map<std::string, std::uint64_t> sums = {
      {"same", 0}, {"changed", 0}, {"came", 0}, {"went", 0}};
  std::map<std::string, Json> launches;
  std::map<std::string, Json> calls;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const NotRun* step : {&a[i], &b[i]}) {
      steps.push_back({{"file", step->file},
                       {"device", step->device},
                       {"launches", step->launches.size()},
                       {"peak_bytes", step->peak_bytes ? Json(*step->peak_bytes) : Json()}});
    }
    sums["same"] += a[i].launches.size();
    for (const Change& change : changes_between(a[i].launches, b[i].launches)) {
      const Json row = row_of(change);
      std::map<std::string, Json>& rows = change.either().is_call ? calls : launches;
      Json& count = rows.try_emplace(row.dump(), row).first->second["count"];
      count = count.get<std::uint64_t>() + 1;
      ++sums[row["change"].get<std::string>()];
      sums["same"] -= change.before != nullptr ? 1 : 0;
    }
  }
  const auto count_of = [](const Json& row) { return row["count"].get<std::uint64_t>(); };
  Json document = {{"steps", std::move(steps)}};
  document.update(sums);
  document["launches"] = et_schema::largest_first(std::move(launches), count_of);
  document["calls"] = et_schema::largest_first(std::move(calls), count_of);
  return document;
}

std::string sentence_of(const Json& document, const std::string& noun, bool is_equal) {
  std::string text =
      fmt::format("Neither step ran: no times. {}{} the same", is_equal ? "Nothing changed: " : "",
                  et_schema::counted(document["same"].get<std::uint64_t>(), noun));
  for (const char* what : {"changed", "came", "went"}) {
    const auto count = document[what].get<std::uint64_t>();
    text += count == 0 ? "" : fmt::format(", {} {}", et_schema::with_commas(count), what);
  }
  return text + ".";
}

pages::Table changes_table(const Json& document, const std::string& at, const std::string& caption,
                           std::size_t most_in_text) {
  return table_at(
      document, at, caption,
      {texts("change"), counts("count"), texts("operator", "launcher"), texts("phase"),
       shortened(texts("before"), most_in_text), shortened(texts("after"), most_in_text),
       shortened(texts("what", "name"), most_in_text)});
}

}  // namespace

std::vector<NotRun> not_run_programs(const std::string& path) {
  const et_schema::Bench bench = et_schema::read_bench(path);
  std::set<const et_schema::Program*> seen;
  std::vector<NotRun> steps;
  for (const et_schema::Program& program : bench.programs) {
    if (!seen.insert(&program).second) {
      continue;
    }
    NotRun step{path, "", plan_step_memory(program).peak_bytes};
    for (const et_schema::Instruction& instruction : program.instructions) {
      if (!instruction.launched || instruction.kind == et_schema::InstructionKind::kWait) {
        continue;
      }
      const std::string more =
          instruction.comm ? et_schema::counted(bench.groups[instruction.comm->group].size, "rank")
                           : et_schema::counted(instruction.launched->count, "launch");
      const std::vector<et_schema::TensorLayout> tensors = layouts_of(program, instruction.args);
      step.launches.push_back(
          {.launcher = instruction.name,
           .name = fmt::format("{}, {}: {}", more, et_schema::counted(tensors.size(), "tensor"),
                               to_string(tensors)),
           .is_call = instruction.comm.has_value()});
    }
    if (!step.launches.empty()) {
      steps.push_back(std::move(step));
    }
  }
  return steps;
}

pages::Page not_run_page(const std::vector<NotRun>& a, const std::vector<NotRun>& b) {
  const bool is_bench = a.front().device.empty();
  const auto ranks = [](const std::vector<NotRun>& side) {
    return fmt::format("{} of a {}", et_schema::counted(side.size(), "rank"),
                       side.front().device.empty() ? "benchmark" : "capture");
  };
  refuse_if(ranks(a) != ranks(b), "steps that did not run, and cannot be paired", "",
            fmt::format("{}, as {}", ranks(a), a.front().file), ranks(b),
            "give two captures, two benchmarks, or the profile of a rank of each", b.front().file);
  const Json document = document_of(a, b);
  const bool is_equal = document["launches"].empty() && document["calls"].empty() &&
                        std::ranges::equal(a, b, {}, &NotRun::peak_bytes, &NotRun::peak_bytes);
  pages::Page page{.title = "B held against A"};
  page.verdict = {is_equal ? pages::Tone::kGood : pages::Tone::kNeutral,
                  sentence_of(document, is_bench ? "operator" : "launch", is_equal)};
  page.sections = {
      {"changes",
       "",
       {table_at(document, "/steps", "A and B",
                 {texts("card", "device"), counts(is_bench ? "operators" : "launches", "launches"),
                  byte_counts("peak of tensors", "peak_bytes"), texts("file")}),
        changes_table(document, "/launches", is_bench ? "Operators" : "Kernels, copies and fills",
                      pages::kNameInText),
        changes_table(document, "/calls", "Calls of libraries, collectives",
                      2 * pages::kNameInText)}}};
  return made_by("compare", std::move(page), document, "comparison.json");
}

}  // namespace understudy::cli
