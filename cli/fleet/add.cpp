#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/common/output.h"
#include "cli/common/run_main.h"
#include "commands.h"
#include "et_schema/base/error.h"
#include "fleet/database/connection.h"
#include "fleet/database/schema.h"
#include "fleet/nightly/options.h"
#include "fleet/process/node.h"
#include "fleet/records/jobs.h"

namespace understudy::cli {
namespace {

constexpr const char* kExamples =
    R"(  understudy fleet add fleet.db traces/ads-ranker --weight 0.12 --tag team=ads
                                                         one job: traces of all ranks
  understudy fleet add fleet.db traces/                  a folder of jobs: a folder each
  understudy fleet add fleet.db captures/ --each         every trace and folder in it is a job
  understudy fleet add fleet.db jobs.yaml                a manifest: names, weights, tags, flags)";

struct AddArguments {
  std::string url;
  std::string path;
  std::string name;
  double weight = 1;
  std::vector<std::string> tags;
  std::string flags;
  // Values without a flag stay unchanged in an existing job.
  bool has_weight = false;
  bool has_tags = false;
  bool has_flags = false;
  bool each = false;
  bool quiet = false;
};

AddArguments read_add_arguments(int argc, char** argv) {
  AddArguments arguments;
  CommandLine line({.name = "understudy fleet add",
                    .description = "Adds training jobs by their traces. A job that exists is "
                                   "updated; what is not given stays as it was.",
                    .examples = kExamples,
                    .failure = "nothing was added"});
  add_database_option(line, arguments.url);
  line.add("PATH", arguments.path, "Traces of a job, a folder of jobs, or a manifest").required();
  line.add("--name NAME", arguments.name, "Name of the job (default: of its folder or file)");
  line.add_number("--weight W", arguments.weight, 0.0, 1e15, "Its share of the fleet, in any unit");
  line.add("--tag TAG", arguments.tags, "NAME=VALUE; can be repeated");
  line.add("--flags TEXT", arguments.flags, "Flags for generate, separated by blanks");
  line.add_flag("--each", arguments.each, "PATH is a folder in which every trace is a job");
  line.add_quiet(arguments.quiet, "no text on standard output");
  line.parse(argc, argv);
  arguments.has_weight = line.is_given("--weight");
  arguments.has_tags = line.is_given("--tag");
  arguments.has_flags = line.is_given("--flags");
  return arguments;
}

std::map<std::string, std::string> read_tags(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> tags;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    refuse_if(equals == std::string::npos || equals == 0, "a tag cannot be read", "--tag",
              "NAME=VALUE", text);
    tags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return tags;
}

/// Throws if a flag is used with a manifest: the manifest defines its jobs, so the flag would have
/// no effect.
void refuse_beside_manifest(const AddArguments& arguments) {
  const std::array<std::pair<const char*, bool>, 5> flags = {{{"--name", !arguments.name.empty()},
                                                              {"--weight", arguments.has_weight},
                                                              {"--tag", arguments.has_tags},
                                                              {"--flags", arguments.has_flags},
                                                              {"--each", arguments.each}}};
  for (const auto& [flag, is_given] : flags) {
    refuse_if(is_given, "flags cannot go with a manifest", flag, "a manifest alone", "",
              "write it into the manifest", arguments.path);
  }
}

std::vector<fleet::Job> jobs_of(const AddArguments& arguments) {
  if (is_manifest(arguments.path)) {
    refuse_beside_manifest(arguments);
    return read_manifest(arguments.path);
  }
  std::vector<fleet::Job> jobs = jobs_at(arguments.path, arguments.each);
  refuse_if(!arguments.name.empty() && jobs.size() > 1, "several jobs cannot have one name",
            "--name", "the traces of one job", fmt::format("{} jobs", jobs.size()));
  const std::vector<std::string> flags = words_of(arguments.flags);
  if (const std::string word = fleet::refused_generate_flag(flags); !word.empty()) {
    throw et_schema::usage_error("flags that a job cannot have",
                                 {.field = "--flags",
                                  .expected = fleet::allowed_generate_flags(),
                                  .got = word,
                                  .hint = "what else generate does is not for the store"});
  }
  for (fleet::Job& job : jobs) {
    job.name = arguments.name.empty() ? job.name : arguments.name;
    job.weight = arguments.weight;
    job.tags = read_tags(arguments.tags);
    job.flags = flags;
  }
  return jobs;
}

/// If no flag gives a value, an existing job keeps the one that it has. Not with a manifest, which
/// defines everything of its jobs.
void keep_what_is_not_given(const AddArguments& arguments, const std::vector<fleet::Job>& known,
                            fleet::Job& job) {
  const auto before = std::ranges::find(known, job.name, &fleet::Job::name);
  if (is_manifest(arguments.path) || before == known.end()) {
    return;
  }
  job.weight = arguments.has_weight ? job.weight : before->weight;
  job.tags = arguments.has_tags ? job.tags : before->tags;
  job.flags = arguments.has_flags ? job.flags : before->flags;
}

int fleet_add(int argc, char** argv) {
  const AddArguments arguments = read_add_arguments(argc, argv);
  const std::vector<fleet::Job> jobs = jobs_of(arguments);
  const auto connection = fleet::open_fleet(arguments.url, fleet::Opening::kExisting);
  std::array<std::size_t, 3> counts{};
  fleet::in_transaction(*connection, [&] {
    counts = {};
    const std::vector<fleet::Job> known = fleet::all_jobs(*connection);
    for (fleet::Job job : jobs) {
      keep_what_is_not_given(arguments, known, job);
      job.added_utc = fleet::now_utc();
      ++counts.at(static_cast<std::size_t>(fleet::add_job(*connection, job)));
    }
  });
  if (!arguments.quiet) {
    print_output(fmt::format("{} added, {} changed, {} as before; {} in the fleet\n", counts[0],
                             counts[1], counts[2], fleet::all_jobs(*connection).size()));
  }
  return kStatusOk;
}

const Verb kAdd("fleet add", "Adds jobs: traces, a folder of jobs, or a manifest",
                on_database<fleet_add>);

int fleet_remove(int argc, char** argv) {
  std::string url;
  std::vector<std::string> names;
  bool quiet = false;
  CommandLine line(
      {.name = "understudy fleet remove",
       .description =
           "Removes jobs. Results of their benchmarks, and the benchmarks that have results, stay "
           "in the database and the store; `understudy fleet gc` frees what has none.",
       .examples = "  understudy fleet remove fleet.db ads-ranker",
       .failure = "the database failed"});
  add_database_option(line, url);
  line.add("JOB", names, "Names of jobs").required();
  line.add_quiet(quiet, "no text on standard output");
  line.parse(argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kExisting);
  fleet::in_transaction(*connection, [&] {
    for (const std::string& name : names) {
      refuse_if(!fleet::remove_job(*connection, name), "no job has that name", "", "", name,
                "understudy fleet jobs lists them");
    }
  });
  if (!quiet) {
    print_output(fmt::format("{} removed\n", names.size()));
  }
  return kStatusOk;
}

const Verb kRemove("fleet remove", "Removes a job; its results stay", on_database<fleet_remove>);

int fleet_init(int argc, char** argv) {
  std::string url;
  std::string store;
  bool quiet = false;
  CommandLine line(
      {.name = "understudy fleet init",
       .description = "Creates a fleet's database. A database that exists keeps its content.",
       .examples = R"(  understudy fleet init fleet.db --store store/
  understudy fleet init postgresql://fleet@db.example/fleet --store /shared/store)",
       .failure = "the database could not be created"});
  add_database_option(line, url);
  line.add("--store DIR", store,
           "Folder for benchmarks and reports; remembered, and replaces an earlier one");
  line.add_quiet(quiet, "no text on standard output");
  line.parse(argc, argv);
  const auto connection = fleet::open_fleet(url, fleet::Opening::kCreate);
  if (!store.empty()) {
    remember_store(*connection, store);
  }
  if (!quiet) {
    const std::string shown = fleet::without_password(url);
    print_output(fmt::format(
        "{}: a fleet, version {} of its tables\nAdd jobs: understudy fleet add {} TRACES\n{}",
        shown, fleet::kSchemaVersion, shown,
        store.empty() ? "No store yet: give --store DIR to the first `understudy fleet nightly`\n"
                      : ""));
  }
  return kStatusOk;
}

const Verb kInit("fleet init", "Makes a fleet's database", on_database<fleet_init>);

}  // namespace
}  // namespace understudy::cli
