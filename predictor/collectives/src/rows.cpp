#include "predictor/collectives/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/report.h"
#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_fields.h"
#include "et_schema/support/json_text.h"
#include "et_schema/support/version.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

constexpr const char* kFormat = "understudy-collective-rows";
constexpr const char* kSummary = "the collective rows cannot be read";
constexpr const char* kHint = "measure again, or remove the line";

CollectiveRow read_row(const JsonField& line) {
  CollectiveRow row;
  const JsonField kind = line.at("kind");
  const auto known = et_schema::kind_of_recorded_name(kind.as_text());
  if (!known) {
    kind.fail("a kind of communication");
  }
  const JsonField dtype = line.at("dtype");
  const auto type = et_schema::dtype_from_string(dtype.as_text());
  if (!type) {
    dtype.fail("an element type");
  }
  row.kind = *known;
  row.bytes = line.at("bytes").as_int();
  row.ranks = line.at("ranks").as_int32();
  row.nodes = line.at("nodes").as_int32();
  row.on_device = line.at("on_device").as_bool();
  row.dtype = *type;
  row.median_ns = line.at("median_ns").as_double();
  row.spread_ns = line.at("spread_ns").as_double();
  row.n = line.at("n").as_uint();
  row.source = line.at("source").as_text();
  return row;
}

void append_key(std::string& out, const char* key) {
  out += out.back() == '{' ? "" : ",";
  et_schema::append_json_string(out, key);
  out += ":";
}

void append_text(std::string& out, const char* key, std::string_view value) {
  append_key(out, key);
  et_schema::append_json_string(out, value);
}

void append_int(std::string& out, const char* key, std::int64_t value) {
  append_key(out, key);
  et_schema::append_json_int(out, value);
}

void append_double(std::string& out, const char* key, double value) {
  append_key(out, key);
  et_schema::append_json_double(out, value);
}

void append_row(std::string& out, const CollectiveRow& row) {
  out += "{";
  append_text(out, "kind", et_schema::to_string(row.kind));
  append_int(out, "bytes", row.bytes);
  append_int(out, "ranks", row.ranks);
  append_int(out, "nodes", row.nodes);
  append_key(out, "on_device");
  out += row.on_device ? "true" : "false";
  append_text(out, "dtype", et_schema::to_string(row.dtype));
  append_double(out, "median_ns", row.median_ns);
  append_double(out, "spread_ns", row.spread_ns);
  append_int(out, "n", static_cast<std::int64_t>(row.n));
  append_text(out, "source", row.source);
  out += "}\n";
}

}  // namespace

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

std::string to_json_lines(const std::vector<CollectiveRow>& rows) {
  std::string out = "{";
  append_text(out, "format", kFormat);
  append_int(out, "version", kCollectiveRowsVersion);
  append_text(out, "tool_version", et_schema::kToolVersion);
  out += "}\n";
  for (const CollectiveRow& row : rows) {
    append_row(out, row);
  }
  return out;
}

std::vector<CollectiveRow> parse_collective_row_lines(std::string_view text,
                                                      const std::string& file) {
  std::vector<CollectiveRow> rows;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string name = fmt::format("{}, line {}", file, ++number);
    const et_schema::JsonSource source{name, kSummary, kHint};
    const nlohmann::json document = et_schema::parse_json(text.substr(begin, end - begin), source);
    const JsonField line(document, source);
    if (number == 1) {
      const auto writer = line.find("tool_version");
      et_schema::check_format(line, {"file of collective rows", kFormat, kCollectiveRowsVersion},
                              name, writer ? writer->as_text() : std::string());
    } else {
      rows.push_back(read_row(line));
      check_row(rows.back(), name, "");
    }
    begin = end + 1;
  }
  return rows;
}

}  // namespace understudy::predictor
