#include "line_loops.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "et_schema/support/error.h"
#include "et_schema/support/json_text.h"
#include "et_schema/support/quote.h"

namespace understudy::et_schema {
namespace {

constexpr std::size_t kLongestPeriod = 4096;
constexpr std::size_t kMostDigits = 18;
constexpr std::string_view kLoopStart = "{\"loop\":";

/// A whole number in a line's text: [begin, end).
struct Place {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Part of a word or of a number that is not whole.
bool joins(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

/// Whole numbers of a line, those in texts ("%12") among them; not digits of words and fractions.
std::vector<Place> numbers_in(std::string_view line) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < line.size();) {
    if (!is_digit(line[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && is_digit(line[end])) {
      ++end;
    }
    const bool is_whole =
        (i == 0 || !joins(line[i - 1])) && (end == line.size() || !joins(line[end]));
    const bool is_plain = end - i <= kMostDigits && (line[i] != '0' || end == i + 1);
    if (is_whole && is_plain) {
      places.push_back({i, end});
    }
    i = end;
  }
  return places;
}

std::int64_t value_at(std::string_view line, Place place) {
  std::int64_t value = 0;
  std::from_chars(line.data() + place.begin, line.data() + place.end, value);
  return value;
}

struct Line {
  std::string_view text;
  std::uint32_t shape = 0;  ///< the same for lines that differ in whole numbers alone
  std::vector<std::int64_t> numbers;
};

/// Lines [begin, begin + period * times) repeat.
struct Loop {
  std::size_t begin = 0;
  std::size_t period = 0;
  std::size_t times = 0;
  [[nodiscard]] std::size_t end() const { return begin + period * times; }
  [[nodiscard]] std::size_t saved() const { return times == 0 ? 0 : (times - 1) * period; }
};

class Folder {
 public:
  explicit Folder(std::string_view text) {
    std::unordered_map<std::string, std::uint32_t> shapes;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      Line line;
      line.text = text.substr(begin, end - begin);
      std::string shape;
      std::size_t at = 0;
      for (const Place place : numbers_in(line.text)) {
        shape.append(line.text.substr(at, place.begin - at)).push_back('\1');
        line.numbers.push_back(value_at(line.text, place));
        at = place.end;
      }
      shape.append(line.text.substr(at));
      line.shape =
          shapes.try_emplace(shape, static_cast<std::uint32_t>(shapes.size())).first->second;
      lines_.push_back(std::move(line));
      begin = end + 1;
    }
    find(0, lines_.size());
  }

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  [[nodiscard]] const std::vector<Loop>& loops() const { return loops_; }

 private:
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return lines_[a].shape == lines_[b].shape;
  }

  /// Whether the numbers grow from a to b as they do from b to c.
  [[nodiscard]] bool even(std::size_t a, std::size_t b, std::size_t c) const {
    const std::vector<std::int64_t>& first = lines_[a].numbers;
    const std::vector<std::int64_t>& second = lines_[b].numbers;
    const std::vector<std::int64_t>& third = lines_[c].numbers;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (second[i] - first[i] != third[i] - second[i]) {
        return false;
      }
    }
    return true;
  }

  /// The loop of a period that saves most lines.
  [[nodiscard]] Loop find_best(std::size_t begin, std::size_t end, std::size_t period) const {
    Loop best;
    std::size_t alike_from = begin;
    std::size_t even_from = begin;
    const auto consider = [&](std::size_t from, std::size_t lines) {
      const Loop loop{from, period, lines / period};
      if (loop.times > 1 && loop.saved() > best.saved()) {
        best = loop;
      }
    };
    for (std::size_t i = begin; i + period < end; ++i) {
      if (!alike(i, i + period)) {
        alike_from = i + 1;
        even_from = i + 1;
        continue;
      }
      consider(alike_from, std::min(i + 1 - alike_from + period, 2 * period));
      const bool goes_on = i + 2 * period < end && alike(i + period, i + 2 * period) &&
                           even(i, i + period, i + 2 * period);
      if (goes_on && i + 1 - even_from >= period) {
        consider(even_from, i + 1 - even_from + 2 * period);
      }
      if (!goes_on) {
        even_from = i + 1;
      }
      if (i + 1 - alike_from >= period) {
        ++alike_from;
      }
    }
    return best;
  }

