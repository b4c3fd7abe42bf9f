#include "collective_calls.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
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

// The inputs: element i of rank r is (37 r + i) mod 61. So each element of a result is one of 61
// numbers, too, which depends on its position alone.
constexpr std::int64_t kPeriod = 61;
constexpr std::int64_t kShiftOfRank = 37;

using Numbers = std::vector<float>;  // kPeriod of them

Numbers numbers_of_rank(int rank) {
  Numbers numbers(kPeriod);
  for (std::int64_t i = 0; i < kPeriod; ++i) {
    numbers[static_cast<std::size_t>(i)] = static_cast<float>((kShiftOfRank * rank + i) % kPeriod);
  }
  return numbers;
}

Numbers sums_of_ranks(int ranks) {
  Numbers sums(kPeriod);
  for (int rank = 0; rank < ranks; ++rank) {
    std::ranges::transform(sums, numbers_of_rank(rank), sums.begin(), std::plus<>());
  }
  return sums;
}

/// Calls visit(part of the buffer, its expected numbers) for parts of some million elements.
/// `first` is the position of the buffer's first element in its rank's input.
template <typename Visit>
void for_parts(const Buffer& buffer, const Numbers& numbers, std::int64_t first, c10::Device device,
               const Visit& visit) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22U;
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat).device(device);
  const at::Tensor table = at::tensor(at::ArrayRef<float>(numbers), at::kFloat).to(device);
  for (std::int64_t begin = 0; begin < buffer.count; begin += kMost) {
    const std::int64_t count = std::min(kMost, buffer.count - begin);
    const at::Tensor part = at::from_blob(
        static_cast<float*>(buffer.data) + begin, {count}, [](void*) {}, options, device);
    const at::Tensor places = at::arange(first + begin, first + begin + count,
                                         at::TensorOptions().dtype(at::kLong).device(device))
                                  .remainder(kPeriod);
    visit(part, table.index_select(0, places));
  }
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

backends::Call CallMaker::make(const CollectiveCall& collective, backends::GroupId group, int rank,
                               CallPlace place) {
  inputs_.grow(collective.bytes);
  outputs_.grow(collective.bytes);
  const bool is_in_place = place == CallPlace::kInPlace;
  UNDERSTUDY_ASSERT(!is_in_place || has_in_place(collective.kind));
  CallMemory& outputs = is_in_place ? inputs_ : outputs_;
  backends::Call call;
  call.kind = collective.kind;
  call.group = group;
  call.memory = device_.is_cpu() ? et_schema::DeviceType::kCpu : et_schema::DeviceType::kCuda;
  const std::int64_t ranks = collective.ranks;
  const std::int64_t whole = collective.bytes / item_size(collective.dtype);
  const std::int64_t part = whole / ranks;
  const std::int64_t own = is_in_place ? rank * part : 0;
  const Buffer all_in = inputs_.part(0, whole, collective.dtype);
  const Buffer all_out = outputs.part(0, whole, collective.dtype);
  switch (et_schema::traits(collective.kind).sizes) {
    case CommSizes::kPairs:
    case CommSizes::kEqualParts:
      call.inputs = {all_in};
      call.outputs = {all_out};
      break;
    case CommSizes::kOutputPerRank:
      call.inputs = {inputs_.part(0, part, collective.dtype)};
      call.outputs = parts(outputs, ranks, part, collective.dtype);
      break;
    case CommSizes::kInputPerRank:
      call.inputs = parts(inputs_, ranks, part, collective.dtype);
      call.outputs = {outputs.part(0, part, collective.dtype)};
      break;
    case CommSizes::kOutputOfAll:
      call.inputs = {inputs_.part(own, part, collective.dtype)};
      call.outputs = {all_out};
      break;
    case CommSizes::kInputOfAll:
      call.inputs = {all_in};
      call.outputs = {outputs.part(own, part, collective.dtype)};
      break;
    case CommSizes::kOutputsOfRoot:
      call.inputs = {inputs_.part(0, part, collective.dtype)};
      call.outputs = parts(outputs, rank == 0 ? ranks : 0, part, collective.dtype);
      break;
    case CommSizes::kInputsOfRoot:
      call.inputs = parts(inputs_, rank == 0 ? ranks : 0, part, collective.dtype);
      call.outputs = {outputs.part(0, part, collective.dtype)};
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

bool has_in_place(CommKind kind) {
  const CommSizes sizes = et_schema::traits(kind).sizes;
  return sizes == CommSizes::kPairs || sizes == CommSizes::kOutputOfAll ||
         sizes == CommSizes::kInputOfAll;
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

double time_together_ns(backends::Job& job, CollectiveRoute route, const backends::Call& call,
                        bool takes_part, std::size_t times) {
  replayer::synchronize(route.device);
  job.barrier();
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; takes_part && i < times; ++i) {
    job.note_progress();
    route.communicator.run(call);
  }
  replayer::synchronize_stream(route.device);
  return takes_part
             ? nanoseconds_since(begin) / static_cast<double>(std::max<std::size_t>(times, 1))
             : 0;
}

void fill_inputs(const backends::Call& call, int rank, c10::Device device) {
  std::int64_t first = 0;
  for (const Buffer& input : call.inputs) {
    UNDERSTUDY_ASSERT(input.dtype == DType::kFloat32);
    for_parts(input, numbers_of_rank(rank), first, device,
              [](const at::Tensor& part, const at::Tensor& numbers) { part.copy_(numbers); });
    first += input.count;
  }
  replayer::synchronize(device);
}

std::int64_t count_wrong(const backends::Call& call, const CollectiveCall& collective, int rank,
                         c10::Device device) {
  std::int64_t wrong = 0;
  const auto expect = [&](const Buffer& buffer, const Numbers& numbers, std::int64_t first) {
    for_parts(buffer, numbers, first, device, [&](const at::Tensor& part, const at::Tensor& right) {
      wrong += part.ne(right).sum().item<std::int64_t>();
    });
  };
  const et_schema::CommTraits& traits = et_schema::traits(collective.kind);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Buffer& output = call.outputs[i];
    switch (traits.sizes) {
      case CommSizes::kPairs:
        // A reduction to a root leaves the other ranks' results unspecified.
        if (!traits.has_root || !traits.reduces || rank == 0) {
          expect(output, traits.reduces ? sums_of_ranks(collective.ranks) : numbers_of_rank(0), 0);
        }
        break;
      case CommSizes::kInputPerRank:
      case CommSizes::kInputOfAll:
        expect(output, sums_of_ranks(collective.ranks), rank * output.count);
        break;
      case CommSizes::kOutputPerRank:
      case CommSizes::kOutputsOfRoot:
        expect(output, numbers_of_rank(static_cast<int>(i)), 0);
        break;
      case CommSizes::kInputsOfRoot:
        expect(output, numbers_of_rank(0), rank * output.count);
        break;
      case CommSizes::kOutputOfAll:
      case CommSizes::kEqualParts:
      case CommSizes::kSplits: {
        const std::int64_t part = output.count / collective.ranks;
        const bool is_gather = traits.sizes == CommSizes::kOutputOfAll;
        for (int from = 0; from < collective.ranks; ++from) {
          const Buffer of_rank{static_cast<float*>(output.data) + from * part, part, output.dtype};
          expect(of_rank, numbers_of_rank(from), is_gather ? 0 : rank * part);
        }
        break;
      }
      case CommSizes::kMessage:
        expect(output, numbers_of_rank(0), 0);
        break;
      case CommSizes::kNone:
      case CommSizes::kNoCommunication:
        break;
    }
  }
  return wrong;
}

}  // namespace understudy::calibrator
