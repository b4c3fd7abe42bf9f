#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "cli/common/stop_signals.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/read_file.h"
#include "generator/values/zipf.h"
#include "measure.h"
#include "predictor/embedding/rows.h"
#include "replayer/calibrator/design/table_calls.h"
#include "replayer/calibrator/measure/made.h"

namespace understudy::cli {
namespace {

using predictor::EmbeddingRow;

constexpr std::size_t kRowsOfACall = 2;  // forward and backward

constexpr int kPassesOfTables = 7;

EmbeddingRow row_of(const predictor::EmbeddingCall& call,
                    std::span<const et_schema::MeasuredCall> parts) {
  EmbeddingRow row{.call = call, .source = "calibrate"};
  for (const et_schema::MeasuredCall& part : parts) {
    row.median_ns += part.host.median_ns;
    row.spread_ns += part.host.spread_ns / 2;
    row.n = part.host.n;
  }
  return row;
}

/// Returns the rows of a call, forward and backward; none if a signal ended its replay. Each pass
/// has its own lookups, so that the caches hold the data of the previous one, as in training.
std::vector<EmbeddingRow> measure_call(const TablesOptions& measuring, std::uint64_t number) {
  const calibrator::TableCall drawn = calibrator::draw_table_call(number);
  predictor::EmbeddingCall call;
  call.batch = drawn.batch;
  std::vector<et_schema::Reuse> reuse;
  for (const calibrator::DrawnTable& table : drawn.tables) {
    reuse.push_back(generator::zipf_reuse(0, table.rows, table.skew, drawn.batch * table.pooling,
                                          number + reuse.size()));
    call.tables.push_back({.rows = table.rows,
                           .dim = table.dim,
                           .pooling = static_cast<double>(table.pooling),
                           .item_bytes = sizeof(float),
                           .reuse = predictor::reuse_shares(reuse.back())});
  }
  replayer::ReplayOptions options;
  options.threads = measuring.threads;
  options.seed = number;
  options.passes = kPassesOfTables;
  options.restores = false;
  options.monitor.stop_signal = &StopSignals::signal();
  const replayer::RankRun run = calibrator::replay_made(
      calibrator::bench_of(make_program(drawn, reuse)), measuring.backend, std::move(options));
  if (run.instruction_times.empty()) {
    return {};
  }
  const std::span parts(run.instruction_times);
  std::vector<EmbeddingRow> rows = {row_of(call, parts.first(drawn.tables.size()))};
  call.direction = predictor::Direction::kBackward;
  rows.push_back(row_of(call, parts.subspan(drawn.tables.size())));
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
    std::vector<EmbeddingRow> measured = measure_call(options, summary.calls);
    if (measured.empty()) {
      break;
    }
    std::ranges::move(measured, std::back_inserter(rows));
    ++summary.calls;
    et_schema::write_file_atomically(options.path, predictor::to_json_lines(rows));
  }
  summary.spent_s = spent_s();
  return summary;
}

}  // namespace understudy::cli
