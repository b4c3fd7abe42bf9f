#include "et_schema/base/processor.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace understudy::et_schema {

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") || line.starts_with("CPU part")) {
      return line.substr(std::min(line.size(), line.find_first_not_of(" \t:", line.find(':'))));
    }
  }
  return "";
}

int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return sched_getaffinity(0, sizeof cores, &cores) == 0
             ? CPU_COUNT(&cores)
             : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// The C library knows no caches of Arm's cores, and the sum of all last-level caches of x86's.
std::int64_t cache_bytes(int level) {
  for (int index = 0;; ++index) {
    const std::string cache =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    int found = 0;
    std::string type;
    std::int64_t kibibytes = 0;
    if (!(std::ifstream(cache + "level") >> found && std::ifstream(cache + "type") >> type &&
          std::ifstream(cache + "size") >> kibibytes)) {
      return 0;
    }
    if (found == level && type != "Instruction") {
      return kibibytes * 1024;
    }
  }
}

}  // namespace understudy::et_schema
