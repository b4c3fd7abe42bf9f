#include "capture/played/driver/copies.h"

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

void* row_of(void* at, std::size_t pitch, std::size_t row) {
  return static_cast<char*>(at) + row * pitch;
}

const void* row_of(const void* at, std::size_t pitch, std::size_t row) {
  return static_cast<const char*>(at) + row * pitch;
}

bool is_assumed(const Copy& copy) {
  bool is = false;
  for (std::size_t row = 0; row < copy.height; ++row) {
    is |= played_is_assumed(row_of(copy.from, copy.from_pitch, row), copy.width) != 0;
  }
  return is;
}

/// Does a copy, as far as it is done.
CUresult move(const Copy& copy) {
  const bool from_card = is_on_card(copy.from);
  const bool to_card = is_on_card(copy.to);
  const std::size_t bytes = copy.width * copy.height;
  const bool is_moved = bytes <= kMostCopied || (!from_card && !to_card);
  if (from_card && !to_card && (!is_moved || is_assumed(copy))) {
    const auto ask = may_copy.load();
    const int answer = ask == nullptr ? kRefused : ask(copy.to, bytes);
    if (answer == kRefused) {
      return refuse("a copy of " + std::to_string(bytes) +
                    " bytes that were not computed, from the card to the host,");
    }
    if (answer == kIsWritten) {
      played_know(copy.to, bytes);
      return CUDA_SUCCESS;
    }
  }
  for (std::size_t row = 0; row < copy.height; ++row) {
    void* const to = row_of(copy.to, copy.to_pitch, row);
    const void* const from = row_of(copy.from, copy.from_pitch, row);
    if (is_moved) {
      std::memmove(to, from, copy.width);
    }
    change_knowledge([&](Knowledge& knowledge) {
      knowledge.carry(range_of(to, copy.width), range_of(from, is_moved ? copy.width : 0));
    });
  }
  return CUDA_SUCCESS;
}

CUresult fill_bytes(void* at, unsigned value, std::size_t width, std::size_t count) {
  if (width * count > kMostFilled) {
    played_assume(at, width * count);
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(row_of(at, width, i), &value, width);
  }
  played_know(at, width * count);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult copy(const Copy& copy, CUstream stream) {
  const bool from_card = is_on_card(copy.from);
  const bool to_card = is_on_card(copy.to);
  Work work{.kind = Kind::kCopy, .stream = stream, .bytes = copy.width * copy.height};
  work.name = from_card ? (to_card ? "DtoD" : "DtoH") : (to_card ? "HtoD" : "HtoH");
  work.is_pinned = (!from_card && block_at(copy.from)) || (!to_card && block_at(copy.to));
  return issue(work, nullptr, [copy] { return move(copy); });
}

CUresult fill(void* at, unsigned value, std::size_t width, std::size_t count, CUstream stream) {
  const Work work{.kind = Kind::kFill, .stream = stream, .bytes = width * count};
  return issue(work, nullptr, [=] { return fill_bytes(at, value, width, count); });
}

PLAYED_DRIVER(cuMemsetD32Async,
              (CUdeviceptr at, unsigned value, std::size_t count, CUstream stream),
              fill(reinterpret_cast<void*>(at), value, sizeof value, count, stream))

}  // namespace played

void played_on_read(int (*may_copy)(void*, std::size_t)) {
  played::may_copy = may_copy;
}
