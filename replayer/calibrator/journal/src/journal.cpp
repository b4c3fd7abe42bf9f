#include "replayer/calibrator/journal/journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "et_schema/base/cannot_write.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/read_file.h"

namespace understudy::calibrator {
namespace {

using et_schema::OperatorTimes;

void refuse_other(const std::string& path, const char* field, const std::string& expected,
                  const std::string& got) {
  if (expected != got) {
    throw et_schema::usage_error(
        "an interrupted calibration is there that this one cannot go on with",
        {.file = path,
         .field = field,
         .expected = expected,
         .got = got,
         .hint = "Remove the file to begin anew, or name another with --output."});
  }
}

}  // namespace

Journal::Journal(std::string path, OperatorTimes header)
    : path_(std::move(path)), times_(std::move(header)) {
  if (std::filesystem::exists(path_)) {
    read();
  }
  if (found_ == 0 || found_cut_line_) {
    et_schema::write_file_atomically(path_, et_schema::to_json_lines(times_));
  }
  file_.open(path_, std::ios::app);
  check_file();
}

void Journal::check_file() const {
  if (!file_) {
    throw et_schema::cannot_write("the rows cannot be written",
                                  {.file = path_, .got = std::strerror(errno)});
  }
}

void Journal::read() {
  std::string text = et_schema::read_file(path_, et_schema::process_limits());
  const std::size_t whole = text.rfind('\n') + 1;  // 0 if there is none
  found_cut_line_ = whole != text.size();
  text.resize(whole);
  if (text.empty()) {
    return;
  }
  OperatorTimes there = et_schema::parse_operator_times(text, path_);
  refuse_other(path_, "tool_version", times_.tool_version, there.tool_version);
  refuse_other(path_, "benchmark", times_.benchmark, there.benchmark);
  refuse_other(path_, "device", times_.device, there.device);
  refuse_other(path_, "world_size", std::to_string(times_.world_size),
               std::to_string(there.world_size));
  times_.rows = std::move(there.rows);
  found_ = times_.rows.size();
  for (std::size_t row = 0; row < times_.rows.size(); ++row) {
    index(row);
    if (times_.rows[row].conditions) {
      found_s_ = std::max(found_s_, times_.rows[row].conditions->at_s);
    }
  }
}

void Journal::index(std::size_t row) {
  if (times_.rows[row].conditions) {
    by_call_.emplace(times_.rows[row].conditions->call, row);
  }
}

std::vector<const et_schema::MeasuredCall*> Journal::rows_of(const std::string& call) const {
  std::vector<const et_schema::MeasuredCall*> rows;
  const auto [begin, end] = by_call_.equal_range(call);
  for (auto row = begin; row != end; ++row) {
    rows.push_back(&times_.rows[row->second]);
  }
  return rows;
}

void Journal::add(et_schema::MeasuredCall row) {
  file_ << et_schema::to_json_line(row);
  file_.flush();
  check_file();
  times_.rows.push_back(std::move(row));
  index(times_.rows.size() - 1);
}

}  // namespace understudy::calibrator
