#include "replayer/counters/one_pass.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace understudy::replayer {

std::size_t OnePassSource::prepare(const std::vector<std::string>& names, std::size_t ranges) {
  asked_ = this->names();
  std::erase_if(asked_, [&](const auto& name) { return !std::ranges::count(names, name); });
  ranges_.assign(ranges, {});
  return asked_.empty() ? 0 : 1;
}

bool OnePassSource::is_asked(std::string_view name) const {
  return std::ranges::count(asked_, name) > 0;
}

void OnePassSource::begin_range(std::size_t range) {
  current_ = range;
  read_before();
}

void OnePassSource::end_range() {
  ranges_[current_] = read_after();
  std::erase_if(ranges_[current_], [this](const auto& counter) {
    return !(counter.second >= 0 && std::isfinite(counter.second)) || !is_asked(counter.first);
  });
}

std::vector<et_schema::Counters> OnePassSource::take() {
  return std::exchange(ranges_, std::vector<et_schema::Counters>(ranges_.size()));
}

}  // namespace understudy::replayer
