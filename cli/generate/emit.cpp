#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/asking/asking.h"
#include "cli/common/output_path.h"
#include "cli/compile/compile.h"
#include "cli/pages/document/account.h"
#include "cli/pages/document/walked.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/json_record.h"
#include "et_schema/base/output_file.h"
#include "outputs.h"

namespace understudy::emitter {

void members(auto& walk, et_schema::SameAs<Missing> auto& row) {
  walk("name", row.name, "operator");
  walk("count", row.count, "count");
  walk("reason", row.reason, "reason");
  walk("time_share", row.time_share, "time", et_schema::CellKind::kPercent);
}

}  // namespace understudy::emitter

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;
using emitter::Missing;
using emitter::Project;
using pages::counts, pages::facts_at, pages::table_at;

std::string share_text(const Missing& missing) {
  return missing.time_share ? fmt::format("{:.2f} %", *missing.time_share * et_schema::kPercent)
                            : "unknown";
}

std::size_t lines_of(const Project& project) {
  std::size_t lines = 0;
  for (const auto& [path, content] : project.files) {
    if (path.starts_with("step_")) {
      lines += static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n'));
    }
  }
  return lines;
}

nlohmann::ordered_json json_of(const Project& project, const EmitChoice& choice) {
  return {{"project", choice.folder},
          {"files", project.files.size()},
          {"step_lines", lines_of(project)},
          {"operators", project.operators},
          {"missing", et_schema::json_of(project.missing)},
          {"mapped", et_schema::json_of(project.mapped)},
          {"foreign", et_schema::json_of(project.foreign)},
          {"account", pages::account_json(project.account)}};
}

pages::Page project_page(const Project& project, const EmitChoice& choice) {
  const nlohmann::ordered_json document = json_of(project, choice);
  const auto table = [&](const char* key, const char* caption) {
    return table_at(document, std::string("/") + key, caption, pages::columns_of<Missing>());
  };
  pages::Page page;
  page.title = choice.folder + ": the step as source; README.md in it says how to run it";
  page.verdict = pages::verdict_on(project.account, "The project");
  page.sections = {
      {"project",
       "What is in it",
       {facts_at(document, "",
                 {counts("files"), counts("lines of steps", "step_lines"), counts("operators")}),
        pages::account_table(document, "/account", "the project")}},
      {"missing",
       "Missing",
       {table("missing", "Missing: what reads their results gets tensors made before the step")}},
      {"mapped",
       "By the operator map",
       {table("mapped",
              "Of other libraries: functions of ATen's do what they do, unless --op-library brings "
              "them")}},
      {"foreign",
       "Of other libraries",
       {table("foreign", "Of other libraries: the project runs only with --op-library LIB")}}};
  return made_by("generate", std::move(page), document, "project.json");
}

}  // namespace

void emit(const et_schema::Bench& bench, const EmitChoice& choice, const std::string& name,
          Format format, bool quiet) {
  const fs::path folder = choice.folder;
  refuse_folder(choice.folder, "--emit", "the project",
                fs::exists(folder / "README.md") && fs::exists(folder / "bench"),
                "a folder that is new, empty or of an earlier project");
  const Project project = emitter::emit_project(bench, name, try_calls(bench));
  for (const auto& [path, content] : project.files) {
    et_schema::write_below(choice.folder, path, content);
  }
  pages::show(project_page(project, choice), format, quiet);
  if (!project.missing.empty() && !choice.allow_missing) {
    const Missing& first = project.missing.front();
    throw et_schema::run_failed(
        "the project is written, but not all of the benchmark can be shown in source",
        {.file = choice.folder,
         .field = "--emit",
         .expected = "every operator",
         .got = fmt::format("{} missing, first {} ({} of the time): {}",
                            et_schema::counted(project.missing.size(), "kind"), first.name,
                            share_text(first), first.reason),
         .hint = "--allow-missing takes it as it is"});
  }
  if (!project.foreign.empty() && !choice.allow_missing) {
    std::vector<std::string> names;
    for (const Missing& row : project.foreign) {
      names.push_back(row.name);
    }
    throw et_schema::run_failed(
        "the project is written, but it runs only with other libraries",
        {.file = choice.folder,
         .field = "--emit",
         .expected = "operators of LibTorch, or bodies of such",
         .got = fmt::format("{}", fmt::join(names, ", ")),
         .hint = "run it with --op-library LIB; --allow-missing takes it as it is"});
  }
}

}  // namespace understudy::cli
