#include "predictor/embedding/task.h"

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/json_record.h"
#include "et_schema/base/quote.h"
#include "et_schema/base/version.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using nlohmann::ordered_json;

constexpr const char* kTablesFormat = "understudy-tables";
constexpr const char* kLocal = "local";
constexpr const char* kExchanged = "exchanged";

}  // namespace

std::string to_json(const ShardTask& task) {
  ordered_json json = {{"format", kTablesFormat},
                       {"version", kTablesVersion},
                       {"tool_version", et_schema::kToolVersion},
                       {"batch", task.batch},
                       {"indices", task.has_local_indices ? kLocal : kExchanged},
                       {"tables", ordered_json::array()}};
  for (const auto& [name, table] : task.tables) {
    ordered_json of_table = {{"name", name}};
    of_table.update(json_value(table));
    json["tables"].push_back(std::move(of_table));
  }
  return et_schema::dump_lines(json, 2) + "\n";
}

ShardTask parse_tables(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the tables cannot be read",
                                     "docs/formats.md, \"Tables\", has an example"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  if (root.find("format")) {
    et_schema::check_format(root, {"file of tables", kTablesFormat, kTablesVersion});
  }
  ShardTask task;
  if (const auto batch = root.find("batch")) {
    et_schema::read_json(*batch, task.batch, et_schema::AtLeast{1});
  }
  if (const auto indices = root.find("indices")) {
    task.has_local_indices = indices->as_text() == kLocal;
    if (!task.has_local_indices && indices->as_text() != kExchanged) {
      indices->fail("local or exchanged", indices->as_text());
    }
  }
  std::set<std::string> names;
  const JsonField tables = root.at("tables");
  for (const JsonField& field : tables.items()) {
    const auto name = field.find("name");
    NamedTable& table = task.tables.emplace_back();
    table.name = name ? name->as_text() : "table " + std::to_string(task.tables.size() - 1);
    read_value(field, table.table);
    if (!names.insert(table.name).second) {
      field.fail("a name of its own", et_schema::quote(table.name) + " again");
    }
  }
  if (task.tables.empty()) {
    tables.fail("a table or more", "none");
  }
  return task;
}

namespace {

/// facebookresearch/dlrm_datasets, embedding_bag of 2022: share of the rows read, by reuse_bin().
constexpr ReuseShares kDatasetShares = {.342, .144, .149, .138, .112, .068, .029, .010, .004,
                                        .002, .001, .001, 0,    0,    0,    0,    0};

/// Draws numbers that are equal with all C++ libraries, unlike <random>'s distributions.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  double uniform(double low, double high) {
    constexpr double kSteps = 9007199254740992.0;  // 2^53
    return low + (high - low) * static_cast<double>(engine_() >> 11U) / kSteps;
  }
  double log_uniform(double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }

 private:
  std::mt19937_64 engine_;
};

/// Returns the dataset's shares, tilted towards low or high reuse.
ReuseShares tilted_shares(double tilt) {
  ReuseShares shares = kDatasetShares;
  double sum = 0;
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    shares[bin] *= std::exp(tilt * static_cast<double>(bin));
    sum += shares[bin];
  }
  constexpr double kDigits = 1e6;
  for (double& share : shares) {
    share = std::round(share / sum * kDigits) / kDigits;
  }
  return shares;
}

EmbeddingTable draw_table(Draws& draws, const DrawOptions& options, double samples) {
  constexpr std::array<std::int64_t, 4> kDims = {32, 64, 128, 256};
  constexpr double kLeastRows = 100;
  constexpr double kMostRows = 2e7;
  constexpr double kHeavyLookups = 20;
  constexpr double kMostLookups = 200;
  constexpr double kTilt = 0.4;
  constexpr double kTenths = 10;
  EmbeddingTable table;
  table.rows = std::llround(draws.log_uniform(kLeastRows, kMostRows));
  table.dim = kDims[draws.below(kDims.size())];
  const double lookups = options.is_heavy ? draws.log_uniform(kHeavyLookups, kMostLookups)
                                          : draws.log_uniform(1, kHeavyLookups);
  table.pooling = std::round(lookups * kTenths) / kTenths;
  const ReuseShares shares = tilted_shares(draws.uniform(-kTilt, kTilt));
  // Rows of a small table are read more often than these shares allow: it uses uniform draws.
  if (samples * table.pooling / mean_reuse(shares) < static_cast<double>(table.rows)) {
    table.reuse = shares;
  }
  return table;
}

}  // namespace

ShardTask draw_task(const DrawOptions& options) {
  constexpr double kTablesARank = 13;
  constexpr double kFewest = 0.7;
  constexpr double kMost = 1.3;
  constexpr double kUsable = 0.8;
  constexpr int kMostDraws = 10'000;
  Draws draws(options.seed);
  for (int draw = 0; draw < kMostDraws; ++draw) {
    const auto fewest = static_cast<std::size_t>(kTablesARank * options.ranks * kFewest);
    const auto most = static_cast<std::size_t>(kTablesARank * options.ranks * kMost);
    ShardTask task;
    double bytes = 0;
    for (std::size_t left = fewest + draws.below(most - fewest + 1); left > 0; --left) {
      const double samples = static_cast<double>(task.batch) * options.ranks;
      task.tables.push_back(
          {"table " + std::to_string(task.tables.size()), draw_table(draws, options, samples)});
      bytes += held_bytes(task.tables.back().table);
    }
    if (options.memory_bytes <= 0 || bytes <= kUsable * options.memory_bytes * options.ranks) {
      return task;
    }
  }
  throw et_schema::usage_error("no tables were drawn that fit",
                               {.field = "--memory",
                                .expected = "more than a few tables of up to 20 million rows take",
                                .got = "10,000 draws that do not fit",
                                .hint = "give more memory, or cut the tables' rows by hand"});
}

}  // namespace understudy::predictor
