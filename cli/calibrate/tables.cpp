#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "et_schema/base/output_file.h"
#include "et_schema/base/read_file.h"
#include "measure.h"
#include "predictor/embedding/rows.h"
#include "replayer/calibrator/measure/table_timer.h"

namespace understudy::cli {
namespace {

using predictor::EmbeddingRow;

constexpr std::size_t kRowsOfACall = 2;  // forward and backward

EmbeddingRow row_of(const predictor::EmbeddingCall& call, const et_schema::TimeStats& times) {
  return {call, times.median_ns, (times.p90_ns - times.p10_ns) / 2, times.n, "calibrate"};
}

std::vector<EmbeddingRow> measure_call(const calibrator::TableCall& drawn, int threads,
                                       std::uint64_t seed) {
  const calibrator::TableTimes times = calibrator::time_tables(drawn, threads, seed);
  predictor::EmbeddingCall call;
  call.batch = drawn.batch;
  for (std::size_t i = 0; i < drawn.tables.size(); ++i) {
    const calibrator::DrawnTable& table = drawn.tables[i];
    call.tables.push_back({.rows = table.rows,
                           .dim = table.dim,
                           .pooling = static_cast<double>(table.pooling),
                           .item_bytes = sizeof(float),
                           .reuse = predictor::reuse_shares(times.reuse[i])});
  }
  std::vector<EmbeddingRow> rows = {row_of(call, times.forward)};
  call.direction = predictor::Direction::kBackward;
  rows.push_back(row_of(call, times.backward));
  return rows;
}

/// Reads the rows of an interrupted calibration: complete calls, in order.
std::vector<EmbeddingRow> rows_in(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return {};
  }
  std::vector<EmbeddingRow> rows = predictor::parse_embedding_rows(
      et_schema::read_file(path, et_schema::process_limits()), path);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const calibrator::TableCall drawn = calibrator::draw_table_call(i / kRowsOfACall);
    const predictor::EmbeddingCall& call = rows[i].call;
    refuse_if(call.batch != drawn.batch || call.tables.size() != drawn.tables.size() ||
                  call.tables.front().rows != drawn.tables.front().rows,
              "measured embedding tables are there that this calibration cannot go on with",
              "row " + std::to_string(i + 1), "the calls that calibrate measures, in their order",
              "another one", "Remove the file to begin anew, or name another with --output.", path);
  }
  rows.resize(rows.size() / kRowsOfACall * kRowsOfACall);
  return rows;
}

}  // namespace

TablesSummary measure_tables(const TablesOptions& options, const std::function<bool()>& is_over,
                             Progress& progress) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto spent_s = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<EmbeddingRow> rows = rows_in(options.path);
  TablesSummary summary;
  summary.found = rows.size() / kRowsOfACall;
  summary.calls = summary.found;
  while (summary.calls < kMostTableCalls && spent_s() < options.budget_s && !is_over()) {
    progress.show(
        {"embedding tables", summary.calls, kMostTableCalls, options.budget_s - spent_s()});
    for (EmbeddingRow& row :
         measure_call(calibrator::draw_table_call(summary.calls), options.threads, summary.calls)) {
      rows.push_back(std::move(row));
    }
    ++summary.calls;
    et_schema::write_file_atomically(options.path, predictor::to_json_lines(rows));
  }
  summary.spent_s = spent_s();
  return summary;
}

}  // namespace understudy::cli
