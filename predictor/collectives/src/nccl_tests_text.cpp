// Format: the text of nccl-tests, all versions. Up to 2.10 each program has its own columns
// (all_gather has neither redop nor root) and prints the largest error; later versions print the
// number of wrong elements. 2.17 names the program, 2.18 adds a time of day, 2.20 four columns.

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "et_schema/model/comm_traits.h"
#include "readers.h"

namespace understudy::predictor {
namespace {

/// Positions of columns, counted from the right, because columns on the left can be blank.
struct Columns {
  std::size_t time = 0;   ///< position of the first time
  std::size_t wrong = 0;  ///< position of the error count, or of the largest error
  std::size_t count = 0;
  bool has_timestamp = false;
  bool has_errors = false;  ///< up to 2.10: the largest error instead of a count
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
  if (wrong != header.end()) {
    columns.wrong = columns.count - (static_cast<std::size_t>(wrong - header.begin()) - 1);
    columns.has_errors = *wrong == "error";
  }
  return columns;
}

/// Returns the text before the first table's header in its line, or nothing if there is no table.
std::optional<std::string_view> tag_of_header(std::string_view text) {
  for (std::size_t at = text.find("algbw"); at != std::string_view::npos;
       at = text.find("algbw", at + 1)) {
    const std::size_t begin = text.rfind('\n', at) + 1;
    const std::string_view line = text.substr(begin, text.find('\n', at) - begin);
    const std::size_t mark = line.find('#');
    if (mark != std::string_view::npos && columns_of(words_of(line.substr(mark)))) {
      return line.substr(0, mark);
    }
  }
  return std::nullopt;
}

/// Removes the tag that a launcher puts before each line: "[1,0]<stdout>:" (mpirun --tag-output),
/// "0: " (srun --label), or `of_header`, the text before the table's header.
std::string_view without_tag(std::string_view line, std::string_view of_header) {
  constexpr std::string_view kStdout = "<stdout>:";
  if (const std::size_t tag = line.find(kStdout); tag != std::string_view::npos) {
    return line.substr(tag + kStdout.size());
  }
  const std::size_t digits =
      std::min(line.find_first_not_of("0123456789", line.find_first_not_of(' ')), line.size());
  if (digits > 0 && line.substr(digits).starts_with(": ")) {
    return line.substr(digits + 2);
  }
  return !of_header.empty() && line.starts_with(of_header) ? line.substr(of_header.size()) : line;
}

/// One run of a program: the lines before its table, and the table.
struct Run {
  std::optional<CommKind> kind;
  std::map<std::string, std::set<std::string>> ranks;  ///< rank numbers by group
  std::map<std::string, std::set<std::string>> hosts;  ///< by group
  std::string device, network;
  std::optional<Columns> columns;
  std::vector<CollectiveRow> rows;
  std::vector<std::size_t> lines;  ///< line numbers of the rows
  double bus_factor = 0;           ///< from the row with the largest bandwidth
  double best_algbw = 1;           ///< GB/s; smaller ones have too few digits
};

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& file)
      : text_(text), file_(file), tag_(tag_of_header(text).value_or("")) {}

