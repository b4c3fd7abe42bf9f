#include "predictor/embedding/rows.h"

#include <cmath>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_record.h"

namespace understudy::predictor {
namespace {

constexpr const char* kFormat = "understudy-embedding-rows";
constexpr const char* kSummary = "the embedding rows cannot be read";
constexpr const char* kHint = "measure again, or remove the line";

constexpr et_schema::NumberRange kTime = {"nanoseconds, above 0",
                                          [](double ns) { return std::isfinite(ns) && ns > 0; }};
constexpr et_schema::NumberRange kSpread = {"nanoseconds, 0 or more",
                                            [](double ns) { return std::isfinite(ns) && ns >= 0; }};

constexpr et_schema::EnumNames<Direction::kBackward> kDirections("forward", "backward");

}  // namespace

static std::string_view to_string(Direction direction) {
  return kDirections[direction];
}

void members(auto& json, et_schema::SameAs<EmbeddingRow> auto& row) {
  json("direction", row.call.direction,
       et_schema::Names{[](std::string_view name) { return kDirections.find(name); },
                        "forward or backward"});
  json("batch", row.call.batch, et_schema::AtLeast{1});
  json("tables", row.call.tables);
  json("median_ns", row.median_ns, kTime);
  json("spread_ns", row.spread_ns, kSpread);
  json("n", row.n);
  json("source", row.source);
}

static void check_record(const et_schema::JsonField& line, EmbeddingRow& row) {
  if (row.call.tables.empty()) {
    line.at("tables").fail("a table or more", "none");
  }
}

std::string to_json_lines(const std::vector<EmbeddingRow>& rows) {
  std::string text = et_schema::json_lines_header(kFormat, kEmbeddingRowsVersion);
  for (const EmbeddingRow& row : rows) {
    text += et_schema::json_line(et_schema::json_of(row));
  }
  return text;
}

std::vector<EmbeddingRow> parse_embedding_rows(std::string_view text, const std::string& file) {
  std::vector<EmbeddingRow> rows = et_schema::read_json_lines<EmbeddingRow>(
      text, {file, kSummary, kHint}, {"file of embedding rows", kFormat, kEmbeddingRowsVersion});
  if (rows.empty()) {
    throw et_schema::bad_input(kSummary, {.file = file,
                                          .expected = "a header line and a row or more",
                                          .got = text.empty() ? "an empty file" : "no row",
                                          .hint = kHint});
  }
  return rows;
}

}  // namespace understudy::predictor
