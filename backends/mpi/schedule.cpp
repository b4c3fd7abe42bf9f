#include "schedule.h"

namespace understudy::backends {

std::byte* Schedule::scratch(std::int64_t bytes) {
  scratch_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)));
  return scratch_.back().get();
}

bool Schedule::advance() {
  while (requests_.test()) {
    if (next_ == steps_.size()) {
      return true;
    }
    steps_[next_++](requests_);
  }
  return false;
}

}  // namespace understudy::backends
