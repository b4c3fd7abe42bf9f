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

// File times have a resolution of up to two seconds (FAT): two writes within it look the same.
constexpr std::time_t kRecentSeconds = 2;

[[noreturn]] void fail(const std::string& path, const std::string& got) {
  throw et_schema::bad_input("a job's traces cannot be read",
                             {.file = path,
                              .expected = "traces of all ranks: a file, an archive or a folder",
                              .got = got,
                              .hint = "add the right path (understudy fleet add), or remove it"});
}

struct InputName {
  std::string path;
  std::string name;  ///< path relative to the job's folder
};

/// Lists only regular files of a folder, as `generate` does: reading a pipe would block for ever,
/// and a link may lead nowhere.
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
