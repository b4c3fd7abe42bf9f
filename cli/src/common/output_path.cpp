#include "common/output_path.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "et_schema/bench.h"
#include "et_schema/error.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& flag, std::string summary,
                         std::string expected, std::string got, std::string hint) {
  et_schema::ErrorContext context;
  context.file = path;
  context.field = flag;
  context.expected = std::move(expected);
  context.got = std::move(got);
  context.hint = std::move(hint);
  throw et_schema::usage_error(std::move(summary), std::move(context));
}

bool same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

}  // namespace

void refuse_output(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& flag) {
  const fs::path target(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder)) {
    refuse(path, flag, "the output cannot be written", "a folder that exists",
           "no folder " + folder.string(), "make the folder, or choose another place");
  }
  if (fs::is_directory(target)) {
    refuse(path, flag, "the output cannot be written", "a file's path", "a folder",
           "add a file name");
  }
  if (access(folder.c_str(), W_OK) != 0) {
    refuse(path, flag, "the output cannot be written", "a folder to write in",
           "no permission in " + folder.string(), "choose another place");
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

}  // namespace understudy::cli