  void find(std::size_t begin, std::size_t end) {
    Loop best;
    const std::size_t longest = std::min((end - begin) / 2, kLongestPeriod);
    for (std::size_t period = 1; period <= longest; ++period) {
      const Loop loop = find_best(begin, end, period);
      best = loop.saved() > best.saved() ? loop : best;
    }
    // The loop's own line is one more.
    if (best.saved() < 2) {
      return;
    }
    find(begin, best.begin);
    loops_.push_back(best);
    find(best.end(), end);
  }

  std::vector<Line> lines_;
  std::vector<Loop> loops_;
};

void append_loop(std::string& out, const std::vector<Line>& lines, const Loop& loop) {
  out += kLoopStart;
  append_json_uint(out, loop.times);
  out += ",\"lines\":";
  append_json_uint(out, loop.period);
  out += ",\"steps\":[";
  for (std::size_t i = 0; i < loop.period; ++i) {
    out += i == 0 ? "[" : ",[";
    const std::vector<std::int64_t>& first = lines[loop.begin + i].numbers;
    const std::vector<std::int64_t>& second = lines[loop.begin + loop.period + i].numbers;
    bool any = false;
    for (std::size_t k = 0; k < first.size(); ++k) {
      if (first[k] != second[k]) {
        out += any ? "," : "";
        append_json_uint(out, k);
        out += ',';
        append_json_int(out, second[k] - first[k]);
        any = true;
      }
    }
    out += ']';
  }
  out += "]}\n";
}

class Unfolder {
 public:
  Unfolder(std::string_view text, const std::string& file, std::uint64_t most_bytes)
      : text_(text), file_(file), most_bytes_(most_bytes) {}

  std::string unfold() {
    while (position_ < text_.size()) {
      const std::string_view line = next();
      if (line.starts_with(kLoopStart)) {
        unroll(line);
      } else {
        add(line);
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string expected, std::string got) const {
    throw bad_input("the program in the benchmark is damaged",
                    {.file = file_,
                     .field = "line " + std::to_string(line_),
                     .expected = std::move(expected),
                     .got = std::move(got),
                     .hint = "make the benchmark again with `generate`"});
  }

  std::string_view next() {
    ++line_;
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    const std::string_view line = text_.substr(position_, end - position_);
    position_ = std::min(end + 1, text_.size());
    return line;
  }

  void add(std::string_view line) {
    if (out_.size() + line.size() + 1 > most_bytes_) {
      fail("loops of at most " + std::to_string(most_bytes_) + " bytes in all", "more");
    }
    out_.append(line).push_back('\n');
  }

  struct Step {
    std::uint64_t number = 0;
    std::int64_t by = 0;
  };

  /// {"loop":N,"lines":K,"steps":[[P,D,…],…]}
  void unroll(std::string_view header) {
    simdjson::dom::element parsed;
    std::uint64_t times = 0;
    std::uint64_t count = 0;
    simdjson::dom::array steps;
    const bool is_loop =
        parser_.parse(header.data(), header.size()).get(parsed) == simdjson::SUCCESS &&
        parsed["loop"].get(times) == simdjson::SUCCESS &&
        parsed["lines"].get(count) == simdjson::SUCCESS &&
        parsed["steps"].get(steps) == simdjson::SUCCESS;
    if (!is_loop || times < 1 || count < 1 || steps.size() != count) {
      fail("a loop of one line or more with a list of steps for each", quote(header));
    }
    std::vector<std::vector<Step>> all;
    for (const simdjson::dom::element& of_line : steps) {
      all.push_back(read_steps(of_line, header));
    }
    std::vector<std::string_view> lines;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (position_ == text_.size()) {
        fail(std::to_string(count) + " lines in the loop", "the end of the file");
      }
      lines.push_back(next());
      if (lines.back().starts_with(kLoopStart)) {
        fail("a line", "a loop in a loop");
      }
    }
    for (std::uint64_t repetition = 0; repetition < times; ++repetition) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        add(stepped(lines[i], all[i], repetition));
      }
    }
  }

