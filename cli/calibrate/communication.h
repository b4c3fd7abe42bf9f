#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "arguments.h"
#include "cli/common/progress.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/device_communicator.h"

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
  [[nodiscard]] backends::Communicator& communicator();

  std::unique_ptr<backends::Backend> backend_;
  std::unique_ptr<backends::DeviceCommunicator> devices_;
  bool has_ended_ = false;
};

}  // namespace understudy::cli
