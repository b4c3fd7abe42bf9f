#include <atomic>
#include <cstring>

#include "capture/played/driver/card.h"
#include "capture/played/driver/launches.h"
#include "capture/played/driver/memory.h"

namespace played {
namespace {

// More than this is not touched: nobody computed it.
constexpr std::size_t kMostCopied = 4 * kMebibyte;
constexpr std::size_t kMostFilled = kMebibyte;

std::atomic<int (*)(void*, std::size_t)> may_copy = nullptr;
constexpr int kRefused = 0;
constexpr int kIsWritten = 2;  // by who was asked

/// Does a copy, as far as it is done.
CUresult move(void* to, const void* from, std::size_t bytes) {
  const bool from_card = is_on_card(from);
  const bool to_card = is_on_card(to);
  const bool is_moved = bytes <= kMostCopied || (!from_card && !to_card);
  if (from_card && !to_card && (!is_moved || played_is_assumed(from, bytes) != 0)) {
    const auto ask = may_copy.load();
    const int answer = ask == nullptr ? kRefused : ask(to, bytes);
    if (answer == kRefused) {
      return refuse("a copy of " + std::to_string(bytes) +
                    " bytes that were not computed, from the card to the host,");
    }
    if (answer == kIsWritten) {
      played_know(to, bytes);
      return CUDA_SUCCESS;
    }
  }
  if (is_moved) {
    std::memmove(to, from, bytes);
  }
  change_knowledge([&](Knowledge& knowledge) {
    knowledge.carry(range_of(to, bytes), range_of(from, is_moved ? bytes : 0));
  });
  return CUDA_SUCCESS;
}

CUresult fill_bytes(void* at, unsigned value, std::size_t width, std::size_t count) {
  if (width * count > kMostFilled) {
    played_assume(at, width * count);
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<char*>(at) + i * width, &value, width);
  }
  played_know(at, width * count);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream) {
  const bool from_card = is_on_card(from);
  const bool to_card = is_on_card(to);
  Work work{.kind = Kind::kCopy, .stream = stream, .bytes = bytes};
  work.name = from_card ? (to_card ? "DtoD" : "DtoH") : (to_card ? "HtoD" : "HtoH");
  work.is_pinned = (!from_card && block_at(from)) || (!to_card && block_at(to));
  return issue({.work = work}, [=] { return move(to, from, bytes); });
}

CUresult fill(void* at, unsigned value, std::size_t width, std::size_t count, CUstream stream) {
  const Work work{.kind = Kind::kFill, .stream = stream, .bytes = width * count};
  return issue({.work = work}, [=] { return fill_bytes(at, value, width, count); });
}

PLAYED_DRIVER(cuMemsetD32Async,
              (CUdeviceptr at, unsigned value, std::size_t count, CUstream stream),
              fill(reinterpret_cast<void*>(at), value, sizeof value, count, stream))

}  // namespace played

void played_on_read(int (*may_copy)(void*, std::size_t)) {
  played::may_copy = may_copy;
}
