#include "source_text.h"

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

}  // namespace

std::string wrapped(const std::string& line) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (line.size() <= kColumns || indent == std::string::npos || line[indent] == '#') {
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

}  // namespace understudy::emitter
