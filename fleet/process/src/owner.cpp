#include "fleet/process/owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace understudy::fleet {
namespace {

constexpr std::size_t kHostNameBytes = 256;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

/// When a process began, in clock ticks after boot: field 22 of /proc/PID/stat, counted behind the
/// name, which may hold blanks. Empty for no such process, and for one that ended and was not
/// waited for.
std::string start_of(const std::string& pid) {
  const std::string stat = content_of("/proc/" + pid + "/stat");
  const std::size_t behind_name = stat.rfind(')');
  if (behind_name == std::string::npos) {
    return "";
  }
  constexpr int kFieldsBefore = 19;  // "state" is the first one behind the name
  std::size_t at = behind_name + 2;
  if (at < stat.size() && stat[at] == 'Z') {
    return "";
  }
  for (int field = 0; field < kFieldsBefore && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  return at == std::string::npos ? "" : stat.substr(at + 1, stat.find(' ', at + 1) - at - 1);
}

/// Processes of the same place have numbers that mean the same.
std::string place_text() {
  std::array<char, kHostNameBytes> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::error_code error;
  const std::string names = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return fmt::format("{}|{}|{}", host.data(),
                     without_line_end(content_of("/proc/sys/kernel/random/boot_id")), names);
}

}  // namespace

std::string this_owner(const std::string& part) {
  const std::string pid = std::to_string(::getpid());
  return fmt::format("{}|{}|{}|{}", place_text(), pid, start_of(pid), part);
}

bool is_certainly_gone(const std::string& owner) {
  const std::string place = place_text() + "|";
  if (!owner.starts_with(place)) {
    return false;
  }
  const std::size_t pid_end = owner.find('|', place.size());
  const std::size_t start_end = owner.find('|', pid_end + 1);
  if (pid_end == std::string::npos || start_end == std::string::npos) {
    return false;
  }
  const std::string pid = owner.substr(place.size(), pid_end - place.size());
  return start_of(pid) != owner.substr(pid_end + 1, start_end - pid_end - 1);
}

}  // namespace understudy::fleet
