#include "tags.h"

#include <cctype>
#include <stdexcept>

namespace understudy::pages {
namespace {

bool is_letter(char character) {
  return std::isalpha(static_cast<unsigned char>(character)) != 0;
}
bool is_blank(char character) {
  return character == ' ' || character == '\n' || character == '\t';
}

/// Reads one tag, "<" passed; leaves what is behind its ">".
std::string read_tag(std::string_view& rest) {
  const auto take_while = [&rest](auto is_part) {
    std::size_t end = 0;
    while (end < rest.size() && is_part(rest[end])) {
      ++end;
    }
    std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(end);
    return std::string(taken);
  };
  const auto is_name = [](char character) {
    return !is_blank(character) && character != '=' && character != '>';
  };
  std::string tag = take_while(is_name);
  while (true) {
    take_while(is_blank);
    if (rest.empty()) {
      throw std::runtime_error("a tag without an end");
    }
    if (rest[0] == '>') {
      rest.remove_prefix(1);
      return tag;
    }
    tag += ' ' + take_while(is_name);
    if (!rest.starts_with("=\"")) {
      throw std::runtime_error("an attribute without a quoted value in " + tag);
    }
    rest.remove_prefix(2);
    take_while([](char character) { return character != '"'; });
    rest.remove_prefix(1);
  }
}

}  // namespace

std::vector<std::string> tags_of(std::string_view html) {
  std::vector<std::string> tags;
  for (std::string_view rest = html; !rest.empty();) {
    if (rest[0] != '<') {
      rest.remove_prefix(1);
      continue;
    }
    rest.remove_prefix(1);
    if (rest.starts_with("!doctype")) {
      rest.remove_prefix(rest.find('>') + 1);
      continue;
    }
    if (rest.empty() || !(is_letter(rest[0]) || rest[0] == '/')) {
      throw std::runtime_error("a < that begins no tag");
    }
    tags.push_back(read_tag(rest));
    // Raw text: ends at the next closing tag of its own, whatever stands in it.
    for (const std::string_view raw : {"script", "style", "title"}) {
      if (tags.back() == raw || tags.back().starts_with(std::string(raw) + " ")) {
        const std::size_t end = rest.find("</" + std::string(raw));
        if (end == std::string_view::npos) {
          throw std::runtime_error("no end of " + std::string(raw));
        }
        rest.remove_prefix(end);
      }
    }
  }
  return tags;
}

std::string block_of(std::string_view html, const std::string& id) {
  const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t at = html.find(begin);
  if (at == std::string_view::npos) {
    throw std::runtime_error("no block " + id);
  }
  html.remove_prefix(at + begin.size());
  return std::string(html.substr(0, html.find("</script>")));
}

}  // namespace understudy::pages
