#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/pages/document/from_json.h"
#include "fleet/fingerprint/fingerprint.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::SameAs;
using pages::figures, pages::table_at, pages::texts;

/// A job's work now against its first benchmark's.
struct DriftRow {
  std::string job;
  std::string from, to;                      ///< benchmark hashes
  std::optional<fleet::Fingerprint> before;  ///< unset: nothing moved, or nobody knows
  fleet::Fingerprint now;
  fleet::Drift drift = {};
};

void members(auto& json, SameAs<DriftRow> auto& row) {
  json("job", row.job, et_schema::kFreeText);
  json("from", row.from);
  json("to", row.to);
  json("before", row.before);
  json("now", row.now);
}

struct DriftRequest {
  double above = fleet::kDriftAbove;
  bool all = false;
  std::vector<DriftRow> jobs;
};

void members(auto& json, SameAs<DriftRequest> auto& request) {
  json("above", request.above);
  json("all", request.all);
  json("jobs", request.jobs);
}

Json json_of(const std::vector<DriftRow>& rows, double above) {
  Json list = Json::array();
  for (const DriftRow& row : rows) {
    Json moves = Json::array();
    for (const fleet::Move& move : row.drift.moves) {
      moves.push_back({{"part", move.part}, {"distance", move.distance}, {"text", move.text}});
    }
    list.push_back({{"job", row.job},
                    {"from", row.from},
                    {"to", row.to},
                    {"distance", row.drift.distance},
                    {"drifted", row.drift.distance > above},
                    {"text", fleet::sentence_of(row.drift)},
                    {"moves", std::move(moves)}});
  }
  return {{"format", "understudy-fleet-drift"},
          {"version", 1},
          {"above", above},
          {"jobs", std::move(list)}};
}

pages::Page drift_page(const std::vector<DriftRow>& rows, std::size_t all, double above) {
  const Json document = json_of(rows, above);
  pages::Page page;
  page.title = fmt::format("{} job{}, {}", all, all == 1 ? "" : "s",
                           rows.empty() ? "none moved" : fmt::format("{} shown", rows.size()));
  page.sections = {{"drift",
                    "How far work has drifted, from 0 to 1",
                    {table_at(document, "/jobs", "How far work has drifted, from 0 to 1",
                              {texts("job"), figures("distance"), texts("drifted"),
                               texts("what moved", "text")})}}};
  return made_by("fleet", std::move(page), document, "drift.json", 1);
}

}  // namespace

/// Shows how far each job's work has drifted, and in what.
Answer drift_task(std::istream& text, const TaskOptions& options) {
  auto request = request_in<DriftRequest>(all_of(text));
  std::vector<DriftRow>& rows = request.jobs;
  const std::size_t all = rows.size();
  for (DriftRow& row : rows) {
    if (row.before) {
      row.drift = fleet::drift_between(*row.before, row.now);
    }
  }
  if (!request.all) {
    std::erase_if(rows, [](const DriftRow& row) { return row.drift.distance <= 0; });
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const DriftRow& row) { return row.drift.distance; });
  const bool has_drifted = std::ranges::any_of(
      rows, [&](const DriftRow& row) { return row.drift.distance > request.above; });
  return {pages::written(drift_page(rows, all, request.above), options.format),
          has_drifted ? static_cast<int>(et_schema::ErrorKind::kFailed) : kStatusOk};
}

}  // namespace understudy::cli
