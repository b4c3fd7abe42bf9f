#include "source_text.h"

#include <cctype>

namespace understudy::emitter {
namespace {

constexpr std::size_t kColumns = 100;

/// The last place of [begin, end) behind a comma and its blank, else behind a bracket, outside of
/// texts.
std::size_t find_break(const std::string& line, std::size_t begin, std::size_t end) {
  std::size_t found = std::string::npos;
  std::size_t bracket = std::string::npos;
  bool quoted = false;
  for (std::size_t i = begin; i + 1 < line.size() && i + 2 <= end; ++i) {
    quoted = line[i] == '"' && (i == 0 || line[i - 1] != '\\') ? !quoted : quoted;
    if (!quoted && line[i] == ',' && line[i + 1] == ' ') {
      found = i + 2;
    }
    if (!quoted && line[i] == '(') {
      bracket = i + 1;
    }
  }
  return found == std::string::npos ? bracket : found;
}

}  // namespace

std::string wrapped(const std::string& line) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (line.size() <= kColumns || indent == std::string::npos ||
      line.compare(indent, 2, "//") == 0) {
    return line + "\n";
  }
  const std::string more(indent + 4, ' ');
  std::string text;
  std::size_t begin = 0;
  while (true) {
    const std::size_t room = text.empty() ? kColumns : kColumns - more.size();
    const std::string prefix = text.empty() ? "" : more;
    const std::size_t cut =
        line.size() - begin <= room ? std::string::npos : find_break(line, begin, begin + room + 1);
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
