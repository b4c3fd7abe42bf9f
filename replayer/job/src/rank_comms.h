#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <memory>
#include <string>

#include "et_schema/formats/bench/bench.h"
#include "replayer/backends/interface/device_communicator.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// The backends and groups through which a rank communicates.
class RankComms {
 public:
  /// For rank `rank` of the benchmark on `device`. All ranks of `backend` call it together. Throws
  /// Error (usage): NCCL was asked for and cannot be used here, or is missing.
  RankComms(const et_schema::Bench& bench, int rank, backends::Backend& backend,
            const ReplayOptions& options, c10::Device device);

  [[nodiscard]] backends::Communicator& communicator() { return *used_; }
  void set_time_limit(double seconds);
  /// The path for the report: "nccl", "host", "local" (a single rank, within the memory of its
  /// device); empty on a CPU. In parentheses what ranks that share a GPU make of it.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The communicator that moves tensors from GPU to GPU; null if there is none.
  [[nodiscard]] const backends::DeviceCommunicator* devices() const { return devices_.get(); }

 private:
  /// Connects GPU to GPU.
  void connect(backends::Backend& backend, const ReplayOptions& options, c10::Device device);
  /// Moves within this rank what would have been received.
  void use_local(const et_schema::Bench& bench, int rank, const ReplayOptions& options,
                 c10::Device device);

  c10::Storage staging_;  ///< local_ uses it, so it comes before
  std::unique_ptr<backends::Backend> local_;
  std::unique_ptr<backends::DeviceCommunicator> devices_;
  backends::Communicator* used_ = nullptr;
  std::string path_;
};

}  // namespace understudy::replayer
