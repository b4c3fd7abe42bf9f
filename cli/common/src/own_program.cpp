#include "cli/common/own_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <regex>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/shared_library.h"

namespace understudy::cli {

namespace fs = std::filesystem;

std::string own_program() {
  return fs::read_symlink("/proc/self/exe").string();
}

std::string sibling(const std::string& name) {
  const fs::path folder = fs::path(own_program()).parent_path();
  const fs::path prefix = fs::path(et_schema::module_directory()).parent_path().parent_path();
  for (const fs::path& place :
       {folder / name, prefix / "bin" / name, prefix / "libexec" / "understudy" / name}) {
    std::error_code error;
    if (fs::is_regular_file(place, error)) {
      return place.string();
    }
  }
  return (folder / name).string();
}

std::string as_found_here(const std::string& text) {
  static const std::regex page(R"((^|[\s"'`(])docs/([a-z-]+\.md))");
  static const std::regex script("scripts/capture(?! of a clone)");
  const fs::path installed =
      fs::path(own_program()).parent_path().parent_path() / UNDERSTUDY_DOCDIR;
  const std::string url = UNDERSTUDY_URL;
  std::error_code error;
  const std::string folder = !url.empty()                         ? url + "/blob/main/docs"
                             : fs::is_directory(installed, error) ? installed.string()
                                                                  : "docs";
  return std::regex_replace(std::regex_replace(text, page, "$1" + folder + "/$2"), script,
                            "understudy capture");
}

void become_program(std::string program, std::vector<std::string> arguments) {
  std::vector<char*> words = {program.data()};
  for (std::string& argument : arguments) {
    words.push_back(argument.data());
  }
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  throw et_schema::run_failed("a program of the package cannot be started",
                              {.file = program,
                               .expected = "a program of this system",
                               .got = std::strerror(errno),
                               .hint = "install the package again, with the replayer"});
}

}  // namespace understudy::cli
