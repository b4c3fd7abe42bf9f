#include "predictor/what_if/stragglers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

#include "cli/common/command_line.h"
#include "cli/pages/bench/bench_document.h"
#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/figures.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::figure_text;
using pages::counts, pages::figures, pages::ids, pages::table_at, pages::texts;
using predictor::PartBlame;
using predictor::RankBlame;
using predictor::Stragglers;

constexpr double kMs = 1e-6;

const char* place_of(const predictor::OwnPart& part) {
  return part.on_device ? "device" : "host";
}

Json ratio(double own_ns, double usual_ns) {
  return usual_ns > 0 ? Json(own_ns / usual_ns) : Json();
}

/// Returns the parts that take longer than the others' by a share of the step, the largest excess
/// first.
Json parts_json(const Stragglers& found) {
  constexpr double kLeastShare = 0.001;
  std::vector<Json> parts;
  for (const RankBlame& rank : found.ranks) {
    for (const PartBlame& part : rank.parts) {
      if (part.own_ns - part.usual_ns < kLeastShare * found.step_ns) {
        continue;
      }
      parts.push_back({{"rank", rank.rank},
                       {"where", place_of(part.part)},
                       {"class", part.part.name},
                       {"ms", part.own_ns * kMs},
                       {"usual_ms", part.usual_ns * kMs},
                       {"excess_ms", (part.own_ns - part.usual_ns) * kMs},
                       {"ratio", ratio(part.own_ns, part.usual_ns)}});
    }
  }
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const Json& part) { return part["excess_ms"].get<double>(); });
  return Json(parts);
}

Json document_of(const Stragglers& found) {
  Json ranks = Json::array();
  for (const RankBlame& rank : found.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"own_ms", rank.own_ns * kMs},
                     {"usual_ms", rank.usual_ns * kMs},
                     {"ratio", ratio(rank.own_ns, rank.usual_ns)},
                     {"waited_ms", rank.waited_ns * kMs},
                     {"last", rank.last},
                     {"caused_ms", rank.caused_ns * kMs},
                     {"begin_ms", found.has_clocks ? Json(rank.begin_ns * kMs) : Json()},
                     {"without_ms", rank.without_ns ? Json(*rank.without_ns * kMs) : Json()}});
  }
  Json collectives = Json::array();
  for (const predictor::CollectiveSkew& collective : found.collectives) {
    const bool is_seen = collective.calls > collective.unseen;
    const auto ms = [is_seen](double ns) { return is_seen ? Json(ns * kMs) : Json(); };
    collectives.push_back(
        {{"name", collective.name},
         {"group", collective.group},
         {"group_size", collective.ranks},
         {"calls", collective.calls},
         {"unseen", collective.unseen},
         {"transfer_ms", ms(collective.transfer_ns)},
         {"skew_ms", ms(collective.skew_ns)},
         {"most_ms", ms(collective.most_ns)},
         {"last_rank", collective.last_rank < 0 ? Json() : Json(collective.last_rank)},
         {"last", collective.last}});
  }
  return {{"step_ms", found.step_ns * kMs},
          {"slow", found.slow},
          {"late", found.late},
          {"without_ms", found.without_ns * kMs},
          {"even_ms", found.even_ns * kMs},
          {"steps", found.steps},
          {"stages", found.stages},
          {"has_clocks", found.has_clocks},
          {"ranks", std::move(ranks)},
          {"parts", parts_json(found)},
          {"collectives", std::move(collectives)}};
}

/// Tells the time of the slow ranks' worst part, on average, beside the others'.
std::string reason_of(const Stragglers& found) {
  double own_ns = 0;
  double usual_ns = 0;
  for (const int rank : found.slow) {
    for (const PartBlame& part : found.ranks[static_cast<std::size_t>(rank)].parts) {
      if (part.part == found.slow_in) {
        own_ns += part.own_ns;
        usual_ns += part.usual_ns;
      }
    }
  }
  const auto count = static_cast<double>(found.slow.size());
  return fmt::format("{} ms of {} on the {}, {}", figure_text(own_ns * kMs / count),
                     found.slow_in.name, place_of(found.slow_in),
                     usual_ns > 0 ? fmt::format("{:.2f} times the others' {}", own_ns / usual_ns,
                                                figure_text(usual_ns * kMs / count))
                                  : "of which the others have none");
}

/// "Stage 2 of 4 (ranks 4, 5) is", "Stage 1 of 4 (rank 1) and ranks 4, 6 are", "Rank 3 is".
std::string ranks_text(const Stragglers& found, std::vector<int> ranks) {
  const auto one_text = [](const std::vector<int>& some) {
    return fmt::format("rank{} {}", some.size() > 1 ? "s" : "",
                       pages::ranges_of({some.begin(), some.end()}));
  };
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < found.stages.size(); ++i) {
    const std::vector<int>& stage = found.stages[i];
    if (std::ranges::includes(ranks, stage)) {
      texts.push_back(fmt::format("stage {} of {} ({})", i, found.stages.size(), one_text(stage)));
      std::erase_if(ranks, [&](int rank) { return std::ranges::binary_search(stage, rank); });
    }
  }
  if (!ranks.empty()) {
    texts.push_back(one_text(ranks));
  }
  const bool are_several = texts.size() > 1 || ranks.size() > 1;
  std::string text = fmt::format("{} {}", fmt::join(texts, " and "), are_several ? "are" : "is");
  text.front() = static_cast<char>(std::toupper(text.front()));
  return text;
}

