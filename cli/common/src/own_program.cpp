#include "cli/common/own_program.h"

#include <filesystem>

namespace understudy::cli {

namespace fs = std::filesystem;

std::string own_program() {
  return fs::read_symlink("/proc/self/exe").string();
}

std::string find_sibling(const std::string& name) {
  const fs::path folder = fs::path(own_program()).parent_path();
  for (const fs::path& place :
       {folder / name, folder / ".." / ".." / "bin" / name, folder / "understudy" / name}) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      return fs::weakly_canonical(place).string();
    }
  }
  return "";
}

}  // namespace understudy::cli
