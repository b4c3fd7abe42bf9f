#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.h"
#include "et_schema/base/error.h"
#include "et_schema/base/figures.h"
#include "fleet/process/run_program.h"

namespace understudy::cli {
namespace {

/// Quotes a word for a shell, in single quotes.
std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) {
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return text + "'";
}

std::string worker_line(const fleet::NightOptions& options, const std::string& program,
                        const std::string& kind) {
  std::string line = shell_quoted(program);
  const fleet::ReplayOptions& replay = options.replay;
  std::vector<std::string> words = {"worker", options.url, "--store", options.store, "--only",
                                    kind,     "--jobs",    "1",       "--quiet"};
  const auto add = [&words](bool is_given, const char* flag, const std::string& value) {
    if (is_given) {
      words.insert(words.end(), {flag, value});
    }
  };
  add(true, "--launcher", fmt::format("{}", fmt::join(replay.launcher, " ")));
  add(!replay.flags.empty(), "--replay-flags", fmt::format("{}", fmt::join(replay.flags, " ")));
  add(replay.iterations > 0, "--iterations", std::to_string(replay.iterations));
  add(replay.seconds > 0, "--seconds", fmt::format("{}", replay.seconds));
  add(true, "--timeout", fmt::format("{}", replay.timeout_s));
  add(true, "--slower-by", fmt::format("{}", replay.least_change * et_schema::kPercent));
  add(!options.platform.empty(), "--platform", options.platform);
  if (replay.oversubscribes) {
    words.emplace_back("--oversubscribe");
  }
  for (const std::string& word : words) {
    line += " " + shell_quoted(word);
  }
  return line;
}

std::vector<std::string> array_of(std::size_t workers, const SlurmOptions& slurm,
                                  const std::string& logs, const std::string& name,
                                  const std::vector<std::string>& more) {
  std::vector<std::string> words = {"sbatch", "--wait", "--job-name=" + name,
                                    fmt::format("--array=1-{}", workers),
                                    "--output=" + logs + "/%x-%A_%a.txt"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), slurm.flags.begin(), slurm.flags.end());
  return words;
}

}  // namespace

std::vector<std::vector<std::string>> slurm_commands(const fleet::NightOptions& options,
                                                     const SlurmOptions& slurm,
                                                     const std::string& program) {
  std::vector<std::vector<std::string>> commands;
  const std::string logs = slurm_logs(options);
  std::vector<std::string> generate =
      array_of(options.jobs, slurm, logs, "fleet-generate", {"--ntasks=1", "--cpus-per-task=1"});
  generate.push_back("--wrap=" + worker_line(options, program, "generate"));
  commands.push_back(std::move(generate));
  if (!options.replay.generate_only) {
    std::vector<std::string> replay =
        array_of(slurm.replay_nodes, slurm, logs, "fleet-replay", {"--nodes=1", "--exclusive"});
    replay.push_back("--wrap=" + worker_line(options, program, "replay"));
    commands.push_back(std::move(replay));
  }
  return commands;
}

std::string slurm_logs(const fleet::NightOptions& options) {
  return options.store + "/slurm";
}

void run_on_slurm(const std::vector<std::vector<std::string>>& commands) {
  for (const std::vector<std::string>& words : commands) {
    const fleet::ProgramEnd end = fleet::run_program({.words = words});
    if (end.status != 0 && end.output.find("Submitted") == std::string::npos) {
      throw et_schema::run_failed("Slurm did not take a job",
                                  {.field = words[2],
                                   .got = end.errors,
                                   .hint = "see sinfo, and --slurm-flags for what it asks for"});
    }
  }
}

}  // namespace understudy::cli
