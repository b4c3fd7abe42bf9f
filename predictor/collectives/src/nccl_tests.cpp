// Formats: nccl-tests' src/util.cu (2.17 to 2.19), writeResultHeader and writeBenchmarkLine*.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "et_schema/support/json_fields.h"
#include "et_schema/support/quote.h"
#include "readers.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;

constexpr std::string_view kProgramEnd = "_perf";

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// The kind by the first program's name in the text: "…/all_reduce_perf".
std::optional<et_schema::CommKind> kind_of_program(std::string_view text) {
  const std::size_t end = text.find(kProgramEnd);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = end;
  while (begin > 0 &&
         ((text[begin - 1] >= 'a' && text[begin - 1] <= 'z') || text[begin - 1] == '_')) {
    --begin;
  }
  return kind_of_tool_name(text.substr(begin, end - begin));
}

/// Where the columns stand, counted from the right: those of the left may be blank.
struct Columns {
  std::size_t time = 0;   ///< of the first time
  std::size_t wrong = 0;  ///< of the count after it
  std::size_t count = 0;
  bool has_timestamp = false;
};

std::optional<Columns> columns_of(const std::vector<std::string_view>& header) {
  const auto is_time = [](std::string_view word) { return word == "time" || word == "cputime"; };
  const auto time = std::ranges::find_if(header, is_time);
  if (header.size() < 2 || header[0] != "#" || header[1] != "size" || time == header.end()) {
    return std::nullopt;
  }
  Columns columns;
  columns.has_timestamp = header.back() == "timestamp";
  columns.count = header.size() - 1 - (columns.has_timestamp ? 1 : 0);
  const auto place = static_cast<std::size_t>(time - header.begin()) - 1;
  columns.time = columns.count - place;
  const auto wrong = std::find_if(time, header.end(), [](std::string_view word) {
    return word == "#wrong" || word == "error";
  });
  columns.wrong = wrong == header.end()
                      ? 0
                      : columns.count - (static_cast<std::size_t>(wrong - header.begin()) - 1);
  return columns;
}

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  ReadCollectives read() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      read_line(words_of(text_.substr(begin, end - begin)));
      begin = end + 1;
    }
    if (result_.rows.empty()) {
      refuse_rows(file_, "", "a table of nccl-tests with a row or more", "none that can be used");
    }
    fill();
    return std::move(result_);
  }

 private:
  void read_line(const std::vector<std::string_view>& words) {
    if (words.empty()) {
      return;
    }
    if (words[0] == "#") {
      read_comment(words);
    } else if (columns_ && words[0][0] >= '0' && words[0][0] <= '9') {
      read_row(words);
    }
  }

  void read_comment(const std::vector<std::string_view>& words) {
    if (words.size() > 1 && words[1] == "Rank") {
      ++ranks_;
      const auto on = std::ranges::find(words, "on");
      if (on != words.end() && on + 1 != words.end()) {
        hosts_.insert(std::string(*(on + 1)));
      }
    } else if (auto columns = columns_of(words)) {
      columns_ = columns;
    }
  }

  void read_row(std::vector<std::string_view> words) {
    constexpr std::size_t kWordsOfTimestamp = 2;
    constexpr std::size_t kLeft = 3;  // size, count, type
    if (columns_->has_timestamp && words.size() > kWordsOfTimestamp) {
      words.resize(words.size() - kWordsOfTimestamp);
    }
    if (words.size() > columns_->count || words.size() < columns_->time + kLeft) {
      ++result_.left_out["lines of another shape"];
      return;
    }
    const auto at = [&](std::size_t from_right) { return words[words.size() - from_right]; };
    const auto bytes = number_of(words[0]);
    const auto us = number_of(at(columns_->time));
    const auto dtype = dtype_of_tool_name(words[2]);
    if (!bytes || !us || !dtype) {
      ++result_.left_out["lines of another shape"];
      return;
    }
    const auto wrong = columns_->wrong > 0 ? number_of(at(columns_->wrong)) : std::nullopt;
    if (wrong && *wrong != 0) {
      ++result_.left_out["wrong results"];
    } else if (!(*bytes > 0)) {
      ++result_.left_out["sizes of 0"];
    } else {
      CollectiveRow row;
      row.bytes = static_cast<std::int64_t>(std::min(*bytes, 9e18));
      row.dtype = *dtype;
      row.median_ns = *us * kNsPerUs;
      row.source = file_;
      result_.rows.push_back(std::move(row));
      lines_.push_back(line_);
      const double algbw = number_of(at(columns_->time - 1)).value_or(0);
      const double busbw = number_of(at(columns_->time - 2)).value_or(0);
      bus_factor_ = algbw > 1 ? busbw / algbw : bus_factor_;
    }
  }

  /// What the lines around the table say of all rows.
  void fill() {
    const auto of_text = kind_of_program(text_);
    const auto kind = of_text ? of_text : kind_of_program(file_);
    if (!kind) {
      refuse_rows(file_, "the collective",
                  "the program's name in the text or the file's: all_reduce_perf.txt", "none");
    }
    int ranks = ranks_;
    if (ranks == 0 && kind == et_schema::CommKind::kAllReduce) {
      ranks = ranks_of_bus_factor(bus_factor_).value_or(0);
    }
    if (ranks == 0) {
      refuse_rows(file_, "the ranks", "lines \"#  Rank 0 …\" before the table", "none");
    }
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      CollectiveRow& row = result_.rows[i];
      row.kind = *kind;
      row.ranks = ranks;
      row.nodes = std::max(1, static_cast<int>(hosts_.size()));
      check_row(row, file_, fmt::format("line {}", lines_[i]));
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t line_ = 0;
  int ranks_ = 0;
  std::set<std::string> hosts_;
  std::optional<Columns> columns_;
  double bus_factor_ = 0;
  std::vector<std::size_t> lines_;
  ReadCollectives result_;
};

