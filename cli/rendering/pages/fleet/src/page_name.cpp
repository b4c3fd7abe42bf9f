#include <fmt/format.h>

#include "et_schema/support/content_hash.h"
#include "pages/fleet/fleet_pages.h"

namespace understudy::pages {
namespace {

/// Letters, digits and "-"; at most so many characters.
std::string plain(const std::string& text, std::size_t most) {
  std::string name;
  for (const char character : text.substr(0, most)) {
    const bool is_plain = (character >= 'a' && character <= 'z') ||
                          (character >= 'A' && character <= 'Z') ||
                          (character >= '0' && character <= '9');
    name += is_plain ? character : '-';
  }
  return name;
}

}  // namespace

std::string page_name(const std::string& kind, const std::string& name) {
  constexpr std::size_t kMost = 48;
  constexpr int kUnusedBits = 16;  // twelve digits tell a fleet's names apart
  const std::uint64_t hash = et_schema::content_hash(kind + '\0' + name) >> kUnusedBits;
  return fmt::format("{}-{}-{:012x}.html", plain(kind, kMost), plain(name, kMost), hash);
}

std::string job_file(const std::string& job) {
  return page_name("job", job);
}
std::string night_file(std::int64_t night) {
  return fmt::format("night-{}.html", night);
}
std::string replay_file(const fleet::Result& result) {
  return page_name("replay",
                   fmt::format("{} {} {}", result.benchmark_hash, result.platform, result.night));
}

std::string tags_of(const fleet::Job& job) {
  std::string text;
  for (const auto& [name, value] : job.tags) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

}  // namespace understudy::pages
