#include "replayer/counters/source.h"

namespace understudy::replayer {

std::vector<OpenedSource> open_counter_sources(c10::Device /*device*/) {
  return {};
}

}  // namespace understudy::replayer
