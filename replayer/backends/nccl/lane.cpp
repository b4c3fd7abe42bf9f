#include "lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "et_schema/base/error.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::backends {

LaneKey lane_of(const Call& call, int group_rank) {
  const int peer = call.root_or_peer;
  if (!et_schema::is_message(call.kind) || call.path == MessagePath::kBatch) {
    return {.group = call.group};
  }
  if (call.path == MessagePath::kPair) {
    return {call.group, std::min(group_rank, peer), std::max(group_rank, peer), true};
  }
  return call.kind == et_schema::CommKind::kSend ? LaneKey{call.group, group_rank, peer}
                                                 : LaneKey{call.group, peer, group_rank};
}

std::string to_text(const std::set<LaneKey>& keys) {
  std::string text;
  for (const LaneKey& key : keys) {
    text += fmt::format("{} {} {} {:d}\n", key.group, key.source, key.target, key.is_of_both);
  }
  return text;
}

std::set<LaneKey> parse_lanes(std::span<const std::string> texts) {
  std::set<LaneKey> keys;
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      LaneKey key;
      if (!(words >> key.group >> key.source >> key.target >> key.is_of_both) ||
          !(words >> std::ws).eof()) {
        throw et_schema::run_failed(
            "ranks do not understand each other",
            {.field = "lanes",
             .expected = "a group, two ranks, and whether both send, in each line",
             .got = line,
             .hint = "Start the same version of replay on all ranks."});
      }
      keys.insert(key);
    }
  }
  return keys;
}

Lane::Lane(const CudaDriver& cuda, const NcclLibrary& nccl, const DeviceOptions& options,
           std::string name, int size, int rank)
    : cuda_(cuda),
      nccl_(nccl),
      options_(options),
      name_(std::move(name)),
      size_(size),
      rank_(rank),
      ready_(cuda.make_event()),
      stream_(cuda.make_stream()) {}

Lane::~Lane() {
  if (comm_ != nullptr && !is_aborted_) {
    nccl_.destroy(comm_);
  }
}

void Lane::split_off(const Lane& parent, int color) {
  nccl_.begin_split(parent.comm(), color, rank_, comm_);
}

void Lane::follow(CudaStream stream) {
  cuda_.record(ready_.get(), stream);
  cuda_.wait(stream_.get(), ready_.get());
}

std::byte* Lane::scratch(std::size_t bytes) {
  if (blocks_.empty() || bytes > block_bytes_) {
    block_bytes_ = std::max(bytes, 2 * block_bytes_);
    blocks_.push_back(options_.allocate ? options_.allocate(block_bytes_)
                                        : cuda_.allocate(block_bytes_));
  }
  return static_cast<std::byte*>(blocks_.back().get());
}

void Lane::register_buffer(const Buffer& buffer) {
  const std::int64_t bytes = size_bytes(buffer);
  if (bytes == 0) {
    return;
  }
  if (const auto [known, is_new] = registered_.try_emplace({buffer.data, bytes}); is_new) {
    known->second = nccl_.register_buffer(comm_, buffer.data, static_cast<std::size_t>(bytes));
  }
}

void Lane::finalize() {
  for (const auto& [buffer, handle] : registered_) {
    nccl_.deregister_buffer(comm_, handle);
  }
  registered_.clear();
  nccl_.finalize(comm_);
}

NcclReduction Lane::own(const NcclReduction& reduction) {
  NcclReduction own = reduction;
  if (own.factor != 1) {
    const auto [made, is_new] =
        premultiplied_sums_.try_emplace({own.dtype, own.factor}, NcclOp::kSum);
    if (is_new) {
      made->second = nccl_.make_premultiplied_sum(own, comm_);
    }
    own.op = made->second;
  }
  return own;
}

void Lane::note(et_schema::CommKind kind) {
  last_kind_ = kind;
  ++calls_;
}

}  // namespace understudy::backends
