#include "replayer/options/options.h"

#include <fmt/format.h>

#include <charconv>

#include "et_schema/support/assert.h"

namespace understudy::replayer {
namespace {

constexpr std::string_view kScaledPrefix = "scaled:";
constexpr double kMostFactor = 1e6;

}  // namespace

std::optional<Pace> parse_pace(std::string_view text) {
  if (text == "asap") {
    return Pace{};
  }
  if (text == "recorded") {
    return Pace{Pace::Kind::kRecorded, 1};
  }
  if (text == "host") {
    return Pace{Pace::Kind::kHost, 1};
  }
  if (!text.starts_with(kScaledPrefix)) {
    return std::nullopt;
  }
  text.remove_prefix(kScaledPrefix.size());
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  // Written so that it refuses a NaN.
  if (!whole || !(factor >= 0 && factor <= kMostFactor)) {
    return std::nullopt;
  }
  return Pace{Pace::Kind::kScaled, factor};
}

std::string to_text(const Pace& pace) {
  switch (pace.kind) {
    case Pace::Kind::kAsap:
      return "asap";
    case Pace::Kind::kRecorded:
      return "recorded";
    case Pace::Kind::kHost:
      return "host";
    case Pace::Kind::kScaled:
      return fmt::format("{}{}", kScaledPrefix, pace.factor);
  }
  UNDERSTUDY_ASSERT(false);
  return {};
}

std::optional<Place> parse_place(std::string_view text) {
  for (const Place place : {Place::kRecorded, Place::kDevice}) {
    if (to_string(place) == text) {
      return place;
    }
  }
  return std::nullopt;
}

std::string_view to_string(Place place) {
  return place == Place::kDevice ? "device" : "recorded";
}

}  // namespace understudy::replayer
