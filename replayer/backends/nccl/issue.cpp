#include "issue.h"

#include <algorithm>
#include <optional>
#include <span>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using Buffers = std::span<const Buffer>;

[[nodiscard]] std::size_t bytes_of(const Buffer& buffer) {
  return static_cast<std::size_t>(size_bytes(buffer));
}

[[nodiscard]] bool are_of_one_size(Buffers buffers) {
  return std::ranges::all_of(
      buffers, [&](const Buffer& buffer) { return buffer.count == buffers.front().count; });
}

/// A group of NCCL calls on a lane. Calls issued during its lifetime are launched together, and no
/// abort interrupts them.
class NcclGroup {
 public:
  NcclGroup(const NcclLibrary& nccl, LaneWatch& watch, const Lane& lane)
      : nccl_(nccl), watch_(watch), lane_(lane) {
    calls_.emplace(watch);
    nccl_.group_start();
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  ~NcclGroup() {
    if (!is_ended_) {
      abandon();
    }
  }
  void end() {
    is_ended_ = true;
    nccl_.group_end();
    calls_.reset();
    watch_.wait_until_ready(lane_);
  }

 private:
  void abandon() const noexcept {
    try {
      nccl_.group_end();
    } catch (const et_schema::Error&) {  // the failure that led here is being thrown
    }
  }

  const NcclLibrary& nccl_;
  LaneWatch& watch_;
  const Lane& lane_;
  std::optional<LaneWatch::Calls> calls_;
  bool is_ended_ = false;
};

class Issue {
 public:
  Issue(const Call& call, const CudaDriver& cuda, const NcclLibrary& nccl, LaneWatch& watch,
        Lane& lane)
      : call_(call),
        cuda_(cuda),
        nccl_(nccl),
        watch_(watch),
        lane_(lane),
        size_(static_cast<std::size_t>(lane.size())),
        self_(static_cast<std::size_t>(lane.rank())) {}

  void issue() {
    switch (call_.kind) {
      case CommKind::kAllGather:
        return all_gather_lists();
      case CommKind::kReduceScatter:
        return reduce_scatter_lists();
      case CommKind::kGather:
        return rooted(call_.inputs[0], call_.outputs, /*to_root=*/true);
      case CommKind::kScatter:
        return rooted(call_.outputs[0], call_.inputs, /*to_root=*/false);
      case CommKind::kBarrier:
        return barrier();
      default:
        break;
    }
    NcclGroup group(nccl_, watch_, lane_);
    add();
    group.end();
  }

  /// Adds a call that can be in a batch to the open group.
  void add() {
    switch (call_.kind) {
      case CommKind::kAllReduce:
      case CommKind::kReduce:
      case CommKind::kBroadcast:
      case CommKind::kAllGatherBase:
      case CommKind::kReduceScatterBase:
        return each_alone();
      case CommKind::kAllToAll:
        return all_to_all();
      case CommKind::kAllToAllV:
        return exchange(parts_by(call_.inputs[0], call_.in_splits),
                        parts_by(call_.outputs[0], call_.out_splits));
      case CommKind::kSend:
      case CommKind::kRecv:
        return messages();
      default:
        UNDERSTUDY_ASSERT(false);
    }
  }

 private:
  [[nodiscard]] NcclReduction reduction() const {
    const std::optional<NcclReduction> how =
        nccl_reduction(dtype_of(call_), call_.op, call_.factor);
    UNDERSTUDY_ASSERT(how.has_value());
    return lane_.own(*how);
  }

  /// Issues one NCCL call per buffer.
  void each_alone() {
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      if (call_.inputs[i].count > 0 || call_.outputs[i].count > 0) {
        one(call_.inputs[i], call_.outputs[i]);
      }
    }
  }

  void one(const Buffer& input, const Buffer& output) {
    const auto count = static_cast<std::size_t>(output.count);
    switch (call_.kind) {
      case CommKind::kAllReduce:
        return nccl_.all_reduce(input.data, output.data, count, reduction(), lane_.comm(),
                                lane_.stream());
      case CommKind::kReduce:
        return nccl_.reduce(input.data, output.data, count, reduction(), call_.root_or_peer,
                            lane_.comm(), lane_.stream());
      case CommKind::kReduceScatterBase:
        return nccl_.reduce_scatter(input.data, output.data, count, reduction(), lane_.comm(),
                                    lane_.stream());
      case CommKind::kBroadcast:
        return nccl_.broadcast(input.data, output.data, bytes_of(input), call_.root_or_peer,
                               lane_.comm(), lane_.stream());
      default:
        return nccl_.all_gather(input.data, output.data, bytes_of(input), lane_.comm(),
                                lane_.stream());
    }
  }

