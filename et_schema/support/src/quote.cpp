#include "et_schema/support/quote.h"

#include <simdjson.h>

namespace understudy::et_schema {

std::string quote(std::string_view text) {
  constexpr std::size_t kMostBytes = 60;
  const bool cut = text.size() > kMostBytes;
  std::size_t end = cut ? kMostBytes : text.size();
  while (cut && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) {
    --end;
  }
  std::string result(text.substr(0, end));
  const bool valid = simdjson::validate_utf8(result);
  for (char& c : result) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !valid)) {
      c = '?';
    }
  }
  return cut ? result + "…" : result;
}

}  // namespace understudy::et_schema
