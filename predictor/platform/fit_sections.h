#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/model/comms.h"
#include "predictor/collectives/profiled_calls.h"
#include "predictor/collectives/rows.h"
#include "predictor/embedding/rows.h"
#include "predictor/fitting/errors.h"
#include "predictor/overheads/observe_overlap.h"
#include "predictor/overheads/overheads.h"
#include "predictor/platform/platform.h"

namespace understudy::predictor {

/// Measurements of other things than single operators.
struct SectionRows {
  std::vector<CollectiveRow> collectives;
  ProfiledCalls profiled;  ///< of profiles, whose ranks lie in different files
  std::vector<ProfiledDevice> profiled_devices;
  ObservedOverlap overlaps;
  std::vector<EmbeddingRow> embeddings;
  OverheadSamples overheads;  ///< of profiles, whose hosts are Python's
  std::map<std::string, std::uint64_t> left_out;
  [[nodiscard]] bool empty() const;
};

/// Adds communication, but for calls of one rank, and what was left out of it.
void add_collectives(ReadCollectives&& read, SectionRows& rows);

/// Called with each Kineto profile, whose operators have their arguments.
using SeeProfile = std::function<void(const et_schema::Profile&)>;

/// Adds what a file holds: collective rows of any tool, embedding rows, a Kineto profile; told by
/// its content. False where it is something else, which is left to others. Throws Error (bad input)
/// on a damaged one.
bool add_section_file(const et_schema::InputFile& file, SectionRows& rows,
                      const SeeProfile& see_profile = {});

/// Reads those of the paths that are such files, gzipped or not, and returns the others; profiles
/// among them are taken for those of one job's ranks. Of a
/// folder that holds such files the tables of operators are returned one by one, and what is
/// neither is counted.
[[nodiscard]] std::vector<std::string> take_section_files(
    const std::vector<std::string>& paths, SectionRows& rows,
    int ranks_per_node = et_schema::kUsualRanksPerNode, const SeeProfile& see_profile = {});

/// A model of a section, for a table.
struct SectionModel {
  std::string section;  ///< "collectives"
  std::string covers;   ///< "allreduce float32, 1 node, 2 4 8 ranks"
  std::string model;
  std::size_t rows = 0;
  Errors left_out;                           ///< of what it was not fitted to; n = 0: not known
  std::optional<OverlapFactor> factor = {};  ///< of the section "overlap"
};

/// A platform's sections (Platform::sections), and what is in them.
struct FittedSections {
  std::map<std::string, std::string> json;
  std::vector<SectionModel> models;
};
/// Throws Error (bad input): too few embedding rows.
[[nodiscard]] FittedSections fit_sections(const SectionRows& rows);

/// Adds the sections of platform files, by name and in the files' order, to a new platform's: what
/// it has stays; of several the last one's is taken, of "overlap" that of each device. Throws Error
/// (bad input): a damaged section "overlap".
void keep_sections(const std::map<std::string, std::vector<KnownSection>>& known,
                   std::map<std::string, std::string>& sections);

}  // namespace understudy::predictor
