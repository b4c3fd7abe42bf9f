#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>
#include <vector>

#include "arguments.h"
#include "cli/common/progress.h"
#include "et_schema/formats/collective_rows/collective_rows.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::cli {

/// One process's part in measuring communication. A launcher has started several processes.
class CommunicationJob {
 public:
  /// Returns true if a launcher has started several processes.
  [[nodiscard]] static bool is_wanted();

  /// Measures on all ranks. Rank 0 prints, and writes the rows and, if requested, the platform
  /// file. Returns the exit status.
  int run(const CalibrateArguments& arguments);

  /// Ends the other ranks. Must be called after run() has thrown.
  void end_others(int status);

 private:
  using Calls = std::vector<et_schema::CollectiveCall>;
  [[nodiscard]] std::vector<et_schema::CollectiveRow> measure(const CalibrateArguments& arguments,
                                                              c10::Device device,
                                                              Progress& progress);
  [[nodiscard]] std::vector<et_schema::CollectiveRow> time(const Calls& calls, int passes,
                                                           const std::string& device);
  [[nodiscard]] bool any_rank(bool mine);

  std::unique_ptr<backends::Backend> backend_;
  bool has_ended_ = false;
};

}  // namespace understudy::cli