  ReadCollectives read() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      read_line(without_tag(text_.substr(begin, end - begin), tag_));
      begin = end + 1;
    }
    finish();
    if (result_.rows.empty()) {
      refuse_rows(file_, "", "a table of nccl-tests with a row or more", "none that can be used");
    }
    add_receives(result_.rows);
    return std::move(result_);
  }

 private:
  void read_line(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) {
      return;
    }
    const bool is_concluded = line.find(" concluded") != std::string_view::npos;
    const bool begins_run =
        words[0] == "#" && words.size() > 1 && !is_concluded &&
        (words[1] == "nccl-tests" || words[1] == "Collective" || words[1].starts_with("nThread") ||
         words[1] == "Using" || words[1] == "Rank");
    const std::optional<CommKind> kind = is_concluded ? std::nullopt : kind_of_program(line);
    if (!run_.rows.empty() && (begins_run || kind)) {
      finish();
    }
    run_.kind = kind ? kind : run_.kind;
    constexpr std::string_view kNetwork = "Using network ";  // NCCL_DEBUG=INFO
    if (const std::size_t at = line.find(kNetwork); at != std::string_view::npos) {
      run_.network = line.substr(at + kNetwork.size());
      run_.network.erase(run_.network.find_last_not_of(" \r") + 1);
    }
    if (words[0] == "#") {
      read_comment(words);
    } else if (run_.columns && words[0][0] >= '0' && words[0][0] <= '9') {
      read_row(words);
    }
  }

  void read_comment(const std::vector<std::string_view>& words) {
    if (words.size() > 2 && words[1] == "Rank") {
      const auto behind = [&](std::string_view title) {
        const auto found = std::ranges::find(words, title);
        const bool has = found != words.end() && found + 1 != words.end();
        return has ? std::string(*(found + 1)) : std::string();
      };
      const std::string group = behind("Group");
      run_.ranks[group].insert(std::string(words[2]));
      if (const std::string host = behind("on"); !host.empty()) {
        run_.hosts[group].insert(host);
      }
      // "device 0 [0000:0f:00] NVIDIA A100": the name stands behind the bus address.
      const auto bus = std::ranges::find_if(words, [](auto word) { return word.ends_with(']'); });
      if (bus != words.end()) {
        run_.device = fmt::format("{}", fmt::join(bus + 1, words.end(), " "));
      }
    } else if (auto columns = columns_of(words)) {
      run_.columns = columns;
    }
  }

  void read_row(std::vector<std::string_view> words) {
    constexpr std::size_t kWordsOfTimestamp = 2;
    constexpr std::size_t kLeft = 3;  // size, count, type
    const Columns& columns = *run_.columns;
    if (columns.has_timestamp && words.size() > columns.count) {
      words.resize(words.size() - kWordsOfTimestamp);
    }
    if (words.size() > columns.count || words.size() < columns.time + kLeft) {
      ++result_.left_out["lines of another shape"];
      return;
    }
    const auto at = [&](std::size_t from_right) { return words[words.size() - from_right]; };
    const auto bytes = number_of(words[0]);
    const auto us = number_of(at(columns.time));
    const auto dtype = dtype_of_tool_name(words[2]);
    if (!bytes || !us || !dtype) {
      ++result_.left_out["lines of another shape"];
      return;
    }
    const auto wrong = columns.wrong > 0 ? number_of(at(columns.wrong)) : std::nullopt;
    // Up to 2.10: right results differ by up to 1e-2 in 16 bits, by less in others.
    constexpr double kLeastError = 1e-2;
    if (wrong && (columns.has_errors ? *wrong >= kLeastError : *wrong > 0)) {
      ++result_.left_out["wrong results"];
    } else if (!(*bytes > 0)) {
      ++result_.left_out["sizes of 0"];
    } else {
      CollectiveRow row;
      row.bytes = static_cast<std::int64_t>(std::min(*bytes, 9e18));
      row.dtype = *dtype;
      row.median_ns = *us * kNsPerUs;
      row.source = file_;
      run_.rows.push_back(std::move(row));
      run_.lines.push_back(line_);
      const double algbw = number_of(at(columns.time - 1)).value_or(0);
      if (algbw > run_.best_algbw) {
        run_.best_algbw = algbw;
        run_.bus_factor = number_of(at(columns.time - 2)).value_or(0) / algbw;
      }
    }
  }

  /// Ends a run: sets the collective, the ranks and the nodes of its rows, which the lines around
  /// the table name once for all rows.
  void finish() {
    Run run = std::exchange(run_, {});
    if (run.rows.empty()) {
      return;
    }
    const auto kind = run.kind ? run.kind : kind_of_program(file_);
    if (!kind) {
      refuse_rows(file_, "the collective",
                  "the program's name in the text or the file's: all_reduce_perf.txt", "none");
    }
    const auto most = std::ranges::max_element(
        run.ranks, {}, [](const auto& entry) { return entry.second.size(); });
    const int ranks = most == run.ranks.end()
                          ? ranks_of_bus_factor(*kind, run.bus_factor).value_or(0)
                          : static_cast<int>(most->second.size());
    if (ranks == 0) {
      refuse_rows(file_, "the ranks", "lines \"#  Rank 0 …\" before the table", "none");
    }
    const int hosts = most == run.ranks.end() ? 1 : static_cast<int>(run.hosts[most->first].size());
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      CollectiveRow& row = run.rows[i];
      row.kind = *kind;
      row.ranks = ranks;
      row.nodes = std::max(1, hosts);
      row.device = run.device;
      row.network = run.network;
      check_row(row, file_, fmt::format("line {}", run.lines[i]));
      result_.rows.push_back(std::move(row));
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::string_view tag_;
  std::size_t line_ = 0;
  Run run_;
  ReadCollectives result_;
};

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r,";
  std::vector<std::string_view> words;
  for (std::size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_nccl_tests_text(std::string_view text) {
  return tag_of_header(text).has_value();
}

std::optional<CommKind> kind_of_program(std::string_view line) {
  const std::size_t end = line.find("_perf");
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = end;
  while (begin > 0 && (std::isalpha(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                       line[begin - 1] == '_')) {
    --begin;
  }
  return et_schema::kind_of_measured_name(line.substr(begin, end - begin));
}

ReadCollectives parse_nccl_tests_text(std::string_view text, const std::string& file) {
  return TextReader(text, file).read();
}

}  // namespace understudy::predictor
