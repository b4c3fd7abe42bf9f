#include "et_schema/formats/collective_rows/collective_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_record.h"
#include "et_schema/formats/operator_times/operator_times.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kFormat = "understudy-collective-rows";
constexpr const char* kSummary = "the collective rows cannot be read";
constexpr const char* kHint = "measure again, or remove the line";

}  // namespace

void members(auto& json, SameAs<CollectiveRow> auto& row) {
  json("kind", row.kind, Names{kind_of_recorded_name, "a kind of communication"});
  json("bytes", row.bytes);
  json("ranks", row.ranks);
  json("nodes", row.nodes);
  json("on_device", row.on_device);
  json("dtype", row.dtype, Names{dtype_from_string, "an element type"});
  json.unless(0.0, "median_ns", row.median_ns);
  json.unless(0.0, "spread_ns", row.spread_ns);
  json.unless(std::size_t{1}, "n", row.n);
  json.if_any("source", row.source);
  json.if_any("device", row.device);
  json.if_any("network", row.network);
}

CollectiveRow row_of(const CollectiveCall& call, std::vector<double> times_ns,
                     const std::string& source) {
  const std::optional<TimeStats> stats = time_stats(std::move(times_ns));
  UNDERSTUDY_ASSERT(stats.has_value());
  return {call, stats->median_ns, (stats->p90_ns - stats->p10_ns) / 2, stats->n, source};
}

std::vector<CollectiveRow> rows_of(const RepetitionsNs& calls, const std::string& source) {
  std::vector<CollectiveRow> rows;
  for (const auto& [call, times_ns] : calls) {
    rows.push_back(row_of(call, times_ns, source));
  }
  return rows;
}

void add_receives(std::vector<CollectiveRow>& rows) {
  for (std::size_t i = 0, sends = rows.size(); i < sends; ++i) {
    if (rows[i].kind == CommKind::kSend) {
      CollectiveRow received = rows[i];
      received.kind = CommKind::kRecv;
      rows.push_back(std::move(received));
    }
  }
}

void check_row(const CollectiveRow& row, const std::string& file, const std::string& where,
               bool needs_times) {
  const auto fail = [&](const char* field, const char* expected, std::string got) {
    throw bad_input(kSummary, {.file = file,
                               .field = where.empty() ? field : where + ", " + field,
                               .expected = expected,
                               .got = std::move(got),
                               .hint = kHint});
  };
  if (row.bytes < 0) {
    fail("bytes", "0 or more", fmt::format("{}", row.bytes));
  }
  if (row.ranks < 1) {
    fail("ranks", "1 or more", fmt::format("{}", row.ranks));
  }
  if (row.nodes < 1 || row.nodes > row.ranks) {
    fail("nodes", "1 to as many as ranks", fmt::format("{}", row.nodes));
  }
  const bool has_time = row.median_ns > 0 || (row.median_ns == 0 && !needs_times);
  if (!has_time || !std::isfinite(row.median_ns)) {
    fail("time", "a finite time above 0", fmt::format("{} ns", row.median_ns));
  }
  if (!(row.spread_ns >= 0) || !std::isfinite(row.spread_ns)) {
    fail("spread", "a finite time of 0 or more", fmt::format("{} ns", row.spread_ns));
  }
}

std::string to_json_lines(const std::vector<CollectiveRow>& rows) {
  std::string out = json_lines_header(kFormat, kCollectiveRowsVersion);
  for (const CollectiveRow& row : rows) {
    out += json_line(json_of(row));
  }
  return out;
}

std::vector<CollectiveRow> parse_collective_row_lines(std::string_view text,
                                                      const std::string& file, bool needs_times) {
  std::vector<CollectiveRow> rows;
  for_each_json_line(text, {file, kSummary, kHint},
                     {"file of collective rows", kFormat, kCollectiveRowsVersion},
                     [&](const JsonField& line, std::size_t number) {
                       if (number > 1) {
                         read_json(line, rows.emplace_back());
                         check_row(rows.back(), line.source().file, "", needs_times);
                       }
                     });
  return rows;
}

}  // namespace understudy::et_schema
