#include "rank_comms.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <utility>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/launcher.h"
#include "replayer/device/device.h"
#include "replayer/device/span_lanes.h"
#include "replayer/job/rank_gpus.h"

namespace understudy::replayer {
namespace {

[[noreturn]] void refuse_nccl(std::string expected, std::string got, std::string hint) {
  throw et_schema::usage_error("NCCL cannot be used", {.field = "--comms",
                                                       .expected = std::move(expected),
                                                       .got = std::move(got),
                                                       .hint = std::move(hint)});
}

/// Returns true if NCCL moves tensors on the device.
bool wants_nccl(const et_schema::Bench& bench, backends::Backend& backend,
                const ReplayOptions& options, bool is_shared) {
  const bool is_asked = options.comms == CommsPath::kNccl;
  if (backend.world_size() == 1) {
    if (is_asked && bench.recorded_world_size() > 1) {
      refuse_nccl(
          "all ranks of the benchmark, one process and one GPU each",
          fmt::format("one process of {}", bench.recorded_world_size()),
          backends::how_to_start(static_cast<int>(bench.recorded_world_size())) +
              ", or leave --comms out: one rank alone moves its part within its own memory.");
    }
    return is_asked;
  }
  return is_asked || (!options.comms && !is_shared);
}

/// Returns streams on which communication takes its simulated time, one per group.
decltype(backends::DeviceMoves::beside) timed_lanes(c10::Device device) {
  if (StreamSpan::make(device) == nullptr) {
    throw et_schema::usage_error("communication cannot be simulated on this GPU",
                                 {.field = "--comms",
                                  .expected = "a driver that compiles kernels for it",
                                  .got = "none",
                                  .hint = "use a newer driver, or --device cpu"});
  }
  return
      [lanes = std::make_shared<SpanLanes>(device)](
          backends::GroupId group, std::chrono::nanoseconds lasts,
          const std::function<void()>& moves) { return lanes->run(group, lasts.count(), moves); };
}

}  // namespace

RankComms::RankComms(const et_schema::Bench& bench, int rank, backends::Backend& backend,
                     const ReplayOptions& options, c10::Device device)
    : used_(&backend) {
  if (options.comms == CommsPath::kNccl && !device.is_cuda()) {
    refuse_nccl("--device cuda", options.device, "On a CPU ranks communicate by MPI.");
  }
  const bool is_apart = options.only == Only::kCompute;
  if (device.is_cuda() && !is_apart) {
    const bool is_shared = do_ranks_share_gpus(backend, device);
    if (wants_nccl(bench, backend, options, is_shared)) {
      if (is_shared) {
        // NCCL rejects two ranks on one GPU of a host, but accepts two hosts.
        setenv("NCCL_HOSTID", fmt::format("understudy-rank-{}", backend.rank()).c_str(), 1);
      }
      connect(backend, options);
      path_ += is_shared ? " (ranks share a GPU: times are not comparable)" : "";
      return;
    }
    path_ = is_shared && !options.comms ? "host (ranks share a GPU)" : "host";
  }
  const bool is_alone_on_device = device.is_cuda() && backend.world_size() == 1 && !options.comms;
  if (is_apart || is_alone_on_device) {
    use_local(bench, rank, options, device);
  }
}

void RankComms::connect(backends::Backend& backend, const ReplayOptions& options) {
  devices_ = backends::connect_devices(
      backend,
      {.time_limit_s = options.timeout_s.value_or(backends::BackendOptions{}.time_limit_s)});
  used_ = devices_.get();
  path_ = devices_->name();
}

void RankComms::use_local(const et_schema::Bench& bench, int rank, const ReplayOptions& options,
                          c10::Device device) {
  backends::BackendOptions own;
  own.rank = bench.recorded_rank(static_cast<std::size_t>(rank));
  own.world_size = bench.recorded_world_size();
  own.reads_sent = options.only != Only::kCompute;
  if (device.is_cuda() && !options.comms) {
    staging_ = device_block(device, static_cast<std::size_t>(backends::kStagingBytes));
  }
  if (staging_) {
    own.device_moves = backends::DeviceMoves{
        [device](void* to, const void* from, std::size_t bytes) {
          copy_on_device(device, to, from, bytes);
        },
        [device](void* to, std::size_t bytes) { fill_zeros_on_device(device, to, bytes); },
        staging_.mutable_data()};
    path_ = "local";
    if (!options.comm_times_ns.empty()) {
      own.device_moves->beside = timed_lanes(device);
    }
  }
  local_ = backends::make_single_backend(own);
  used_ = local_.get();
}

void RankComms::set_time_limit(double seconds) {
  if (devices_ != nullptr) {
    devices_->set_time_limit(seconds);
  }
}

}  // namespace understudy::replayer