  void all_gather_lists() {
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      const Buffer& input = call_.inputs[i];
      const Buffers outputs = Buffers(call_.outputs).subspan(i * size_, size_);
      const std::size_t bytes = bytes_of(input);
      if (!are_of_one_size(outputs)) {
        broadcast_parts(input, outputs);
      } else if (bytes > 0) {
        std::byte* const flat = lane_.scratch(bytes * size_);
        NcclGroup group(nccl_, watch_, lane_);
        nccl_.all_gather(input.data, flat, bytes, lane_.comm(), lane_.stream());
        group.end();
        for (std::size_t rank = 0; rank < size_; ++rank) {
          cuda_.copy(outputs[rank].data, flat + rank * bytes, bytes, lane_.stream());
        }
      }
    }
  }

  void broadcast_parts(const Buffer& input, Buffers outputs) {
    NcclGroup group(nccl_, watch_, lane_);
    for (std::size_t root = 0; root < size_; ++root) {
      const Buffer& output = outputs[root];
      if (output.count > 0) {
        nccl_.broadcast(root == self_ ? input.data : output.data, output.data, bytes_of(output),
                        static_cast<int>(root), lane_.comm(), lane_.stream());
      }
    }
    group.end();
  }

  void reduce_scatter_lists() {
    for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
      const Buffer& output = call_.outputs[i];
      const Buffers inputs = Buffers(call_.inputs).subspan(i * size_, size_);
      const std::size_t bytes = bytes_of(output);
      if (!are_of_one_size(inputs)) {
        reduce_parts(inputs, output);
      } else if (bytes > 0) {
        std::byte* const flat = lane_.scratch(bytes * size_);
        for (std::size_t rank = 0; rank < size_; ++rank) {
          cuda_.copy(flat + rank * bytes, inputs[rank].data, bytes, lane_.stream());
        }
        NcclGroup group(nccl_, watch_, lane_);
        nccl_.reduce_scatter(flat, output.data, static_cast<std::size_t>(output.count), reduction(),
                             lane_.comm(), lane_.stream());
        group.end();
      }
    }
  }

  void reduce_parts(Buffers inputs, const Buffer& output) {
    NcclGroup group(nccl_, watch_, lane_);
    for (std::size_t root = 0; root < size_; ++root) {
      const Buffer& input = inputs[root];
      if (input.count > 0) {
        nccl_.reduce(input.data, root == self_ ? output.data : input.data,
                     static_cast<std::size_t>(input.count), reduction(), static_cast<int>(root),
                     lane_.comm(), lane_.stream());
      }
    }
    group.end();
  }

  /// Issues a gather (`to_root`) or a scatter: `own` is each rank's buffer, `parts` are the root's.
  void rooted(const Buffer& own, Buffers parts, bool to_root) {
    const bool is_root = lane_.rank() == call_.root_or_peer;
    const auto pass = [&](const Buffer& buffer, std::size_t peer) {
      to_root == is_root ? receive(buffer, peer) : send(buffer, peer);
    };
    NcclGroup group(nccl_, watch_, lane_);
    if (!is_root) {
      pass(own, static_cast<std::size_t>(call_.root_or_peer));
    }
    for (std::size_t rank = 0; is_root && rank < size_; ++rank) {
      if (rank != self_) {
        pass(parts[rank], rank);
      }
    }
    group.end();
    if (is_root) {
      to_root ? copy_own(own, parts[self_]) : copy_own(parts[self_], own);
    }
  }

  void all_to_all() {
    if (call_.inputs.size() == 1 && call_.outputs.size() == 1) {
      const std::vector<std::int64_t> equal(
          size_, call_.inputs[0].count / static_cast<std::int64_t>(size_));
      return exchange(parts_by(call_.inputs[0], equal), parts_by(call_.outputs[0], equal));
    }
    exchange(call_.inputs, call_.outputs);
  }

  /// Sends part r to rank r and receives part r from it, including this rank's own part.
  void exchange(Buffers inputs, Buffers outputs) {
    for (std::size_t rank = 0; rank < size_; ++rank) {
      send(inputs[rank], rank);
      receive(outputs[rank], rank);
    }
  }

  void messages() {
    const std::size_t other = call_.path == MessagePath::kBatch
                                  ? static_cast<std::size_t>(call_.root_or_peer)
                                  : 1 - self_;
    for (const Buffer& buffer : call_.inputs) {
      send(buffer, other);
    }
    for (const Buffer& buffer : call_.outputs) {
      receive(buffer, other);
    }
  }

  void barrier() {
    void* const element = lane_.scratch(sizeof(float));
    NcclGroup group(nccl_, watch_, lane_);
    nccl_.all_reduce(element, element, 1, {NcclDType::kFloat32, NcclOp::kSum, 1}, lane_.comm(),
                     lane_.stream());
    group.end();
  }

  [[nodiscard]] static std::vector<Buffer> parts_by(const Buffer& whole,
                                                    const std::vector<std::int64_t>& counts) {
    std::vector<Buffer> parts;
    auto* at = static_cast<std::byte*>(whole.data);
    for (const std::int64_t count : counts) {
      parts.push_back({at, count, whole.dtype});
      at += size_bytes(parts.back());
    }
    return parts;
  }

  void send(const Buffer& buffer, std::size_t peer) {
    if (buffer.count > 0) {
      nccl_.send(buffer.data, bytes_of(buffer), static_cast<int>(peer), lane_.comm(),
                 lane_.stream());
    }
  }

  void receive(const Buffer& buffer, std::size_t peer) {
    if (buffer.count > 0) {
      nccl_.receive(buffer.data, bytes_of(buffer), static_cast<int>(peer), lane_.comm(),
                    lane_.stream());
    }
  }

  void copy_own(const Buffer& from, const Buffer& to) {
    if (from.count > 0 && from.data != to.data) {
      cuda_.copy(to.data, from.data, bytes_of(from), lane_.stream());
    }
  }

  const Call& call_;
  const CudaDriver& cuda_;
  const NcclLibrary& nccl_;
  LaneWatch& watch_;
  Lane& lane_;
  std::size_t size_;
  std::size_t self_;
};

}  // namespace

void issue(const Call& call, const CudaDriver& cuda, const NcclLibrary& nccl, LaneWatch& watch,
           Lane& lane) {
  Issue(call, cuda, nccl, watch, lane).issue();
}

void issue_batch(std::span<const Call* const> calls, const CudaDriver& cuda,
                 const NcclLibrary& nccl, LaneWatch& watch, Lane& lane) {
  NcclGroup group(nccl, watch, lane);
  for (const Call* const call : calls) {
    Issue(*call, cuda, nccl, watch, lane).add();
  }
  group.end();
}

}  // namespace understudy::backends
