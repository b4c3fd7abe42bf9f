#include "project_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "et_schema/base/version.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

std::set<std::string> distinct(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

/// Joins texts with a prefix and a suffix each: "make_step_rank0, make_step_rank1".
std::string joined(std::string_view before, const std::vector<std::string>& texts,
                   std::string_view behind) {
  std::string all;
  for (const std::string& text : texts) {
    all += fmt::format("{}{}{}{}", all.empty() ? "" : ", ", before, text, behind);
  }
  return all;
}

std::string readme_text(const ProjectParts& parts) {
  const std::size_t ranks = parts.step_of.size();
  const std::string run =
      ranks == 1 ? "python3 main.py" : fmt::format("torchrun --nproc-per-node {} main.py", ranks);
  std::set<std::string> sources;
  for (const std::string& source : parts.source_of) {
    sources.insert(commented(source));
  }
  return fmt::format(
      "# {}\n\n"
      "A training step of {} rank{}, replayed without its model and its data: the operators that "
      "were\n"
      "recorded, in their order, on tensors of their shapes. Needs PyTorch and numpy.\n\n"
      "    {}\n    {} --help\n\n"
      "`main.py` starts it, `step_rank*.py` hold the step, `bench/` makes tensors and measures.\n"
      "\nMade by understudy {} from {}.\n",
      commented(parts.name), ranks, ranks == 1 ? "" : "s", run, run, et_schema::kToolVersion,
      fmt::join(sources, ", "));
}

}  // namespace

std::map<std::string, std::string> project_files(const ProjectParts& parts) {
  std::map<std::string, std::string> files;
  files["README.md"] = readme_text(parts);
  files["report.json"] = parts.report;
  for (const auto& [path, text] : runtime_files()) {
    files[path] = std::string(text);
  }
  std::string text = "import bench\n";
  for (const std::string& step : distinct(parts.step_of)) {
    text += fmt::format("import {}\n", step);
  }
  text += fmt::format("\nif __name__ == \"__main__\":\n    bench.run({}, [{}], [{}])\n",
                      text_literal(parts.name), joined("", parts.step_of, ".Step"),
                      joined("[", parts.groups, "]"));
  files["main.py"] = text;
  return files;
}

}  // namespace understudy::emitter
