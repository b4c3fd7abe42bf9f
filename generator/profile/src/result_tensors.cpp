#include "result_tensors.h"

#include <algorithm>

#include "generator/link/observed_memory.h"

namespace understudy::generator {
namespace {

/// Returns how many later results are new and have the size of this one.
int later_of_size(const Call& call, std::size_t number) {
  const std::vector<ResultTensor>& all = call.told.tensors;
  return static_cast<int>(std::count_if(all.begin() + static_cast<std::ptrdiff_t>(number) + 1,
                                        all.end(), [&](const ResultTensor& later) {
                                          return later.storage_of < 0 &&
                                                 later.sizes == all[number].sizes &&
                                                 et_schema::item_size(later.dtype) ==
                                                     et_schema::item_size(all[number].dtype);
                                        }));
}

}  // namespace

ResultTensors::ResultTensors(const et_schema::Profile& profile, const HostEvents& host,
                             Tensors& tensors, et_schema::Arena arena)
    : host_(host), tensors_(tensors), arena_(arena) {
  for (const ObservedBlock& block : observed_blocks(profile)) {
    allocations_.push_back({host.relative(block.allocated_ns),
                            block.freed_ns ? host.relative(*block.freed_ns) : kLatestNs,
                            block.bytes, block.on_cpu});
  }
}

std::vector<SeenIndex> ResultTensors::find(const Call& call, const Frame& frame,
                                           std::uint64_t moment) {
  moment_ = moment;
  std::vector<SeenIndex> results;
  for (std::size_t i = 0; i < call.told.tensors.size(); ++i) {
    results.push_back(find_one(call, frame, i, results));
  }
  return results;
}

SeenIndex ResultTensors::find_one(const Call& call, const Frame& frame, std::size_t number,
                                  std::span<const SeenIndex> taken) {
  const ResultTensor& result = call.told.tensors[number];
  const SeenIndex same =
      result.same_as >= 0 ? frame.inputs[static_cast<std::size_t>(result.same_as)] : kNotSeen;
  // In a profile without strides, a written tensor is assumed to keep its strides.
  const bool is_untold =
      same != kNotSeen && result.strides.empty() &&
      !call.recorded.tensors[static_cast<std::size_t>(result.same_as)]->has_strides;
  if (same != kNotSeen && std::ranges::equal(tensors_[same].sizes, result.sizes) &&
      (is_untold || std::ranges::equal(tensors_[same].strides, result.strides))) {
    SeenTensor& written = tensors_[same];
    if (!frame.is_backward && !tensors_.storage(written.storage).is_external) {
      written.born = moment_;  // its content is new and unread
      written.used = 0;
    }
    written.is_gone = false;  // children changed its layout and restored it
    return same;
  }
  if (same != kNotSeen) {
    tensors_[same].is_gone = true;
  }
  SeenTensor seen;
  seen.sizes = arena_.copy<std::int64_t>(result.sizes);
  seen.strides = arena_.copy<std::int64_t>(result.strides);
  seen.dtype = dtype_of(call, result);
  seen.born = moment_;
  seen.offset = result.offset_from;
  seen.maker = call.event;
  seen.is_resized = call.recorded.schema.starts_with("aten::resize_");
  seen.place = number;
  const bool is_view = result.storage_of >= 0;
  if (is_view) {
    const SeenTensor& base = tensors_[frame.inputs[static_cast<std::size_t>(result.storage_of)]];
    seen.storage = base.storage;
    seen.offset += result.offset_is_absolute ? 0 : base.offset;
  }
  const SeenIndex made = find_made(call, frame, seen, is_view, taken);
  if (made != kNotSeen) {
    SeenTensor& handed_on = tensors_[made];
    handed_on.maker = call.event;
    handed_on.is_resized = seen.is_resized;
    handed_on.place = number;
    SeenStorage& storage = tensors_.storage(handed_on.storage);
    // The call allocated the tensor itself, and its child was the first to show it.
    if (!is_view && storage.is_external && handed_on.born > frame.begun) {
      storage.is_external = false;
      claim(call, number, storage);
    }
    handed_on.born = moment_;  // all results of a call have the same age
    return made;
  }
  const std::int64_t bytes =
      extent_bytes(seen.sizes, seen.strides, seen.offset, et_schema::item_size(seen.dtype));
  if (!is_view) {
    SeenStorage storage;
    storage.bytes = bytes;
    claim(call, number, storage);
    seen.storage = tensors_.add_storage(storage);
  } else {
    SeenStorage& storage = tensors_.storage(seen.storage);
    const bool was_empty = storage.bytes == 0;
    storage.bytes = std::max(storage.bytes, bytes);
    if (was_empty) {
      claim(call, number, storage);  // an empty out= was allocated here
    }
  }
  return tensors_.add(seen, host_.events[call.event].end_ns);
}

/// Claims the allocation that the call made for a result's storage. It was made while the call ran,
/// has the storage's bytes as the allocators round them, and was not freed before the call's end.
/// Among several such allocations, chooses the last one that leaves as many as later results need,
/// or the first one if there are too few.
void ResultTensors::claim(const Call& call, std::size_t number, SeenStorage& storage) {
  // CUDACachingAllocator rounds to 512 bytes. It does not split a block of more than 1 MiB if the
  // rest is smaller than that (kMinBlockSize and kSmallSize in c10/cuda/CUDACachingAllocator.cpp).
  constexpr std::int64_t kRounding = 512;
  constexpr std::int64_t kUnsplit = std::int64_t{1} << 20U;
  const HostEvent& event = host_.events[call.event];
  const std::int64_t bytes = storage.bytes;
  const auto begin =
      std::ranges::lower_bound(allocations_, event.start_ns, {}, &Allocation::time_ns);
  auto at = std::ranges::upper_bound(allocations_, event.end_ns, {}, &Allocation::time_ns);
  int later = later_of_size(call, number);
  Allocation* best = nullptr;
  while (at != begin && later >= 0) {
    --at;
    const std::int64_t more = at->bytes - bytes;
    const std::int64_t most = at->on_cpu ? 0 : bytes > kUnsplit ? kUnsplit : kRounding - 1;
    const bool fits = more >= 0 && more <= most;
    if (fits && !at->is_claimed && at->freed_ns >= event.end_ns && bytes > 0) {
      best = &*at;
      --later;
    }
  }
  if (best != nullptr) {
    best->is_claimed = true;
    storage.freed_ns = best->freed_ns;
    storage.on_cpu = best->on_cpu;
    storage.sign = DeviceSign::kAllocation;
  }
}

/// Finds the tensor, among those made by the call's children, that the call returns.
SeenIndex ResultTensors::find_made(const Call& call, const Frame& frame, const SeenTensor& result,
                                   bool is_view, std::span<const SeenIndex> taken) {
  const std::int64_t end_ns = host_.events[call.event].end_ns;
  SeenIndex best = kNotSeen;
  int best_likeness = -1;
  int later = later_of_size(call, result.place);
  for (std::size_t i = frame.made.size(); i-- > 0;) {
    const SeenIndex index = frame.made[i];
    const SeenTensor& made = tensors_[index];
    const SeenStorage& storage = tensors_.storage(made.storage);
    const bool is_it =
        std::ranges::equal(made.sizes, result.sizes) && made.dtype == result.dtype &&
        !contains(taken, index) &&
        (is_view ? made.storage == result.storage && made.offset == result.offset &&
                       std::ranges::equal(made.strides, result.strides)
                 : !tensors_.any_in(made.storage, frame.inputs) &&
                       !tensors_.any_in(made.storage, taken) && storage.freed_ns >= end_ns);
    const int likeness = (std::ranges::equal(made.strides, result.strides) ? 2 : 0) +
                         (made.place == result.place ? 1 : 0);
    // The newest tensors are the last results.
    const bool is_better = likeness > best_likeness || (likeness == best_likeness && later > 0);
    if (is_it && is_better && index != best) {
      later -= likeness == best_likeness ? 1 : 0;
      best = index;
      best_likeness = likeness;
    }
  }
  return best != kNotSeen || result.sizes.size() != 1 || result.sizes[0] != 0
             ? best
             : find_workspace(frame, result.dtype, end_ns, taken);
}

/// Finds a workspace that a library keeps for the backward pass. Only the library knows its size.
/// The workspace is the last 1-D tensor of type `dtype` that the call's children made.
SeenIndex ResultTensors::find_workspace(const Frame& frame, et_schema::DType dtype,
                                        std::int64_t end_ns, std::span<const SeenIndex> taken) {
  const auto found = std::find_if(frame.made.rbegin(), frame.made.rend(), [&](SeenIndex index) {
    const SeenTensor& made = tensors_[index];
    return made.dtype == dtype && made.sizes.size() == 1 && !contains(taken, index) &&
           tensors_.storage(made.storage).freed_ns >= end_ns &&
           !tensors_.any_in(made.storage, frame.inputs) && !tensors_.any_in(made.storage, taken);
  });
  return found == frame.made.rend() ? kNotSeen : *found;
}

}  // namespace understudy::generator
