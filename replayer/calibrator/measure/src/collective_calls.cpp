#include "collective_calls.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <cstddef>

#include "et_schema/base/assert.h"
#include "et_schema/model/comm_traits.h"
#include "replayer/device/device.h"

namespace understudy::calibrator {
namespace {

using backends::Buffer;
using et_schema::CommKind;
using et_schema::CommSizes;
using et_schema::DType;
using Clock = std::chrono::steady_clock;

std::vector<Buffer> parts(CallMemory& memory, std::int64_t ranks, std::int64_t part, DType dtype) {
  std::vector<Buffer> buffers;
  for (std::int64_t i = 0; i < ranks; ++i) {
    buffers.push_back(memory.part(i * part, part, dtype));
  }
  return buffers;
}

/// Makes a message from the group's first rank to its second.
void make_message(int rank, const Buffer& sent, const Buffer& received, backends::Call& call) {
  call.kind = rank == 0 ? CommKind::kSend : CommKind::kRecv;
  call.root_or_peer = rank == 0 ? 1 : 0;
  if (rank == 0) {
    call.inputs.push_back(sent);
  } else {
    call.outputs.push_back(received);
  }
}

double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

}  // namespace

Buffer CallMemory::part(std::int64_t begin, std::int64_t count, DType dtype) {
  const std::int64_t item = item_size(dtype);
  grow((begin + count) * item);
  return {static_cast<std::byte*>(bytes_.data_ptr()) + begin * item, count, dtype};
}

void CallMemory::grow(std::int64_t bytes) {
  if (!bytes_.defined() || bytes > bytes_.numel()) {
    bytes_ = at::Tensor();  // free the old memory first
    bytes_ = at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device_)).zero_();
  }
}

backends::Call CallMaker::make(const CollectiveCall& collective, backends::GroupId group,
                               int rank) {
  inputs_.grow(collective.bytes);
  outputs_.grow(collective.bytes);
  backends::Call call;
  call.kind = collective.kind;
  call.group = group;
  call.memory = device_.is_cpu() ? et_schema::DeviceType::kCpu : et_schema::DeviceType::kCuda;
  const std::int64_t ranks = collective.ranks;
  const std::int64_t whole = collective.bytes / item_size(collective.dtype);
  const std::int64_t part = whole / ranks;
  const Buffer all_in = inputs_.part(0, whole, collective.dtype);
  const Buffer all_out = outputs_.part(0, whole, collective.dtype);
  switch (et_schema::traits(collective.kind).sizes) {
    case CommSizes::kPairs:
      call.inputs = {all_in};
      call.outputs = {all_in};
      break;
    case CommSizes::kEqualParts:
      call.inputs = {all_in};
      call.outputs = {all_out};
      break;
    case CommSizes::kOutputPerRank:
      call.inputs = {inputs_.part(0, part, collective.dtype)};
      call.outputs = parts(outputs_, ranks, part, collective.dtype);
      break;
    case CommSizes::kInputPerRank:
      call.inputs = parts(inputs_, ranks, part, collective.dtype);
      call.outputs = {outputs_.part(0, part, collective.dtype)};
      break;
    case CommSizes::kOutputOfAll:
      call.inputs = {inputs_.part(0, part, collective.dtype)};
      call.outputs = {all_out};
      break;
    case CommSizes::kInputOfAll:
      call.inputs = {all_in};
      call.outputs = {outputs_.part(0, part, collective.dtype)};
      break;
    case CommSizes::kOutputsOfRoot:
      call.inputs = {inputs_.part(0, part, collective.dtype)};
      call.outputs = parts(outputs_, rank == 0 ? ranks : 0, part, collective.dtype);
      break;
    case CommSizes::kInputsOfRoot:
      call.inputs = parts(inputs_, rank == 0 ? ranks : 0, part, collective.dtype);
      call.outputs = {outputs_.part(0, part, collective.dtype)};
      break;
    case CommSizes::kSplits:
      call.in_splits.assign(static_cast<std::size_t>(ranks), part);
      call.out_splits = call.in_splits;
      call.inputs = {all_in};
      call.outputs = {all_out};
      break;
    case CommSizes::kMessage:
      make_message(rank, all_in, all_out, call);
      break;
    case CommSizes::kNone:
      break;
    case CommSizes::kNoCommunication:
      UNDERSTUDY_ASSERT(false);
  }
  return call;
}

std::vector<double> time_apart_ns(backends::Job& job, CollectiveRoute route,
                                  const backends::Call& call, bool takes_part, std::size_t times) {
  replayer::synchronize(route.device);
  std::vector<double> times_ns;
  for (std::size_t i = 0; i < times; ++i) {
    job.note_progress();
    job.barrier();
    const Clock::time_point begin = Clock::now();
    if (takes_part) {
      route.communicator.run(call);
      replayer::synchronize_stream(route.device);
      times_ns.push_back(nanoseconds_since(begin));
    }
  }
  return times_ns;
}

}  // namespace understudy::calibrator
