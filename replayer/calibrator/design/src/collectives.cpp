#include "replayer/calibrator/design/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/model/comm_traits.h"
#include "replayer/calibrator/design/call.h"

namespace understudy::calibrator {
namespace {

using et_schema::Argument, et_schema::CommKind, et_schema::CommSizes, et_schema::DType;
using et_schema::Instruction, et_schema::Slot, et_schema::StorageId;

/// 2, 4, 8 … and all ranks.
std::vector<int> group_sizes(int world_size) {
  std::vector<int> sizes;
  for (int ranks = 2; ranks < world_size; ranks *= 2) {
    sizes.push_back(ranks);
  }
  sizes.push_back(world_size);
  return sizes;
}

/// One rank's program.
class RankCalls {
 public:
  RankCalls(int rank, std::int64_t most_bytes) : rank_(rank) {
    for (int i = 0; i < 2; ++i) {
      et_schema::Storage& storage = program_.storages.emplace_back();
      storage.device = {et_schema::DeviceType::kCpu, -1};
      storage.external = true;
      storage.bytes = most_bytes;
    }
  }

  void add_barrier() { start(CommKind::kBarrier, 0, {Argument::List()}, {Argument::List()}); }

  void add(const CollectiveCall& call, et_schema::GroupId group, std::uint64_t node) {
    const std::int64_t ranks = call.ranks;
    const std::int64_t all = call.bytes / item_size(call.dtype);
    const std::int64_t of_root = rank_ == 0 ? ranks : 0;
    const auto in = [&](std::int64_t parts, std::int64_t each) {
      return slices(0, parts, each, call.dtype);
    };
    const auto out = [&](std::int64_t parts, std::int64_t each) {
      return slices(1, parts, each, call.dtype);
    };
    const std::int64_t part = all / ranks;
    CommKind kind = call.kind;
    Argument inputs{Argument::List()};
    Argument outputs{Argument::List()};
    switch (et_schema::traits(kind).sizes) {
      case CommSizes::kPairs:
        inputs = outputs = in(1, all);
        break;
      case CommSizes::kEqualParts:
      case CommSizes::kSplits:
        std::tie(inputs, outputs) = std::pair(in(1, all), out(1, all));
        break;
      case CommSizes::kOutputPerRank:
        std::tie(inputs, outputs) = std::pair(in(1, part), out(ranks, part));
        break;
      case CommSizes::kInputPerRank:
        std::tie(inputs, outputs) = std::pair(in(ranks, part), out(1, part));
        break;
      case CommSizes::kOutputOfAll:
        std::tie(inputs, outputs) = std::pair(in(1, part), out(1, all));
        break;
      case CommSizes::kInputOfAll:
        std::tie(inputs, outputs) = std::pair(in(1, all), out(1, part));
        break;
      case CommSizes::kOutputsOfRoot:
        std::tie(inputs, outputs) = std::pair(in(1, part), out(of_root, part));
        break;
      case CommSizes::kInputsOfRoot:
        std::tie(inputs, outputs) = std::pair(in(of_root, part), out(1, part));
        break;
      case CommSizes::kMessage:
        kind = rank_ == 0 ? CommKind::kSend : CommKind::kRecv;
        (rank_ == 0 ? inputs : outputs) = rank_ == 0 ? in(1, all) : out(1, all);
        break;
      case CommSizes::kNone:
        break;
      case CommSizes::kNoCommunication:
        UNDERSTUDY_ASSERT(false);
    }
    start(kind, group, std::move(inputs), std::move(outputs)).node_id = node;
  }

  [[nodiscard]] et_schema::Program take() { return std::move(program_); }

 private:
  Argument slices(StorageId storage, std::int64_t parts, std::int64_t each, DType dtype) {
    Argument::List list;
    for (std::int64_t i = 0; i < parts; ++i) {
      Slot slot;
      slot.storage = storage;
      slot.dtype = dtype;
      slot.sizes = {each};
      slot.strides = {1};
      slot.offset = i * each;
      slot.external = true;
      slot.value = et_schema::ValueRule{et_schema::ValueRule::Zeros{}};
      list.push_back({Argument::SlotRef{static_cast<et_schema::SlotId>(program_.slots.size())}});
      program_.slots.push_back(std::move(slot));
    }
    return {std::move(list)};
  }

