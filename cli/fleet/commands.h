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

/// Runs a command. Columns of the database hold JSON of ours; a damaged or edited one may hold
/// anything. Throws Error (failed) of what is no such JSON.
template <Verb::Run kRun>
int on_database(int argc, char** argv) {
  try {
    return kRun(argc, argv);
  } catch (const nlohmann::json::exception& error) {
    throw fleet::damaged_database(
        {.expected = "JSON as this program writes it", .got = error.what()});
  }
}

/// Adds the database, which every subcommand takes first.
void add_database_option(CommandLine& line, std::string& url);

/// The job of that name. Throws Error (usage) where there is none.
[[nodiscard]] fleet::Job job_named(fleet::Connection& connection, const std::string& name);

/// Words of a text, separated by blanks.
[[nodiscard]] std::vector<std::string> words_of(const std::string& text);

/// Programs of ours beside this one, `replay` only for what replays: a machine that makes
/// benchmarks needs no LibTorch. Throws Error (failed) where one is missing.
[[nodiscard]] fleet::Tools find_tools(bool replays);

/// Makes a store of this fleet in the folder, unless it is one, and remembers it in place of any
/// other. Throws as ObjectStore::make() does.
void remember_store(fleet::Connection& connection, const std::string& folder);

/// Opens the store: the one that was asked for, else the remembered one. One that was asked for is
/// remembered if none was. Throws Error (usage) if there is neither, Error (failed) if the folder
/// is not this fleet's store.
[[nodiscard]] fleet::ObjectStore open_store(fleet::Connection& connection,
                                            const std::string& asked);

/// Jobs of a manifest, a YAML file: docs/formats.md, "fleet manifest". Paths are relative to it.
/// Throws Error (bad input) with the line and the key that is wrong.
[[nodiscard]] std::vector<fleet::Job> read_manifest(const std::string& file);

/// One job of a file, an archive or a folder of traces; several of a folder whose folders hold
/// traces, or, if `each`, of every trace and folder in it. Throws Error (bad input) where there is
/// none.
[[nodiscard]] std::vector<fleet::Job> jobs_at(const std::string& path, bool each);

[[nodiscard]] bool is_manifest(const std::string& path);

/// How a night is given to Slurm.
struct SlurmOptions {
  std::vector<std::string> flags;  ///< more, for every sbatch: --partition=…
  std::size_t replay_nodes = 1;    ///< nodes that replay, each alone
};

/// The commands: an array of workers that make benchmarks, then one of workers that replay, a node
/// each and alone on it. Each returns when its jobs have ended; what they print is in slurm_logs().
[[nodiscard]] std::vector<std::vector<std::string>> slurm_commands(
    const fleet::NightOptions& options, const SlurmOptions& slurm, const std::string& program);

/// The folder of the workers' output, a file each.
[[nodiscard]] std::string slurm_logs(const fleet::NightOptions& options);

/// Runs them. Throws Error (failed) where sbatch does not take a job; a worker that fails leaves
/// its work to others.
void run_on_slurm(const std::vector<std::vector<std::string>>& commands);

// Of a night's summary ("understudy-night").

/// "1 BROKEN, 2 drifted".
[[nodiscard]] std::string counts_of_night(const nlohmann::ordered_json& night);

/// The summary as a document; bad where something broke or got slower.
[[nodiscard]] pages::Page night_summary_page(const std::string& summary);

}  // namespace understudy::cli
