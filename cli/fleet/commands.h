#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/common/verb.h"
#include "cli/pages/document/page.h"
#include "fleet/database/connection.h"
#include "fleet/nightly/options.h"
#include "fleet/objects/object_store.h"
#include "fleet/records/jobs.h"

namespace understudy::cli {

/// Runs a command. Columns of the database hold JSON written by this program, but a damaged or
/// edited database may hold anything. Throws Error (failed) if such JSON cannot be read.
template <Verb::Run kRun>
int on_database(int argc, char** argv) {
  try {
    return kRun(argc, argv);
  } catch (const nlohmann::json::exception& error) {
    throw fleet::damaged_database(
        {.expected = "JSON as this program writes it", .got = error.what()});
  }
}

/// Adds the database, the first argument of every subcommand.
void add_database_option(CommandLine& line, std::string& url);

/// Returns the job of that name. Throws Error (usage) if there is none.
[[nodiscard]] fleet::Job job_named(fleet::Connection& connection, const std::string& name);

/// Splits a text at blanks.
[[nodiscard]] std::vector<std::string> words_of(const std::string& text);

/// Returns the paths of the project's other programs. `replay` is included only if `replays`: a
/// machine that only makes benchmarks has no LibTorch. Throws Error (failed) if one is missing.
[[nodiscard]] fleet::Tools find_tools(bool replays);

/// Makes a store of this fleet in the folder, unless it is one, and remembers it instead of any
/// other. Throws as ObjectStore::make() does.
void remember_store(fleet::Connection& connection, const std::string& folder);

/// Opens the store `asked` or, if `asked` is empty, the remembered store. Remembers `asked` if no
/// store was remembered. Throws Error (usage) if `asked` is empty and no store is remembered; Error
/// (failed) if the folder is not this fleet's store.
[[nodiscard]] fleet::ObjectStore open_store(fleet::Connection& connection,
                                            const std::string& asked);

/// Reads the jobs of a manifest, a YAML file: docs/formats.md, "fleet manifest". Paths are relative
/// to the manifest. Throws Error (bad input) with the line and the key that is wrong.
[[nodiscard]] std::vector<fleet::Job> read_manifest(const std::string& file);

/// Returns one job for a file, an archive or a folder of traces. Returns several for a folder whose
/// subfolders hold traces or, if `each`, one for every trace and subfolder in it. Throws Error (bad
/// input) if there is none.
[[nodiscard]] std::vector<fleet::Job> jobs_at(const std::string& path, bool each);

[[nodiscard]] bool is_manifest(const std::string& path);

/// How a night is submitted to Slurm.
struct SlurmOptions {
  std::vector<std::string> flags;  ///< additional flags of every sbatch: --partition=…
  std::size_t replay_nodes = 1;    ///< nodes that replay, each alone
};

/// Returns the sbatch commands: an array of workers that make benchmarks, then an array of workers
/// that replay, each alone on a node. A command returns when its jobs have ended; their output is
/// in slurm_logs().
[[nodiscard]] std::vector<std::vector<std::string>> slurm_commands(
    const fleet::NightOptions& options, const SlurmOptions& slurm, const std::string& program);

/// Returns the folder of the workers' output, one file per worker.
[[nodiscard]] std::string slurm_logs(const fleet::NightOptions& options);

/// Runs the commands. Throws Error (failed) if sbatch rejects a job. If a worker fails, other
/// workers do its work.
void run_on_slurm(const std::vector<std::vector<std::string>>& commands);

// Functions for a night's summary ("understudy-night").

/// Returns true if something broke or got slower that no earlier night reported.
[[nodiscard]] bool has_alarm(const nlohmann::ordered_json& night);

/// Returns the summary as a document. A site adds `work` to the summary: the night's work, item by
/// item.
[[nodiscard]] pages::Page night_page(const nlohmann::ordered_json& night);

}  // namespace understudy::cli
