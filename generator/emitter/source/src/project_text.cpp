#include "project_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "et_schema/base/version.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

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
      "A training step of {} rank{}, replayed without its model and its data: the operators that\n"
      "were recorded, in their order, on tensors of their shapes. Needs PyTorch from 2.9 on "
      "alone.\n\n"
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
  std::vector<std::string> steps;
  std::ranges::transform(parts.step_of, std::back_inserter(steps), text_literal);
  files["main.py"] =
      fmt::format("import bench\n\nif __name__ == \"__main__\":\n    bench.run({}, [{}], [{}])\n",
                  text_literal(parts.name), fmt::join(steps, ", "),
                  fmt::join(parts.communicates ? parts.groups : std::vector<std::string>(), ", "));
  return files;
}

}  // namespace understudy::emitter
