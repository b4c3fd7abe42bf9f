#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/communicator.h"
#include "replayer/backends/interface/job.h"

namespace understudy::backends {

/// Version of this interface. Modules of another version are refused when they are loaded.
inline constexpr int kBackendVersion = 1;

/// A job with the communicator of its ranks, made by a module. The destructor ends this rank's part
/// of the job. It waits for the other ranks to do the same, unless a call has failed or an
/// exception is propagating.
class Backend : public Job, public Communicator {
 public:
  [[nodiscard]] virtual std::string name() const = 0;     ///< "single", "mpi"
  [[nodiscard]] virtual std::string version() const = 0;  ///< the library's own version text
  /// Returns the process id of each rank, by rank: 0 for ranks on other hosts.
  [[nodiscard]] virtual std::vector<std::int64_t> processes_here() const { return {}; }
  /// Returns this rank's entry of rank 0's `texts`, which holds one text per rank. The `texts` of
  /// other ranks are ignored. A job of one rank returns its own text.
  [[nodiscard]] virtual std::string scatter_text(const std::vector<std::string>& texts) {
    return texts.front();
  }
};

/// Functions by which the backend of a single rank moves bytes in the memory of its device.
struct DeviceMoves {
  std::function<void(void* to, const void* from, std::size_t bytes)> copy;
  std::function<void(void* to, std::size_t bytes)> fill_zeros;
  void* staging = nullptr;  ///< kStagingBytes of device memory
  /// For a device with streams: issues `moves` to a stream of the group, after the work of the
  /// current stream, so that they end `lasts` after they begin. The returned function makes the
  /// stream that is current when it is called wait for their end. If null, the host waits.
  using Join = std::function<void()>;
  std::function<Join(GroupId group, std::chrono::nanoseconds lasts,
                     const std::function<void()>& moves)>
      beside = nullptr;
};
inline constexpr std::int64_t kStagingBytes = std::int64_t{1} << 20U;

struct BackendOptions {
  double time_limit_s = 300;  ///< set_time_limit(), from the start on
  /// Called on another thread if a transport call that cannot be cancelled (such as MPI's set-up
  /// and end) exceeds the time limit. It must end the process. If null, such calls wait without
  /// limit.
  std::function<void(const et_schema::Error&)> stuck = nullptr;
  int rank = 0;            ///< `single` only: the benchmark's rank that this process replays
  int world_size = 1;      ///< `single` only: number of ranks of the benchmark
  bool reads_sent = true;  ///< `single` only: reads buffers that are only sent, as a send would
  /// `single` only: if set, calls in the device's memory are accepted, too.
  std::optional<DeviceMoves> device_moves = std::nullopt;
};

/// Functions that a module exports with C linkage under the names below.
using BackendVersionFn = int (*)();
using MakeBackendFn = Backend* (*)(const BackendOptions&);
inline constexpr const char* kBackendVersionSymbol = "understudy_backend_version";
inline constexpr const char* kMakeBackendSymbol = "understudy_make_backend";

/// Makes the backend without dependencies: one rank, in this process. Calls complete at once, or
/// when Call::lasts has passed. Any group is accepted. This process is the group's member
/// `options.rank`, or its first rank if the group lacks that world rank. Calls of a group of one
/// are exact. In a larger group (one rank of a larger benchmark, replayed alone) the bytes of this
/// rank's part move through local memory. Outputs receive values of this rank's own input, so that
/// indices and lengths stay valid:
/// - all_reduce, broadcast, reduce: the input, as if it were the result;
/// - all_gather, gather on the root: the input in each rank's part; scatter on the root,
///   reduce_scatter: this rank's part of the input;
/// - all_to_all: input i in output i; all_to_allv: the input, repeated or cut to the output's size;
/// - recv, scatter on other ranks: zeros; send, gather on other ranks: the input is read.
[[nodiscard]] std::unique_ptr<Backend> make_single_backend(const BackendOptions& options);

/// Loads backend module `name` ("mpi") from `directory`; the module stays loaded until the process
/// ends. Throws Error (usage) if the module is missing, has another version of this interface, or
/// lacks a library that it needs (the error names the library and how to get it).
[[nodiscard]] std::unique_ptr<Backend> load_backend(const std::string& name,
                                                    const std::string& directory,
                                                    const BackendOptions& options);

/// Joins the job that a launcher started, with this version's backend of several ranks from
/// module_directory(). Throws Error as load_backend() does.
[[nodiscard]] std::unique_ptr<Backend> join_job(const BackendOptions& options = {});

}  // namespace understudy::backends
