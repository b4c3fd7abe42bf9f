#include "gap_scale.h"

#include <utility>

#include "et_schema/support/statistics.h"
#include "replayer/run/host_probe.h"

namespace understudy::replayer {
namespace {

template <typename Range>
std::optional<double> median_of(const Range& values) {
  return et_schema::median({values.begin(), values.end()});
}

}  // namespace

std::unique_ptr<GapScale> GapScale::make(const et_schema::RecordedProfile& profile,
                                         const Pace& pace) {
  if (!profile.host_probe || profile.host_probe->kind != HostProbe::kind()) {
    return nullptr;
  }
  return std::make_unique<GapScale>(
      profile.host_probe->us, pace,
      [probe = std::make_shared<HostProbe>()] { return probe->measure_us(); });
}

GapScale::GapScale(double recorded_us, const Pace& pace, std::function<double()> probe_us)
    : recorded_us_(recorded_us), pace_(pace), probe_us_(std::move(probe_us)) {}

double GapScale::next() {
  seen_us_.push_back(probe_us_());
  window_us_.push_back(seen_us_.back());
  if (window_us_.size() > kWindow) {
    window_us_.pop_front();
  }
  const bool follows = pace_.kind == Pace::Kind::kHost;
  factors_.push_back(follows ? *median_of(window_us_) / recorded_us_ : pace_.factor);
  return factors_.back();
}

void GapScale::begin_measuring() {
  seen_us_.clear();
  factors_.clear();
}

void GapScale::report(et_schema::PaceUse& use) const {
  use.recorded_probe_us = recorded_us_;
  use.probe_us = median_of(seen_us_);
  use.gap_factor = median_of(factors_);
}

}  // namespace understudy::replayer
