#pragma once

#include <string>
#include <vector>

#include "fleet/records/jobs.h"

namespace understudy::cli {

/// Jobs of a manifest, a YAML file: docs/formats.md, "fleet manifest". Paths are relative to it.
/// Throws Error (bad input) with the line and the key that is wrong.
[[nodiscard]] std::vector<fleet::Job> read_manifest(const std::string& file);

/// One job of a file, an archive or a folder of traces; several of a folder whose folders hold
/// traces, or, if `each`, of every trace and folder in it. Throws Error (bad input) where there is
/// none.
[[nodiscard]] std::vector<fleet::Job> jobs_at(const std::string& path, bool each);

[[nodiscard]] bool is_manifest(const std::string& path);

}  // namespace understudy::cli
