#include "cli/common/output_path.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "cli/common/command_line.h"
#include "et_schema/base/output_file.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

bool same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

/// Returns the file that a path resolves to, even if it does not exist.
fs::path place_of(const std::string& path) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(fs::absolute(path), error);
  return error ? fs::path(path) : place;
}

}  // namespace

void refuse_output(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& flag) {
  if (path.empty()) {
    return;
  }
  const fs::path target(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const auto refuse = [&](bool is_wrong, const char* expected, const std::string& got,
                          const char* hint) {
    refuse_if(is_wrong, "the output cannot be written", flag, expected, got, hint, path);
  };
  refuse(!fs::is_directory(folder), "a folder that exists", "no folder " + folder.string(),
         "make the folder, or choose another place");
  const et_schema::OutputPlace place = et_schema::output_place(path);
  refuse(place == et_schema::OutputPlace::kFolder, "a file's path", "a folder", "add a file name");
  std::error_code error;
  refuse(place == et_schema::OutputPlace::kLink, "a file, or a place where nothing is",
         "a symbolic link to " + fs::read_symlink(target, error).string(),
         "name the file that it leads to, or remove the link");
  if (place == et_schema::OutputPlace::kInPlace) {
    return;
  }
  refuse(access(folder.c_str(), W_OK) != 0, "a folder to write in",
         "no permission in " + folder.string(), "choose another place");
  if (!fs::is_regular_file(target)) {
    return;
  }
  for (const std::string& input : inputs) {
    const bool within = same(folder, input) && !et_schema::is_bench_file(path);
    refuse_if(same(target, input) || within, "the output would overwrite an input", flag,
              "another place", "a file of " + input, "choose another place", path);
  }
}

void refuse_folder(const std::string& folder, const std::string& flag, const std::string& what,
                   bool is_earlier, const std::string& expected) {
  std::error_code error;
  const bool is_folder = fs::is_directory(folder, error);
  const bool is_free = is_folder && (fs::is_empty(folder, error) || is_earlier);
  refuse_if(folder.empty() || (fs::exists(folder, error) && !is_free),
            what + " cannot be written there", flag, expected,
            is_folder ? "a folder with other files" : "a file", "choose another place", folder);
}

void refuse_shared_outputs(const std::vector<NamedOutput>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const NamedOutput& output = outputs[i];
    if (output.path.empty() ||
        et_schema::output_place(output.path) == et_schema::OutputPlace::kInPlace) {
      continue;  // /dev/null, a pipe: nothing is overwritten
    }
    for (std::size_t before = 0; before < i; ++before) {
      const NamedOutput& other = outputs[before];
      refuse_if(!other.path.empty() && place_of(other.path) == place_of(output.path),
                "two outputs at one place", output.flag, "a place of its own",
                "that of " + other.flag, "choose another place", output.path);
    }
  }
}

}  // namespace understudy::cli
