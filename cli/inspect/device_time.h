#pragma once

#include <string>
#include <vector>

#include "common/format.h"

namespace understudy::cli {

/// Where the device time of Kineto profiles went, of each by itself: all of its kernels, copies and
/// fills, by class, by what launched them, and by name. Files, archives and folders; what is no
/// profile in them is passed over. Throws Error: usage, without any profile; bad input.
[[nodiscard]] std::string render_device_time(const std::vector<std::string>& paths, Format format);

}  // namespace understudy::cli
