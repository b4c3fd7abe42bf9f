#include "overlap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "et_schema/base/error.h"

namespace understudy::cli {
namespace {

using predictor::OverlapFactors;

/// One of the factors: its name, its place, its meaning.
struct OverlapKind {
  const char* name;
  std::optional<double> AskedOverlap::*asked;
  std::optional<predictor::OverlapFactor> predictor::DeviceOverlap::*measured;
  double OverlapFactors::*used;
  const char* words;  ///< {} is replaced by the factor
};
constexpr OverlapKind kOverlapKinds[] = {
    {"compute", &AskedOverlap::compute, &predictor::DeviceOverlap::compute,
     &OverlapFactors::compute,
     "operators take {:.2f} times as long while a communication moves data"},
    {"communication", &AskedOverlap::communication, &predictor::DeviceOverlap::communication,
     &OverlapFactors::communication,
     "a communication that begins beside operators takes {:.2f} times as long"},
    {"streams", &AskedOverlap::streams, &predictor::DeviceOverlap::streams,
     &OverlapFactors::streams,
     "operators take {:.2f} times as long while another stream runs operators"}};

[[noreturn]] void refuse_factor(std::string_view part) {
  throw et_schema::usage_error(
      "overlap factors that cannot be read",
      {.field = "--overlap",
       .expected = "compute=F, communication=F or streams=F with F from 1 to 100, commas between",
       .got = std::string(part)});
}

void use(const OverlapKind& kind, const et_schema::PredictedOverlap& row, const std::string& source,
         UsedOverlap& used) {
  used.factors.*kind.used = row.factor;
  used.low.*kind.used = row.low;
  used.high.*kind.used = row.high;
  used.rows.push_back(row);
  used.assumptions.push_back(fmt::format(fmt::runtime(std::string(kind.words)), row.factor) +
                             source);
}

}  // namespace

AskedOverlap parse_overlap(std::string_view text) {
  AskedOverlap asked;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    const auto* const kind = std::ranges::find_if(
        kOverlapKinds, [&](const OverlapKind& one) { return one.name == part.substr(0, equals); });
    if (kind == std::end(kOverlapKinds) || equals == std::string_view::npos) {
      refuse_factor(part);
    }
    double factor = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + equals + 1, end, factor);
    if (error != std::errc() || stop != end ||
        !(factor >= 1 && factor <= predictor::kMostOverlapFactor)) {
      refuse_factor(part);
    }
    asked.*kind->asked = factor;
  }
  return asked;
}

UsedOverlap used_overlap(const AskedOverlap& asked, const predictor::FoundOverlap& found,
                         const std::string& device, bool recorded) {
  UsedOverlap used;
  for (const OverlapKind& kind : kOverlapKinds) {
    if (const std::optional<double>& factor = asked.*kind.asked) {
      use(kind, {kind.name, *factor, *factor, *factor, "--overlap"},
          recorded ? " (--overlap), beside what the recorded times hold of it" : " (--overlap)",
          used);
    } else if (found.overlap && (*found.overlap).*kind.measured) {
      const predictor::OverlapFactor& measured = *((*found.overlap).*kind.measured);
      const std::string& card = found.overlap->device;
      use(kind, {kind.name, measured.factor, measured.low, measured.high, "platform"},
          fmt::format(" ({:.2f} to {:.2f}, the platform's{})", measured.low, measured.high,
                      card.empty() ? "" : ", of " + card),
          used);
    }
  }
  if (!found.overlap && !found.others.empty()) {
    used.assumptions.push_back(
        fmt::format("the platform's overlap factors are of {}, not of {}: none is used",
                    fmt::join(found.others, " and "), device));
  }
  return used;
}

}  // namespace understudy::cli
