#include "et_schema/base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/quote.h"

namespace understudy::et_schema {
namespace {

[[noreturn]] void refuse(const std::string& file, std::size_t line, std::string expected,
                         std::string got) {
  throw bad_input("the table cannot be read", {.file = fmt::format("{}, line {}", file, line),
                                               .expected = std::move(expected),
                                               .got = std::move(got)});
}

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  /// Reads the next record. Returns false at the end of the text.
  bool next(CsvRecord& record) {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) {
      line_ += text_[at_] == '\n' ? 1U : 0U;
      ++at_;
    }
    if (at_ >= text_.size()) {
      return false;
    }
    record = {line_, {}};
    do {
      record.cells.push_back(text_.substr(at_, 1) == "\"" ? quoted() : plain());
    } while (passes_comma());
    return true;
  }

 private:
  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    std::string_view cell = text_.substr(at_, end - at_);
    at_ = end;
    if (cell.ends_with('\r')) {
      cell.remove_suffix(1);
    }
    if (cell.find('\r') != std::string_view::npos) {
      refuse(file_, line_, "lines that end with a line feed", "carriage returns alone");
    }
    return std::string(cell);
  }

  std::string quoted() {
    const std::size_t begin_line = line_;
    std::string cell;
    for (++at_; at_ < text_.size(); ++at_) {
      const bool is_quote = text_[at_] == '"';
      if (is_quote && text_.substr(at_ + 1, 1) != "\"") {
        ++at_;
        return cell;
      }
      at_ += is_quote ? 1U : 0U;
      line_ += text_[at_] == '\n' ? 1U : 0U;
      cell += text_[at_];
    }
    refuse(file_, begin_line, "a cell that ends with a quote", "the end of the file");
  }

  bool passes_comma() {
    if (text_.substr(at_, 1) == "\r") {
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') {
      refuse(file_, line_, "a comma or the end of the line behind a quoted cell",
             quote(text_.substr(at_, text_.find('\n', at_) - at_)));
    }
    if (text_.substr(at_, 1) != ",") {
      return false;
    }
    ++at_;
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

std::size_t CsvTable::find(std::string_view title) const {
  return static_cast<std::size_t>(std::ranges::find(columns, title) - columns.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  CsvReader reader(text, file);
  CsvRecord record;
  if (!reader.next(record)) {
    refuse(file, 1, "a line of column titles", "an empty file");
  }
  CsvTable table{file, std::move(record.cells), {}};
  if (table.columns.size() == 1 &&
      table.columns.front().find_first_of("\t;") != std::string::npos) {
    const bool has_tabs = table.columns.front().find('\t') != std::string::npos;
    refuse(file, 1, "commas between columns, and points in numbers",
           has_tabs ? "tabs" : "semicolons");
  }
  std::set<std::string_view> titles;
  for (const std::string& title : table.columns) {
    if (!titles.insert(title).second) {
      refuse(file, 1, "each column once", fmt::format("{} twice", quote(title)));
    }
  }
  while (reader.next(record)) {
    if (record.cells.size() != table.columns.size()) {
      refuse(file, record.line, fmt::format("{} cells, as the titles have", table.columns.size()),
             fmt::format("{}", record.cells.size()));
    }
    table.records.push_back(std::move(record));
  }
  return table;
}

}  // namespace understudy::et_schema
