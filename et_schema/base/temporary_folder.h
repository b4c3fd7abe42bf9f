#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "et_schema/base/error.h"

namespace understudy::et_schema {

/// A new folder that goes away with the object. Others run at the same time: no name of our own
/// making is free for sure.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "understudy-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw run_failed("no temporary folder can be made",
                       {.file = pattern,
                        .got = std::generic_category().message(errno),
                        .hint = "set TMPDIR to a folder that can be written"});
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::filesystem::path path = *this / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return std::filesystem::path(path_) / name;
  }

 private:
  std::string path_;
};

}  // namespace understudy::et_schema
