#include "predictor/collectives/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_record.h"
#include "et_schema/base/statistics.h"
#include "et_schema/model/comm_traits.h"
#include "et_schema/model/report.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

constexpr const char* kFormat = "understudy-collective-rows";
constexpr const char* kSummary = "the collective rows cannot be read";
constexpr const char* kHint = "measure again, or remove the line";

}  // namespace

void members(auto& json, et_schema::SameAs<CollectiveRow> auto& row) {
  json("kind", row.kind,
       et_schema::Names{et_schema::kind_of_recorded_name, "a kind of communication"});
  json("bytes", row.bytes);
  json("ranks", row.ranks);
  json("nodes", row.nodes);
  json("on_device", row.on_device);
  json("dtype", row.dtype, et_schema::Names{et_schema::dtype_from_string, "an element type"});
  json("median_ns", row.median_ns);
  json("spread_ns", row.spread_ns);
  json("n", row.n);
  json("source", row.source);
}

std::vector<CollectiveRow> rows_of(const RepetitionsNs& calls, const std::string& source) {
  constexpr double kLow = 0.1;
  constexpr double kHalf = 0.5;
  constexpr double kHigh = 0.9;
  std::vector<CollectiveRow> rows;
  for (const auto& [call, times_ns] : calls) {
    UNDERSTUDY_ASSERT(!times_ns.empty());
    std::vector<double> sorted = times_ns;
    std::ranges::sort(sorted);
    CollectiveRow& row = rows.emplace_back();
    row.kind = call.kind;
    row.bytes = call.bytes;
    row.ranks = call.ranks;
    row.nodes = call.nodes;
    row.dtype = call.dtype;
    row.median_ns = *et_schema::percentile(sorted, kHalf);
    row.spread_ns =
        (*et_schema::percentile(sorted, kHigh) - *et_schema::percentile(sorted, kLow)) / 2;
    row.n = sorted.size();
    row.source = source;
  }
  return rows;
}

void check_row(const CollectiveRow& row, const std::string& file, const std::string& where) {
  const auto fail = [&](const char* field, const char* expected, std::string got) {
    throw et_schema::bad_input(kSummary, {.file = file,
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
  if (!(row.median_ns > 0) || !std::isfinite(row.median_ns)) {
    fail("time", "a finite time above 0", fmt::format("{} ns", row.median_ns));
  }
  if (!(row.spread_ns >= 0) || !std::isfinite(row.spread_ns)) {
    fail("spread", "a finite time of 0 or more", fmt::format("{} ns", row.spread_ns));
  }
}

static void check_record(const JsonField& line, CollectiveRow& row) {
  check_row(row, line.source().file, "");
}

std::string to_json_lines(const std::vector<CollectiveRow>& rows) {
  std::string out = et_schema::json_lines_header(kFormat, kCollectiveRowsVersion);
  for (const CollectiveRow& row : rows) {
    out += et_schema::json_line(et_schema::json_of(row));
  }
  return out;
}

std::vector<CollectiveRow> parse_collective_row_lines(std::string_view text,
                                                      const std::string& file) {
  return et_schema::read_json_lines<CollectiveRow>(
      text, {file, kSummary, kHint}, {"file of collective rows", kFormat, kCollectiveRowsVersion});
}

}  // namespace understudy::predictor
