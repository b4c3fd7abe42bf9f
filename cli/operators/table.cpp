#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/common/command_line.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/read_file.h"
#include "predictor/calls/measured_files.h"
#include "replayer/calibrator/design/call.h"

namespace understudy::cli {
namespace {

using et_schema::CsvTable, et_schema::MeasuredCall, et_schema::TensorLayout;

template <typename Visitor>
void for_each_table(const std::string& path, const Visitor& visit) {
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    visit(et_schema::parse_csv(file.data, file.name));
  });
}

}  // namespace

bool TableOfCalls::lacks_times(const std::string& path) {
  bool lacks = path.ends_with(".csv") || path.ends_with(".csv.gz");
  if (lacks) {
    for_each_table(path, [&](const CsvTable& table) {
      lacks = std::ranges::none_of(
          table.columns, [](const std::string& title) { return title.starts_with("Latency"); });
    });
  }
  return lacks;
}

TableOfCalls::TableOfCalls(const std::vector<std::string>& paths, const std::string& bench) {
  std::vector<calibrator::Call> calls;
  for (const std::string& path : paths) {
    for_each_table(path, [&](const CsvTable& table) {
      for (MeasuredCall& row : predictor::calls_of(table, predictor::Times::kOptional)) {
        calibrator::Call call;
        if (const std::string why = make_call(row.call, call); !why.empty()) {
          refused_.push_back(fmt::format("{}: {}", full_name(row.call), why));
        } else {
          calls.push_back(std::move(call));
          calls_.push_back(std::move(row.call));
        }
      }
    });
  }
  refuse_if(calls.empty(), "no call of the table can be made", "OPName", "operators of PyTorch",
            refused_.empty() ? "none" : refused_.front(),
            "docs/formats.md, \"Operator tables\", has an example", paths.front());
  write_bench(calibrator::make_bench(calls), bench);
}

std::vector<std::string> TableOfCalls::check(const std::string& rows) {
  et_schema::OperatorTimes times = et_schema::parse_operator_times(
      et_schema::read_file(rows, et_schema::process_limits()), rows);
  std::vector<bool> is_timed(calls_.size());
  std::erase_if(times.rows, [&](const MeasuredCall& row) {
    const et_schema::OperatorCall& asked = calls_[row.instruction];
    const bool differs =
        !asked.outputs.empty() && !std::ranges::equal(asked.outputs, row.call.outputs, {},
                                                      &TensorLayout::sizes, &TensorLayout::sizes);
    if (differs && row.conditions->is_cold) {
      refused_.push_back(fmt::format("{}: its numbers are not known: it makes {} in place of {}",
                                     full_name(asked), to_string(row.call.outputs),
                                     to_string(asked.outputs)));
    }
    is_timed[row.instruction] = true;
    return differs;
  });
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (!is_timed[i]) {
      refused_.push_back(fmt::format("{}: it does not run here", full_name(calls_[i])));
    }
  }
  et_schema::write_file_atomically(rows, et_schema::to_json_lines(times));
  return std::move(refused_);
}

}  // namespace understudy::cli
