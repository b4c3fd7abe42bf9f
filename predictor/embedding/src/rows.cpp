#include "predictor/embedding/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "et_schema/model/dtype.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_fields.h"
#include "et_schema/support/version.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

constexpr const char* kFormat = "understudy-embedding-rows";
constexpr const char* kSummary = "the embedding rows cannot be read";
constexpr const char* kHint = "measure again, or remove the line";

/// Only the size matters to a table: one type of each, by which a size is written.
constexpr std::array<std::pair<std::int64_t, et_schema::DType>, 5> kTypes = {
    {{1, et_schema::DType::kInt8},
     {2, et_schema::DType::kFloat16},
     {4, et_schema::DType::kFloat32},
     {8, et_schema::DType::kFloat64},
     {16, et_schema::DType::kComplexFloat64}}};

std::string_view type_name(std::int64_t item_bytes) {
  return et_schema::to_string(
      std::ranges::find(kTypes, item_bytes, &std::pair<std::int64_t, et_schema::DType>::first)
          ->second);
}

ordered_json table_json(const EmbeddingTable& table) {
  ordered_json json = {{"rows", table.rows},
                       {"dim", table.dim},
                       {"pooling", table.pooling},
                       {"dtype", type_name(table.item_bytes)},
                       {"reuse", nullptr}};
  if (table.reuse) {
    json["reuse"] = *table.reuse;
  }
  return json;
}

double time_of(const JsonField& field, bool may_be_zero) {
  const double ns = field.as_double();
  if (!std::isfinite(ns) || !(ns > 0 || (may_be_zero && ns == 0))) {
    field.fail(may_be_zero ? "nanoseconds, 0 or more" : "nanoseconds, above 0");
  }
  return ns;
}

Direction read_direction(const JsonField& field) {
  if (field.as_text() == "forward") {
    return Direction::kForward;
  }
  if (field.as_text() != "backward") {
    field.fail("forward or backward");
  }
  return Direction::kBackward;
}

EmbeddingRow read_row(const JsonField& line) {
  EmbeddingRow row;
  row.call.direction = read_direction(line.at("direction"));
  const JsonField batch = line.at("batch");
  row.call.batch = batch.as_int();
  if (row.call.batch < 1) {
    batch.fail("1 or more");
  }
  const JsonField tables = line.at("tables");
  for (const JsonField& table : tables.items()) {
    row.call.tables.push_back(read_table(table));
  }
  if (row.call.tables.empty()) {
    tables.fail("a table or more", "none");
  }
  row.median_ns = time_of(line.at("median_ns"), false);
  row.spread_ns = time_of(line.at("spread_ns"), true);
  row.n = line.at("n").as_uint();
  row.source = line.at("source").as_text();
  return row;
}

}  // namespace

std::string to_json_lines(const std::vector<EmbeddingRow>& rows) {
  std::string text = ordered_json{{"format", kFormat},
                                  {"version", kEmbeddingRowsVersion},
                                  {"tool_version", et_schema::kToolVersion}}
                         .dump() +
                     "\n";
  for (const EmbeddingRow& row : rows) {
    const bool is_forward = row.call.direction == Direction::kForward;
    ordered_json json = {{"direction", is_forward ? "forward" : "backward"},
                         {"batch", row.call.batch},
                         {"tables", ordered_json::array()},
                         {"median_ns", row.median_ns},
                         {"spread_ns", row.spread_ns},
                         {"n", row.n},
                         {"source", row.source}};
    for (const EmbeddingTable& table : row.call.tables) {
      json["tables"].push_back(table_json(table));
    }
    text += json.dump() + "\n";
  }
  return text;
}

std::vector<EmbeddingRow> parse_embedding_rows(std::string_view text, const std::string& file) {
  std::vector<EmbeddingRow> rows;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string name = fmt::format("{}, line {}", file, ++number);
    const et_schema::JsonSource source{name, kSummary, kHint};
    const nlohmann::json document = et_schema::parse_json(text.substr(begin, end - begin), source);
    const JsonField line(document, source);
    if (number == 1) {
      const auto writer = line.find("tool_version");
      et_schema::check_format(line, {"file of embedding rows", kFormat, kEmbeddingRowsVersion},
                              name, writer ? writer->as_text() : std::string());
    } else {
      rows.push_back(read_row(line));
    }
    begin = end + 1;
  }
  if (rows.empty()) {
    throw et_schema::bad_input(kSummary, {.file = file,
                                          .expected = "a header line and a row or more",
                                          .got = number == 0 ? "an empty file" : "no row",
                                          .hint = kHint});
  }
  return rows;
}

}  // namespace understudy::predictor
