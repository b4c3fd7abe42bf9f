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
  /// Connects rank `rank` of the benchmark on `device`. Must be called by all ranks of `backend`
  /// together. Throws Error (usage) if NCCL is requested but missing or unusable here.
  RankComms(const et_schema::Bench& bench, int rank, backends::Backend& backend,
            const ReplayOptions& options, c10::Device device);

  [[nodiscard]] backends::Communicator& communicator() { return *used_; }
  void set_time_limit(double seconds);
  /// Returns the path for the report: "nccl", "host", "local" (a single rank, within its device's
  /// memory); empty on a CPU. The effect of ranks sharing a GPU follows in parentheses.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the communicator between GPUs; null if there is none.
  [[nodiscard]] const backends::DeviceCommunicator* devices() const { return devices_.get(); }

 private:
  /// Connects the GPUs.
  void connect(backends::Backend& backend, const ReplayOptions& options);
  /// Replaces communication by copies within this rank, which runs alone.
  void use_local(const et_schema::Bench& bench, int rank, const ReplayOptions& options,
                 c10::Device device);

  c10::Storage staging_;  ///< must precede local_, which uses it
  std::unique_ptr<backends::Backend> local_;
  std::unique_ptr<backends::DeviceCommunicator> devices_;
  backends::Communicator* used_ = nullptr;
  std::string path_;
};

}  // namespace understudy::replayer
