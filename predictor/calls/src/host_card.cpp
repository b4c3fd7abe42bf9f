#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "predictor/calls/card.h"

namespace understudy::predictor {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// "32768K" → bytes; 0: not told.
double cache_bytes(const std::string& text) {
  constexpr double kKibi = 1024;
  const double number = std::strtod(text.c_str(), nullptr);
  return number * (text.ends_with('M') ? kKibi * kKibi : text.ends_with('K') ? kKibi : 1);
}

double last_cache_bytes() {
  double bytes = 0;
  constexpr int kMostCaches = 8;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/size";
    bytes = std::max(bytes, cache_bytes(first_line(folder)));
  }
  return bytes;
}

double usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// Of /proc/cpuinfo's or /proc/meminfo's "key : value"; empty: not told.
std::string value_of(const char* path, const std::string& key) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(key)) {
      const std::size_t at = line.find_first_not_of(" \t:", line.find(':'));
      return at == std::string::npos ? "" : line.substr(at);
    }
  }
  return "";
}

}  // namespace

Card host_card() {
  constexpr double kMega = 1e6;
  constexpr double kKibi = 1024;
  Card card;
  card.name = "cpu";
  card.processors = usable_cores();
  card.l2_bytes = last_cache_bytes();
  card.clock_hz = std::strtod(value_of("/proc/cpuinfo", "cpu MHz").c_str(), nullptr) * kMega;
  card.memory_bytes = std::strtod(value_of("/proc/meminfo", "MemTotal").c_str(), nullptr) * kKibi;
  card.source = value_of("/proc/cpuinfo", "model name");
  return card;
}

}  // namespace understudy::predictor
