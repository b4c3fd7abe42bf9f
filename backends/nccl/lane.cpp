#include "lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "et_schema/support/error.h"

namespace understudy::backends {

LaneKey lane_of(const Call& call, int group_rank) {
  if (call.kind == et_schema::CommKind::kSend) {
    return {call.group, group_rank, call.root_or_peer};
  }
  if (call.kind == et_schema::CommKind::kRecv) {
    return {call.group, call.root_or_peer, group_rank};
  }
  return {.group = call.group};
}

std::string to_text(const std::set<LaneKey>& keys) {
  std::string text;
  for (const LaneKey& key : keys) {
    text += fmt::format("{} {} {}\n", key.group, key.source, key.target);
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
      if (!(words >> key.group >> key.source >> key.target) || !(words >> std::ws).eof()) {
        throw et_schema::run_failed("ranks do not understand each other",
                                    {.field = "lanes",
                                     .expected = "a group, a source and a target in each line",
                                     .got = line,
                                     .hint = "Start the same version of replay on all ranks."});
      }
      keys.insert(key);
    }
  }
  return keys;
}

Lane::Lane(const CudaDriver& cuda, const NcclLibrary& nccl, std::string name, int size, int rank)
    : cuda_(cuda),
      nccl_(nccl),
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
    blocks_.push_back(cuda_.allocate(block_bytes_));
  }
  return blocks_.back().get();
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
