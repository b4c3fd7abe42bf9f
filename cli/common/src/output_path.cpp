#include "cli/common/output_path.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& flag, std::string summary,
                         std::string expected, std::string got, std::string hint) {
  throw et_schema::usage_error(std::move(summary), {.file = path,
                                                    .field = flag,
                                                    .expected = std::move(expected),
                                                    .got = std::move(got),
                                                    .hint = std::move(hint)});
}

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
  constexpr const char* kSummary = "the output cannot be written";
  if (path.empty()) {
    return;
  }
  const fs::path target(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder)) {
    refuse(path, flag, kSummary, "a folder that exists", "no folder " + folder.string(),
           "make the folder, or choose another place");
  }
  switch (et_schema::output_place(path)) {
    case et_schema::OutputPlace::kFolder:
      refuse(path, flag, kSummary, "a file's path", "a folder", "add a file name");
    case et_schema::OutputPlace::kLink:
      refuse(path, flag, kSummary, "a file, or a place where nothing is",
             "a symbolic link to " + fs::read_symlink(target).string(),
             "name the file that it leads to, or remove the link");
    case et_schema::OutputPlace::kInPlace:
      return;
    case et_schema::OutputPlace::kNewFile:
      break;
  }
  if (access(folder.c_str(), W_OK) != 0) {
    refuse(path, flag, kSummary, "a folder to write in", "no permission in " + folder.string(),
           "choose another place");
  }
  if (!fs::is_regular_file(target)) {
    return;
  }
  for (const std::string& input : inputs) {
    const bool within = same(folder, input) && !et_schema::is_bench_file(path);
    if (same(target, input) || within) {
      refuse(path, flag, "the output would overwrite an input", "another place",
             "a file of " + input, "choose another place");
    }
  }
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
      if (!other.path.empty() && place_of(other.path) == place_of(output.path)) {
        refuse(output.path, output.flag, "two outputs at one place", "a place of its own",
               "that of " + other.flag, "choose another place");
      }
    }
  }
}

}  // namespace understudy::cli