  Instruction& start(CommKind kind, et_schema::GroupId group, Argument inputs, Argument outputs) {
    Instruction& call = program_.instructions.emplace_back();
    const bool is_message = et_schema::is_message(kind);
    call.kind =
        is_message ? et_schema::InstructionKind::kP2p : et_schema::InstructionKind::kCollective;
    call.name = to_string(kind);
    call.args = {std::move(inputs), std::move(outputs)};
    call.comm.emplace();
    call.comm->kind = kind;
    call.comm->group = group;
    call.comm->root_or_peer = is_message && rank_ == 0 ? 1 : 0;
    call.comm->is_async = false;
    return call;
  }

  int rank_;
  et_schema::Program program_;
};

}  // namespace

std::vector<CollectiveCall> collective_areas(const std::vector<std::string>& hosts,
                                             bool on_device) {
  std::vector<CollectiveCall> areas;
  for (const int ranks : group_sizes(static_cast<int>(hosts.size()))) {
    const std::set<std::string> nodes(hosts.begin(), hosts.begin() + ranks);
    CollectiveCall area{
        .ranks = ranks, .nodes = static_cast<int>(nodes.size()), .on_device = on_device};
    for (std::size_t i = 0; i < et_schema::kCommKinds; ++i) {
      const auto kind = static_cast<CommKind>(i);
      // A receive is the other side of a send.
      if (et_schema::traits(kind).sizes != CommSizes::kNoCommunication && kind != CommKind::kRecv &&
          (kind != CommKind::kSend || ranks == 2)) {
        area.kind = kind;
        areas.push_back(area);
      }
    }
    area.kind = CommKind::kAllReduce;
    for (const DType dtype : {DType::kBFloat16, DType::kFloat64, DType::kInt64}) {
      area.dtype = dtype;
      areas.push_back(area);
    }
  }
  return areas;
}

std::vector<std::int64_t> collective_sizes(const CollectiveLimits& limits) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t step : {64, 8, 2}) {
    for (std::int64_t bytes = limits.least_bytes; bytes <= limits.most_bytes; bytes *= step) {
      if (std::ranges::find(sizes, bytes) == sizes.end()) {
        sizes.push_back(bytes);
      }
    }
  }
  return sizes;
}

CollectiveCall sized(CollectiveCall area, std::int64_t bytes) {
  const std::int64_t each = std::int64_t{area.ranks} * item_size(area.dtype);
  const bool is_sized = et_schema::traits(area.kind).sizes != CommSizes::kNone;
  area.bytes = is_sized ? std::max<std::int64_t>(1, (bytes + each / 2) / each) * each : 0;
  return area;
}

et_schema::Bench make_bench(const std::vector<CollectiveCall>& calls, int world_size) {
  et_schema::Bench bench;
  const std::vector<int> sizes = group_sizes(world_size);
  bench.groups.emplace_back().name = "world";
  for (const int ranks : sizes) {
    if (ranks < world_size) {
      et_schema::ProcessGroup& group = bench.groups.emplace_back();
      group.name = fmt::format("first {}", ranks);
      group.ranks.resize(static_cast<std::size_t>(ranks));
      std::iota(group.ranks.begin(), group.ranks.end(), 0);
    }
  }
  std::int64_t most_bytes = 0;
  for (const CollectiveCall& call : calls) {
    most_bytes = std::max(most_bytes, call.bytes);
  }
  for (int rank = 0; rank < world_size; ++rank) {
    RankCalls program(rank, most_bytes);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const CollectiveCall& call = calls[i];
      program.add_barrier();
      if (rank < (et_schema::is_message(call.kind) ? 2 : call.ranks)) {
        const auto size = static_cast<std::size_t>(std::ranges::find(sizes, call.ranks) -
                                                   sizes.begin());  // the last one is the world
        program.add(call, static_cast<et_schema::GroupId>((size + 1) % sizes.size()), i + 1);
      }
    }
    bench.programs.push_back(program.take());
  }
  return bench;
}

}  // namespace understudy::calibrator
