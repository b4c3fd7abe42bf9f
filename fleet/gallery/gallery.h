#pragma once

#include <set>
#include <string>
#include <vector>

#include "et_schema/model/report.h"

namespace understudy::fleet {

/// A platform that a step ran on before.
struct GalleryReference {
  std::string platform;  ///< "H100": the file's name up to its first dot
  /// The times are the original's, from its profile; else those of replays.
  bool is_recorded = false;
  std::vector<et_schema::Report> reports;  ///< a recorded one: one, without iterations
};

/// A folder with a bench.et, and its references: reports PLATFORM.K.json.gz of replays, and
/// benchmarks PLATFORM.et of the same step with the times recorded there.
struct GalleryStep {
  std::string name;                          ///< the folder's
  std::string folder;                        ///< its path
  std::string hash;                          ///< benchmark_hash()
  bool on_device = false;                    ///< recorded on a GPU
  std::set<std::string> classes;             ///< of its operators
  std::vector<GalleryReference> references;  ///< by platform

  [[nodiscard]] std::string benchmark() const { return folder + "/bench.et"; }
};

/// Returns the steps of a gallery by name: its folders with a bench.et, or the folder itself if it
/// has one. Throws Error (usage) if there is no step, Error (bad input) if a file cannot be read or
/// a reference is of another benchmark.
[[nodiscard]] std::vector<GalleryStep> read_gallery(const std::string& folder);

/// Returns the path of a platform's report in a step's folder; `number` counts from 1.
[[nodiscard]] std::string reference_path(const GalleryStep& step, const std::string& platform,
                                         std::size_t number);

/// Writes a platform's reports into the step's folder, of ranks only the GPU and the host's load,
/// and deletes its earlier ones.
void save_reference(const GalleryStep& step, const std::string& platform,
                    std::vector<et_schema::Report> reports);

}  // namespace understudy::fleet
