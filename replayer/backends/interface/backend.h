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

/// Version of this interface: a module of another version is refused when it is loaded.
inline constexpr int kBackendVersion = 1;

/// A job with the communicator of its ranks, as a module makes it. Destroying it ends this rank's
/// part of the job, and waits for the other ranks to do the same unless a call has failed or an
/// exception is under way.
class Backend : public Job, public Communicator {
 public:
  [[nodiscard]] virtual std::string name() const = 0;     ///< "single", "mpi"
  [[nodiscard]] virtual std::string version() const = 0;  ///< the library's own version text
  /// The processes of the ranks on this host, this one's too, by rank; 0 for those elsewhere.
  [[nodiscard]] virtual std::vector<std::int64_t> processes_here() const { return {}; }
  /// Of rank 0's texts, one a rank, this rank's; what other ranks give is not read. A job of one
  /// rank keeps its own.
  [[nodiscard]] virtual std::string scatter_text(const std::vector<std::string>& texts) {
    return texts.front();
  }
};

/// How a backend that stays within one process moves bytes in the memory of its device.
struct DeviceMoves {
  std::function<void(void* to, const void* from, std::size_t bytes)> copy;
  std::function<void(void* to, std::size_t bytes)> fill_zeros;
  void* staging = nullptr;  ///< kStagingBytes of the device
  /// Of a device with queues: issues `moves` to a queue of the group's, behind what the current one
  /// holds, where they end `lasts` after their begin. What it returns makes the queue that is
  /// current by then wait for that. Absent: the host waits.
  using Join = std::function<void()>;
  std::function<Join(GroupId group, std::chrono::nanoseconds lasts,
                     const std::function<void()>& moves)>
      beside = nullptr;
};
inline constexpr std::int64_t kStagingBytes = std::int64_t{1} << 20U;

struct BackendOptions {
  double time_limit_s = 300;  ///< set_time_limit(), from the start on
  /// Told on another thread when a call of the transport that cannot be given up, such as MPI's
  /// set-up and end, has taken longer than the time limit. It ends the process. Absent: such calls
  /// are waited for without limit.
  std::function<void(const et_schema::Error&)> stuck = nullptr;
  int rank = 0;            ///< of `single`: the rank of the benchmark that this process plays
  int world_size = 1;      ///< of `single`: the ranks of the benchmark
  bool reads_sent = true;  ///< of `single`: reads what is only sent, as sending it would
  /// Of `single`: takes calls in the device's memory, too.
  std::optional<DeviceMoves> device_moves = std::nullopt;
};

/// What a module exports with C linkage under the names below.
using BackendVersionFn = int (*)();
using MakeBackendFn = Backend* (*)(const BackendOptions&);
inline constexpr const char* kBackendVersionSymbol = "understudy_backend_version";
inline constexpr const char* kMakeBackendSymbol = "understudy_make_backend";

/// The backend that needs nothing: one rank, in this process, everything complete at once, or when
/// Call::lasts has passed. It takes any group; in it this process is the
/// group's first rank, or `options.rank` where the group has that world rank. Calls of a group of
/// one are exact. Of a larger group (one rank of a larger benchmark, alone) it moves the bytes of
/// this rank's part through local memory, and outputs get values of this rank's own input, so that
/// indices and lengths stay valid:
/// - all_reduce, broadcast, reduce: the input, as if it were the result;
/// - all_gather, gather on the root: the input in each rank's part; scatter on the root,
///   reduce_scatter: this rank's part of the input;
/// - all_to_all: input i in output i; all_to_allv: the input, repeated or cut to the output's size;
/// - recv, scatter elsewhere: zeros; send, gather elsewhere: the input is read.
[[nodiscard]] std::unique_ptr<Backend> make_single_backend(const BackendOptions& options);

/// Loads backend module `name` ("mpi") from `directory`; it stays loaded until the process ends.
/// Throws Error (usage) if it is not there, a library it needs is missing (what is missing and how
/// to get it), or it is of another version of this interface.
[[nodiscard]] std::unique_ptr<Backend> load_backend(const std::string& name,
                                                    const std::string& directory,
                                                    const BackendOptions& options);

/// This rank's part of the job that a launcher started: the backend of several ranks that comes
/// with this version, from module_directory(). Throws Error as load_backend() does.
[[nodiscard]] std::unique_ptr<Backend> join_job(const BackendOptions& options = {});

}  // namespace understudy::backends
