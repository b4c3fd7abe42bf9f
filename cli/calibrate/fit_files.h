#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/common/command_line.h"
#include "cli/pages/document/page.h"
#include "et_schema/model/comms.h"
#include "predictor/operators/call_model.h"
#include "predictor/platform/fit_sections.h"
#include "predictor/platform/platform.h"

namespace understudy::cli {

/// `calibrate FILES…`: a platform from measurements that exist.
struct FitArguments {
  std::vector<std::string> inputs;
  std::vector<std::string> specs;
  std::string output;
  std::vector<predictor::Candidate> candidates;        ///< empty: those that are tried by default
  int ranks_per_node = et_schema::kUsualRanksPerNode;  ///< of recorded communication
  std::map<std::string, std::string> sections = {};    ///< of the platform, beside the operators'
  Format format = Format::kText;
  bool quiet = false;
};

/// Adds the options of this mode.
void add_fit_options(CommandLine& line, FitArguments& arguments);

/// Reads, fits, writes the platform and prints what was fitted. The exit status.
int fit_files(const FitArguments& arguments);

/// What is told of a fit beside the platform.
struct FitResult {
  std::map<std::string, std::uint64_t> left_out;  ///< rows, by reason
  std::vector<predictor::SectionModel> sections;
};

/// What was fitted, with the held-out errors of each model; rows that were left out, by reason.
[[nodiscard]] pages::Page fit_page(const predictor::Platform& platform, const FitResult& result,
                                   const std::string& output);

}  // namespace understudy::cli
