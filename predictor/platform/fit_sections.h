#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "et_schema/base/input_files.h"
#include "et_schema/model/comms.h"
#include "predictor/collectives/profiled_calls.h"
#include "predictor/collectives/rows.h"
#include "predictor/embedding/rows.h"
#include "predictor/fitting/errors.h"
#include "predictor/overheads/overheads.h"
#include "predictor/platform/platform.h"

namespace understudy::predictor {

/// Measurements other than single operators.
struct SectionRows {
  std::vector<CollectiveRow> collectives;
  ProfiledCalls profiled;  ///< communication in profiles, whose ranks are in different files
  std::vector<EmbeddingRow> embeddings;
  OverheadSamples overheads;  ///< of Python programs
  std::map<std::string, std::uint64_t> left_out;
  [[nodiscard]] bool empty() const;
};

/// Adds communication of two ranks or more, and the omitted lines.
void add_collectives(ReadCollectives&& read, SectionRows& rows);

/// Called for each Kineto profile, read with operators' arguments.
using SeeProfile = std::function<void(const et_schema::Profile&)>;

/// Adds a file that holds collective rows of any tool, embedding rows, or a Kineto profile, by its
/// content. Returns false if it is none of these. Throws Error (bad input) if it is damaged.
bool add_section_file(const et_schema::InputFile& file, SectionRows& rows,
                      const SeeProfile& see_profile = {});

/// Reads the paths that are such files, gzipped or not, and returns the others. Profiles count as
/// those of one job's ranks. In a folder with such files, tables of operators are returned
/// individually, and unknown files are counted.
[[nodiscard]] std::vector<std::string> take_section_files(
    const std::vector<std::string>& paths, SectionRows& rows,
    int ranks_per_node = et_schema::kUsualRanksPerNode, const SeeProfile& see_profile = {});

/// A model in a section, as a row of a table.
struct SectionModel {
  std::string section;  ///< "collectives"
  std::string covers;   ///< "allreduce float32, 1 node, 2 4 8 ranks"
  std::string model;
  std::size_t rows = 0;
  Errors left_out;  ///< errors on held-out rows; n = 0: unknown
};

/// A platform's sections (Platform::sections) and their models.
struct FittedSections {
  std::map<std::string, std::string> json;
  std::vector<SectionModel> models;
};
/// Fits all sections. Throws Error (bad input) if a direction has too few embedding rows.
[[nodiscard]] FittedSections fit_sections(const SectionRows& rows);

}  // namespace understudy::predictor
