#include "overlap.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

using predictor::OverlapFactors;

/// Overlap does not slow work down more than this.
constexpr double kMostOverlapFactor = 100;

constexpr std::pair<std::string_view, double OverlapFactors::*> kOverlapKinds[] = {
    {"compute", &OverlapFactors::compute},
    {"communication", &OverlapFactors::communication},
    {"streams", &OverlapFactors::streams}};

[[noreturn]] void refuse_factor(std::string_view part) {
  throw et_schema::usage_error(
      "overlap factors that cannot be read",
      {.field = "--overlap",
       .expected = "compute=F, communication=F or streams=F with F from 1 to 100, commas between",
       .got = std::string(part)});
}

}  // namespace

OverlapFactors parse_overlap(std::string_view text) {
  OverlapFactors factors;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    const auto* const kind = std::ranges::find_if(
        kOverlapKinds, [&](const auto& one) { return one.first == part.substr(0, equals); });
    if (kind == std::end(kOverlapKinds) || equals == std::string_view::npos) {
      refuse_factor(part);
    }
    double factor = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + equals + 1, end, factor);
    if (error != std::errc() || stop != end || !(factor >= 1 && factor <= kMostOverlapFactor)) {
      refuse_factor(part);
    }
    factors.*kind->second = factor;
  }
  return factors;
}

}  // namespace understudy::cli
