#pragma once

#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <memory>
#include <string>

#include "backends/device_communicator.h"
#include "et_schema/bench/bench.h"
#include "replayer/options/options.h"

namespace understudy::replayer {

/// What a rank communicates by.
class RankComms {
 public:
  /// Of rank `rank` of the benchmark on `device`. All ranks of `backend` call it together. Throws
  /// Error (usage): NCCL was asked for where it cannot be had, or is missing.
  RankComms(const et_schema::Bench& bench, int rank, backends::Backend& backend,
            const ReplayOptions& options, c10::Device device);

  [[nodiscard]] backends::Communicator& communicator() { return *used_; }
  void set_time_limit(double seconds);
  /// For the report: "nccl", "host", "host (ranks share a GPU)", "local" (one rank alone, within
  /// the memory of its device); empty on a CPU.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// What moves tensors from GPU to GPU; null where nothing does.
  [[nodiscard]] const backends::DeviceCommunicator* devices() const { return devices_.get(); }

 private:
  /// From GPU to GPU.
  void connect(backends::Backend& backend, const ReplayOptions& options, c10::Device device);
  /// What would have been received is moved within this rank.
  void use_local(const et_schema::Bench& bench, int rank, const ReplayOptions& options,
                 c10::Device device);

  c10::Storage staging_;  ///< of local_, so before it
  std::unique_ptr<backends::Backend> local_;
  std::unique_ptr<backends::DeviceCommunicator> devices_;
  backends::Communicator* used_ = nullptr;
  std::string path_;
};

}  // namespace understudy::replayer