std::string late_text(const Stragglers& found) {
  double waits_ns = 0;
  double begin_ns = 0;
  std::uint64_t last = 0;
  for (const int rank : found.late) {
    const RankBlame& blame = found.ranks[static_cast<std::size_t>(rank)];
    waits_ns += blame.caused_ns;
    begin_ns = std::max(begin_ns, blame.begin_ns);
    last += blame.last;
  }
  return fmt::format(
      "{} late (last in {} of {} collectives): others wait {} ms, which no time of {} own in the "
      "step explains{}",
      ranks_text(found, found.late), last, found.skewed, figure_text(waits_ns * kMs),
      found.late.size() > 1 ? "their" : "its",
      begin_ns > 0 ? fmt::format("; that step began {} ms after the first rank's",
                                 figure_text(begin_ns * kMs))
                   : "");
}

std::string sentence_of(const Stragglers& found) {
  const std::string step = figure_text(found.step_ns * kMs);
  if (!found.slow.empty()) {
    return fmt::format(
        "{} slow{}: {}; the step takes {} ms and would take {} ms with the others' times ({:+.1f} "
        "%).",
        ranks_text(found, found.slow),
        found.steps > 1 ? fmt::format(", by the median of {} steps", found.steps) : "",
        reason_of(found), step, figure_text(found.without_ns * kMs),
        et_schema::kPercent * (found.without_ns / found.step_ns - 1));
  }
  const std::string none = fmt::format(
      "o rank is slow: with the others' times instead of its own, none shortens the step of {} ms "
      "by {:.0f} %; with the usual times on all ranks it would take {} ms.",
      step, predictor::kSlowShare * et_schema::kPercent, figure_text(found.even_ns * kMs));
  return found.late.empty() ? "N" + none : late_text(found) + ". N" + none;
}

}  // namespace

pages::Page stragglers_page(const et_schema::Bench& bench, const std::string& file) {
  const auto timed = std::ranges::count_if(bench.programs, [](const et_schema::Program& program) {
    return program.profile.has_value();
  });
  refuse_if(bench.partial || bench.world_size() < 2 || timed < bench.world_size(),
            "no rank can be compared with others", "--stragglers",
            "recorded times of all ranks of a job, at least two",
            fmt::format("{} of {}{}", timed, et_schema::counted(bench.world_size(), "rank"),
                        bench.partial ? " of a larger job" : ""),
            "give a capture's folder, traces with --profile, or a benchmark made of them", file);
  Stragglers found = predictor::find_stragglers(predictor::job_of(bench));
  const std::string doubts = pages::doubts_of(bench);
  const bool are_times_known = std::ranges::all_of(bench.programs, [](const auto& program) {
    return std::ranges::none_of(program.profile->lost,
                                [](const auto& row) { return row.name.empty() && row.count > 0; });
  });
  if (!are_times_known) {
    found.slow.clear();
    found.late.clear();
  }
  const Json document = document_of(found);
  pages::Page page;
  page.title = "Who is slow in " + file;
  page.verdict.tone = found.slow.empty() && found.late.empty() && doubts.empty()
                          ? pages::Tone::kGood
                          : pages::Tone::kAttention;
  page.verdict.sentence =
      doubts + (are_times_known ? sentence_of(found) : "So nobody can tell which rank is slow.");
  if (!found.has_clocks) {
    page.verdict.findings.push_back(std::string(predictor::kNoClocks) +
                                    " Waits in collectives do not need them.");
  }
  page.sections = {
      {"ranks",
       "Ranks",
       {table_at(document, "/ranks", "Own time, host and device added, beside the others'",
                 {ids("rank"), figures("own ms", "own_ms"), figures("others' ms", "usual_ms"),
                  figures("ratio"), figures("waited ms", "waited_ms"),
                  counts("arrived last", "last"), figures("others' wait ms", "caused_ms"),
                  figures("begins ms", "begin_ms"), figures("step without it ms", "without_ms")}),
        table_at(document, "/parts", "By class of operators, the largest excess first",
                 {ids("rank"), texts("where"), figures("ms"), figures("others' ms", "usual_ms"),
                  figures("excess ms", "excess_ms"), figures("ratio"), texts("class")},
                 10)}},
      {"collectives",
       "Collectives",
       {table_at(document, "/collectives", "Time of transfer, apart from waits for the last rank",
                 {texts("collective", "name"), counts("ranks", "group_size"), counts("calls"),
                  counts("not seen", "unseen"), figures("transfer ms", "transfer_ms"),
                  figures("mean wait ms", "skew_ms"), figures("longest waits ms", "most_ms"),
                  ids("last rank", "last_rank"), counts("times", "last"), texts("group")})}}};
  return made_by("inspect", std::move(page), document, "stragglers.json");
}

}  // namespace understudy::cli
