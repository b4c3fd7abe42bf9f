#include "fleet/nightly/inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <vector>

#include "et_schema/base/digest.h"
#include "et_schema/base/error.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

// Clocks of files tick in steps, up to two seconds (FAT); a write within the same one is not seen.
constexpr std::time_t kRecentSeconds = 2;

[[noreturn]] void fail(const std::string& path, const std::string& got) {
  throw et_schema::bad_input("a job's traces cannot be read",
                             {.file = path,
                              .expected = "traces of all ranks: a file, an archive or a folder",
                              .got = got,
                              .hint = "fleet add with the right path, or fleet remove"});
}

struct InputName {
  std::string path;
  std::string name;  ///< below the job's folder
};

/// A folder gives its files alone, as `generate` takes them: a pipe in it would never end, a link
/// may lead nowhere.
std::vector<InputName> names_below(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
      fail(path, "neither a file nor a folder");
    }
    return {{path, fs::path(path).filename().string()}};
  }
  std::vector<InputName> names;
  fs::recursive_directory_iterator place(path, error);
  for (const fs::recursive_directory_iterator end; !error && place != end; place.increment(error)) {
    const bool is_hidden = place->path().filename().string().starts_with('.');
    std::error_code not_there;
    if (place->is_directory(not_there)) {
      if (is_hidden) {
        place.disable_recursion_pending();
      }
    } else if (!is_hidden && place->is_regular_file(not_there)) {
      names.push_back({place->path().string(), fs::relative(place->path(), path, error).string()});
    }
  }
  if (error || names.empty()) {
    fail(path, error ? error.message() : "a folder without files");
  }
  std::ranges::sort(names, {}, &InputName::name);
  return names;
}

}  // namespace

InputState input_state(const std::string& path) {
  InputState state;
  std::string text;
  const std::time_t now = std::time(nullptr);
  for (const InputName& input : names_below(path)) {
    struct stat status {};
    if (::stat(input.path.c_str(), &status) != 0) {
      fail(input.path, std::generic_category().message(errno));
    }
    text += fmt::format("{}\n{} {}.{} {}.{} {} {}\n", input.name, status.st_size,
                        status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                        status.st_ctim.tv_nsec, status.st_ino, status.st_dev);
    state.is_recent = state.is_recent || status.st_mtim.tv_sec + kRecentSeconds >= now ||
                      status.st_ctim.tv_sec + kRecentSeconds >= now;
  }
  state.stat = et_schema::digest_of(text);
  return state;
}

std::string input_hash(const std::string& path) {
  std::string text;
  for (const InputName& input : names_below(path)) {
    text += fmt::format("{}\n{}\n", input.name, et_schema::digest_of_file(input.path));
  }
  return et_schema::digest_of(text);
}

}  // namespace understudy::fleet