  std::vector<Step> read_steps(const simdjson::dom::element& of_line, std::string_view header) {
    simdjson::dom::array numbers;
    std::vector<Step> steps;
    if (of_line.get(numbers) != simdjson::SUCCESS || numbers.size() % 2 != 0) {
      fail("steps [number, by, …]", quote(header));
    }
    for (auto number = numbers.begin(); number != numbers.end(); ++number) {
      Step step;
      const bool has_place = (*number).get(step.number) == simdjson::SUCCESS;
      ++number;
      if (!has_place || (*number).get(step.by) != simdjson::SUCCESS) {
        fail("steps [number, by, …]", quote(header));
      }
      steps.push_back(step);
    }
    return steps;
  }

  std::string stepped(std::string_view line, const std::vector<Step>& steps,
                      std::uint64_t repetition) const {
    if (repetition == 0 || steps.empty()) {
      return std::string(line);
    }
    const std::vector<Place> places = numbers_in(line);
    std::string out;
    std::size_t at = 0;
    std::uint64_t last = 0;
    for (const Step& step : steps) {
      if (step.number >= places.size() || (&step != steps.data() && step.number <= last)) {
        fail("steps of numbers that the line has, ascending", quote(line));
      }
      last = step.number;
      const Place place = places[step.number];
      std::int64_t grown = 0;
      const bool overflows =
          __builtin_mul_overflow(step.by, static_cast<std::int64_t>(repetition), &grown) ||
          __builtin_add_overflow(grown, value_at(line, place), &grown);
      if (overflows || grown < 0) {
        fail("numbers from 0 to 2^63 - 1 in each repetition", quote(line));
      }
      out.append(line.substr(at, place.begin - at)).append(std::to_string(grown));
      at = place.end;
    }
    return out.append(line.substr(at));
  }

  std::string_view text_;
  const std::string& file_;
  std::uint64_t most_bytes_;
  std::size_t position_ = 0;
  std::size_t line_ = 0;
  std::string out_;
  simdjson::dom::parser parser_;
};

}  // namespace

std::string fold_lines(const std::string& text) {
  const Folder folder(text);
  std::string out;
  std::size_t at = 0;
  const auto copy = [&](std::size_t end) {
    for (; at < end; ++at) {
      out.append(folder.lines()[at].text).push_back('\n');
    }
  };
  for (const Loop& loop : folder.loops()) {
    copy(loop.begin);
    append_loop(out, folder.lines(), loop);
    copy(loop.begin + loop.period);
    at = loop.end();
  }
  copy(folder.lines().size());
  return out;
}

std::string unfold_lines(std::string_view text, const std::string& file, std::uint64_t most_bytes) {
  if (text.find(kLoopStart) == std::string_view::npos) {
    return std::string(text);
  }
  return Unfolder(text, file, most_bytes).unfold();
}

std::vector<InstructionLoop> instruction_loops(const std::string& program_text) {
  const Folder folder(program_text);
  const std::vector<Line>& lines = folder.lines();
  const auto is_instruction = [&](std::size_t at) { return lines[at].text.starts_with("{\"i\":"); };
  std::vector<std::size_t> before(lines.size() + 1);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    before[at + 1] = before[at] + (is_instruction(at) ? 1 : 0);
  }
  std::vector<InstructionLoop> loops;
  for (const Loop& loop : folder.loops()) {
    const std::size_t period = before[loop.begin + loop.period] - before[loop.begin];
    if (period > 0) {
      loops.push_back({before[loop.begin], period, loop.times});
    }
  }
  return loops;
}

}  // namespace understudy::et_schema
