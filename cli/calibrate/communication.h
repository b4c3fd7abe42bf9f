#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "arguments.h"
#include "cli/common/progress.h"
#include "replayer/backends/interface/backend.h"
#include "replayer/backends/interface/device_communicator.h"

namespace understudy::cli {

/// One process's part in measuring communication, of several that a launcher has started.
class CommunicationJob {
 public:
  /// True where a launcher has started several processes.
  [[nodiscard]] static bool is_wanted();

  /// Measures on all ranks; the first one writes the rows, and the platform file where one was
  /// asked for, and prints. The exit status.
  int run(const CalibrateArguments& arguments);

  /// After run() threw: takes the other ranks down.
  void end_others(int status);

 private:
  [[nodiscard]] backends::Communicator& communicator();

  std::unique_ptr<backends::Backend> backend_;
  std::unique_ptr<backends::DeviceCommunicator> devices_;
  bool has_ended_ = false;
};

}  // namespace understudy::cli