/// "time", or "cpu_time" where the calls were timed on the host.
std::optional<double> time_us(const JsonField& result) {
  for (const char* place : {"out_of_place", "in_place"}) {
    const auto body = result.find(place);
    if (!body || body->is_null()) {
      continue;
    }
    const auto time = body->find("time");
    return (time ? *time : body->at("cpu_time")).as_double();
  }
  return std::nullopt;
}

bool is_wrong(const JsonField& result) {
  for (const char* place : {"out_of_place", "in_place"}) {
    const auto body = result.find(place);
    if (!body || body->is_null()) {
      continue;
    }
    const auto wrong = body->find("nwrong");
    return wrong && !wrong->is_null() && wrong->as_double() != 0;
  }
  return false;
}

/// The kind by the command line, else by the experiment's own name.
std::optional<et_schema::CommKind> kind_of_json(const JsonField& root) {
  std::vector<std::string> names;
  if (const auto arguments = root.find("args")) {
    names = arguments->as_texts();
  }
  for (const JsonField& result : root.at("results").items()) {
    if (const auto name = result.find("experiment_name")) {
      names.push_back(name->is_null() ? "" : name->as_text());
    }
  }
  for (const std::string& name : names) {
    if (const auto kind = kind_of_program(name)) {
      return kind;
    }
  }
  return std::nullopt;
}

std::optional<CollectiveRow> row_of(const JsonField& result, ReadCollectives& read) {
  CollectiveRow row;
  row.bytes = result.at("size").as_int();
  const JsonField type = result.at("type");
  const auto dtype = dtype_of_tool_name(type.as_text());
  const auto us = time_us(result);
  if (!dtype) {
    type.fail("an element type of NCCL");
  }
  if (is_wrong(result)) {
    ++read.left_out["wrong results"];
  } else if (!us) {
    ++read.left_out["lines of another shape"];
  } else if (row.bytes == 0) {
    ++read.left_out["sizes of 0"];
  } else {
    row.dtype = *dtype;
    row.median_ns = *us * kNsPerUs;
    return row;
  }
  return std::nullopt;
}

}  // namespace

ReadCollectives parse_nccl_tests_text(std::string_view text, const std::string& file) {
  return TextReader(text, file).read();
}

ReadCollectives parse_nccl_tests_json(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the output of nccl-tests cannot be read",
                                     "run it again with -J FILE"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  const auto kind = kind_of_json(root);
  if (!kind) {
    refuse_rows(file, "args", "a program of nccl-tests: all_reduce_perf", "none");
  }
  std::set<std::string> hosts;
  const std::vector<JsonField> devices = root.at("config").at("devices").items();
  for (const JsonField& device : devices) {
    hosts.insert(device.at("hostname").as_text());
  }
  ReadCollectives read;
  for (const JsonField& result : root.at("results").items()) {
    if (auto row = row_of(result, read)) {
      row->kind = *kind;
      row->ranks = static_cast<int>(devices.size());
      row->nodes = static_cast<int>(hosts.size());
      row->source = file;
      check_row(*row, file, fmt::format("results, size {}", row->bytes));
      read.rows.push_back(std::move(*row));
    }
  }
  if (read.rows.empty()) {
    refuse_rows(file, "results", "a row or more that can be used", "none");
  }
  return read;
}

}  // namespace understudy::predictor
