#include "capture/played/driver/copies.h"

#include <atomic>
#include <cstring>
#include <string>

#include "capture/played/call.h"
#include "capture/played/driver/launches.h"
#include "capture/played/driver/memory.h"

namespace played {
namespace {

// More than this is not touched: nobody computed it.
constexpr std::size_t kMostCopied = std::size_t{4} << 20U;
constexpr std::size_t kMostFilled = std::size_t{1} << 20U;

std::atomic<int (*)(void*, std::size_t)> may_copy = nullptr;

bool is_on_card(const void* at) {
  const auto block = block_at(at);
  return block && !block->is_host;
}

bool is_pinned(const void* at) {
  const auto block = block_at(at);
  return block && block->is_host;
}

struct Row {
  char* to;
  const char* from;
};

Row row_of(const Copy& copy, std::size_t index) {
  return {static_cast<char*>(copy.to) + index * copy.to_pitch,
          static_cast<const char*>(copy.from) + index * copy.from_pitch};
}

bool is_assumed(const Copy& copy) {
  for (std::size_t i = 0; i < copy.height; ++i) {
    if (played_is_assumed(row_of(copy, i).from, copy.width) != 0) {
      return true;
    }
  }
  return false;
}

void move_row(Row row, std::size_t width, bool is_moved) {
  if (is_moved) {
    std::memmove(row.to, row.from, width);
    change_knowledge([&](Knowledge& knowledge) {
      knowledge.carry(reinterpret_cast<std::uintptr_t>(row.to),
                      reinterpret_cast<std::uintptr_t>(row.from), width);
    });
  } else {
    played_assume(row.to, width);
  }
}

/// Does a copy, as far as it is done.
CUresult move_rows(const Copy& copy) {
  const bool from_card = is_on_card(copy.from);
  const bool to_card = is_on_card(copy.to);
  const std::size_t bytes = copy.width * copy.height;
  const bool is_moved = bytes <= kMostCopied || (!from_card && !to_card);
  if (from_card && !to_card && (!is_moved || is_assumed(copy))) {
    const auto ask = may_copy.load();
    const int answer = ask == nullptr ? 0 : ask(copy.to, bytes);
    if (answer == 2) {
      played_know(copy.to, bytes);
      return CUDA_SUCCESS;
    }
    if (answer == 0) {
      played_refuse(("a copy of " + std::to_string(bytes) +
                     " bytes that were not computed, from the card to the host, is not played")
                        .c_str());
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  for (std::size_t i = 0; i < copy.height; ++i) {
    move_row(row_of(copy, i), copy.width, is_moved);
  }
  return CUDA_SUCCESS;
}

CUresult fill_bytes(void* at, unsigned value, std::size_t width, std::size_t count) {
  const std::size_t bytes = width * count;
  if (bytes > kMostFilled) {
    played_assume(at, bytes);
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<char*>(at) + i * width, &value, width);
  }
  played_know(at, bytes);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult copy(const Copy& copy, CUstream stream) {
  const bool from_card = is_on_card(copy.from);
  const bool to_card = is_on_card(copy.to);
  const Work work{.kind = Kind::kCopy,
                  .name = from_card ? (to_card ? "DtoD" : "DtoH") : (to_card ? "HtoD" : "HtoH"),
                  .stream = stream,
                  .bytes = copy.width * copy.height,
                  .is_pinned = is_pinned(copy.from) || is_pinned(copy.to)};
  return issue(work, nullptr, [copy] { return move_rows(copy); });
}

CUresult fill(void* at, unsigned value, std::size_t width, std::size_t count, CUstream stream) {
  const Work work{.kind = Kind::kFill, .stream = stream, .bytes = width * count};
  return issue(work, nullptr, [=] { return fill_bytes(at, value, width, count); });
}

}  // namespace played

void played_on_read(int (*may_copy)(void*, std::size_t)) {
  played::may_copy = may_copy;
}

PLAYED_CALL(CUresult, cuMemsetD32Async,
            (CUdeviceptr at, unsigned value, std::size_t count, CUstream stream),
            played::fill(reinterpret_cast<void*>(at), value, sizeof value, count, stream))
