#include "source_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace understudy::emitter {
namespace {

constexpr std::size_t kColumns = 100;

/// Returns by column whether a line may break after it. A line must not break in a string, or in
/// the names that an assignment begins with, because Python would end the statement there.
std::vector<bool> find_breakable(const std::string& line) {
  std::vector<bool> breakable(line.size());
  bool quoted = false;
  std::size_t open = 0;
  bool assigns = false;
  std::vector<std::size_t> outside;  // of brackets
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    quoted = c == '"' ? !quoted : quoted;
    if (quoted) {
      i += c == '\\' ? 1 : 0;  // skips the escaped character
      continue;
    }
    open += c == '(' || c == '[' || c == '{' ? 1 : 0;
    open -= open > 0 && (c == ')' || c == ']' || c == '}') ? 1 : 0;
    breakable[i] = true;
    if (open == 0 && !assigns) {
      assigns = line.compare(i, 3, " = ") == 0;
      outside.push_back(i);
    }
  }
  for (const std::size_t i : outside) {
    breakable[i] = !assigns;
  }
  return breakable;
}

/// Returns the last position in [begin, end) after a comma and its blank, or else after a bracket.
std::size_t find_break(const std::string& line, const std::vector<bool>& breakable,
                       std::size_t begin, std::size_t end) {
  std::size_t found = std::string::npos;
  std::size_t bracket = std::string::npos;
  for (std::size_t i = begin; i + 1 < line.size() && i + 2 <= end; ++i) {
    if (breakable[i] && line[i] == ',' && line[i + 1] == ' ') {
      found = i + 2;
    }
    if (breakable[i] && line[i] == '(') {
      bracket = i + 1;
    }
  }
  return found == std::string::npos ? bracket : found;
}

/// A line, divided at its indices: the numbers in [ ] after a name.
struct Indexed {
  std::vector<std::string> pieces;  ///< the text around the indices
  std::vector<std::size_t> indices;
};

Indexed indices_of(const std::string& line) {
  Indexed indexed;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    quoted = line[i] == '"' ? !quoted : quoted;
    i += quoted && line[i] == '\\' ? 1U : 0U;
    std::size_t index = 0;
    const char* const end = line.data() + line.size();
    const bool opens = !quoted && i > 0 && i + 1 < line.size() && line[i] == '[' &&
                       std::isalnum(static_cast<unsigned char>(line[i - 1])) != 0;
    if (!opens) {
      continue;
    }
    const auto [read, error] = std::from_chars(line.data() + i + 1, end, index);
    if (error == std::errc() && read != end && *read == ']') {
      indexed.pieces.push_back(line.substr(begin, i + 1 - begin));
      indexed.indices.push_back(index);
      begin = static_cast<std::size_t>(read - line.data());
    }
  }
  indexed.pieces.push_back(line.substr(begin));
  return indexed;
}

/// Returns true if a line equals `first` with its moving indices `by` higher.
bool continues(const Indexed& first, const Indexed& next, const std::vector<bool>& moves,
               std::size_t by) {
  bool fits = first.pieces == next.pieces;
  for (std::size_t i = 0; fits && i < first.indices.size(); ++i) {
    fits = next.indices[i] == first.indices[i] + (moves[i] ? by : 0);
  }
  return fits;
}

std::string body_of(const Indexed& first, const std::vector<bool>& moves) {
  const std::size_t from = first.indices[static_cast<std::size_t>(
      std::find(moves.begin(), moves.end(), true) - moves.begin())];
  std::string text = first.pieces.front();
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const std::size_t index = first.indices[i];
    text += !moves[i]       ? fmt::format("{}", index)
            : index == from ? "i"
            : index > from  ? fmt::format("i + {}", index - from)
                            : fmt::format("i - {}", from - index);
    text += first.pieces[i + 1];
  }
  return text;
}

}  // namespace

std::vector<std::string> looped(const std::vector<std::string>& lines, bool is_python) {
  constexpr std::size_t kShortest = 4;
  std::vector<std::string> result;
  for (std::size_t at = 0; at < lines.size();) {
    const Indexed first = indices_of(lines[at]);
    std::vector<bool> moves(first.indices.size());
    std::size_t count = 1;
    if (at + 1 < lines.size() && !moves.empty()) {
      const Indexed second = indices_of(lines[at + 1]);
      for (std::size_t i = 0; i < std::min(moves.size(), second.indices.size()); ++i) {
        moves[i] = second.indices[i] != first.indices[i];
      }
      while (at + count < lines.size() &&
             continues(first, indices_of(lines[at + count]), moves, count)) {
        ++count;
      }
    }
    if (count < kShortest || std::find(moves.begin(), moves.end(), true) == moves.end()) {
      result.push_back(lines[at++]);
      continue;
    }
    const std::size_t from = first.indices[static_cast<std::size_t>(
        std::find(moves.begin(), moves.end(), true) - moves.begin())];
    if (is_python) {
      result.push_back(from == 0 ? fmt::format("for i in range({}):", count)
                                 : fmt::format("for i in range({}, {}):", from, from + count));
      result.push_back("    " + body_of(first, moves));
    } else {
      result.push_back(fmt::format("for (std::size_t i = {}; i < {}; ++i) {{", from, from + count));
      result.push_back("  " + body_of(first, moves));
      result.emplace_back("}");
    }
    at += count;
  }
  return result;
}

std::string wrapped(const std::string& line) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (line.size() <= kColumns || indent == std::string::npos ||
      line.compare(indent, 2, "//") == 0 || line[indent] == '#') {
    return line + "\n";
  }
  const std::vector<bool> breakable = find_breakable(line);
  const std::string more(indent + 4, ' ');
  std::string text;
  std::size_t begin = 0;
  while (true) {
    const std::size_t room = text.empty() ? kColumns : kColumns - more.size();
    const std::string prefix = text.empty() ? "" : more;
    const std::size_t cut = line.size() - begin <= room
                                ? std::string::npos
                                : find_break(line, breakable, begin, begin + room + 1);
    if (cut == std::string::npos) {
      return text + prefix + line.substr(begin) + "\n";
    }
    const std::size_t end = line[cut - 1] == ' ' ? cut - 1 : cut;
    text += prefix + line.substr(begin, end - begin) + "\n";
    begin = cut;
  }
}

std::string block(const std::vector<std::string>& lines, std::size_t indent) {
  std::string text;
  for (const std::string& line : lines) {
    text += line.empty() ? "\n" : wrapped(std::string(indent, ' ') + line);
  }
  return text;
}

std::string type_name(const std::string& name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return text;
}

}  // namespace understudy::emitter
