#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/pages/document/page.h"
#include "et_schema/model/comms.h"
#include "predictor/platform/fit_sections.h"
#include "predictor/platform/platform.h"

namespace understudy::cli {

/// `calibrate FILES…`: fits a platform to existing measurements.
struct FitArguments {
  std::vector<std::string> inputs;
  std::vector<std::string> specs;
  std::string output;
  int ranks_per_node = et_schema::kUsualRanksPerNode;  ///< assumed for recorded communication
  std::map<std::string, std::string> sections = {};    ///< platform sections other than operators
  Format format = Format::kText;
  bool quiet = false;
};

/// Adds the options of this mode.
void add_fit_options(CommandLine& line, FitArguments& arguments);

/// Reads the files, fits, writes the platform and prints the results. Returns the exit status.
int fit_files(const FitArguments& arguments);

/// Results of a fit besides the platform.
struct FitResult {
  std::map<std::string, std::uint64_t> left_out;  ///< number of rows by reason
  std::vector<predictor::SectionModel> sections;
};

/// Shows the fitted models with their held-out errors, and the rows left out by reason.
[[nodiscard]] pages::Page fit_page(const predictor::Platform& platform, const FitResult& result,
                                   const std::string& output);

}  // namespace understudy::cli
