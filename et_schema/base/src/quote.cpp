#include "et_schema/base/quote.h"

#include <charconv>
#include <system_error>

#include "et_schema/base/control_characters.h"

namespace understudy::et_schema {

std::string quote(std::string_view text) {
  constexpr std::size_t kMostBytes = 60;
  const bool cut = text.size() > kMostBytes;
  std::size_t end = cut ? kMostBytes : text.size();
  while (cut && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  std::string result;
  for (std::string_view rest = text.substr(0, end); !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    const bool is_shown = length > 0 && !is_control_character(rest.substr(0, length));
    result += is_shown ? rest.substr(0, length) : "?";
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return cut ? result + "…" : result;
}

std::string csv_cell(std::string_view text) {
  // Spreadsheets interpret these first characters as a formula (OWASP, "CSV Injection"). Numbers
  // may begin with them, too.
  double number = 0;
  const char* const last = text.data() + text.size();
  const bool may_be_formula = text.find_first_of("=+-@\t\r") == 0;
  const auto [end, error] = std::from_chars(text.data() + text.starts_with('+'), last, number);
  std::string cell = may_be_formula && (error != std::errc() || end != last) ? "'" : "";
  if (text.find_first_of(",\"\r\n\t") == std::string_view::npos) {
    return cell.append(text);
  }
  cell.insert(0, "\"");
  for (const char c : text) {
    cell += c == '"' ? "\"\"" : std::string(1, c);
  }
  return cell + "\"";
}

}  // namespace understudy::et_schema
