#include "capture/played/driver/memory.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "capture/played/driver/card.h"

namespace played {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 2 * kMebibyte;
/// What a context and the driver keep of a card.
constexpr std::size_t kContextBytes = 540 * kMebibyte;

/// All of the driver's memory. Outlives static objects, which free theirs late.
struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;  ///< by begin
  std::map<int, std::size_t> taken;        ///< by card
  Knowledge knowledge;
};

Memory& memory() {
  static auto& the_memory = *new Memory;
  return the_memory;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

/// A pointer to a place; of the device only its address matters, which Triton asks for.
CUresult tell_address(void* value, CUpointer_attribute attribute, CUdeviceptr at) {
  if (!block_at(reinterpret_cast<void*>(at))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER
             ? answer(static_cast<CUdeviceptr*>(value), at)
             : refuse("attribute " + std::to_string(attribute) + " of a pointer");
}

}  // namespace

void* map_addresses(std::size_t bytes, bool is_host) {
  const std::size_t pages = whole_pages(bytes);
  // RLIMIT_DATA limits what a script takes of the host. It counts private memory, not shared one.
  const int kind = is_host ? MAP_PRIVATE : MAP_SHARED;
  void* const got = mmap(nullptr, pages + kAlignment, PROT_READ | PROT_WRITE,
                         kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    return nullptr;
  }
  const std::size_t before = kAlignment - reinterpret_cast<std::uintptr_t>(got) % kAlignment;
  char* const aligned = static_cast<char*>(got) + before;
  munmap(got, before);
  munmap(aligned + pages, kAlignment - before);
  return aligned;
}

void add_block(const Block& block) {
  const std::scoped_lock lock(memory().mutex);
  memory().blocks.insert_or_assign(block.range.begin, block);
  if (block.is_host) {
    memory().knowledge.add_host_memory(block.range);
  } else {
    memory().knowledge.add_card_memory(block.range);
  }
}

std::optional<Block> block_at(const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::scoped_lock lock(memory().mutex);
  const auto next = memory().blocks.upper_bound(address);
  if (next == memory().blocks.begin() || std::prev(next)->second.range.end <= address) {
    return std::nullopt;
  }
  return std::prev(next)->second;
}

bool is_on_card(const void* at) {
  const auto block = block_at(at);
  return block && !block->is_host;
}

CUresult take(void** at, std::size_t bytes, bool is_host) {
  *at = nullptr;
  if (bytes == 0) {
    return CUDA_SUCCESS;
  }
  if (!is_host) {
    const CUresult result = count_taken(current_card(), static_cast<std::ptrdiff_t>(bytes));
    if (result != CUDA_SUCCESS) {
      return result;
    }
  }
  *at = map_addresses(bytes, is_host);
  if (*at == nullptr) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  add_block({range_of(*at, bytes), current_card(), is_host, true});
  if (is_host) {
    played_know(*at, bytes);  // zeros
  }
  return CUDA_SUCCESS;
}

CUresult give_back(const void* at) {
  if (at == nullptr) {
    return CUDA_SUCCESS;
  }
  const std::scoped_lock lock(memory().mutex);
  const auto found = memory().blocks.find(reinterpret_cast<std::uintptr_t>(at));
  if (found == memory().blocks.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Block block = found->second;
  memory().blocks.erase(found);
  memory().knowledge.remove_memory(block.range);
  if (block.is_ours) {
    const std::size_t bytes = block.range.end - block.range.begin;
    memory().taken[block.card] -= block.is_host ? 0 : bytes;
    munmap(const_cast<void*>(at), whole_pages(bytes));
  }
  return CUDA_SUCCESS;
}

CUresult count_taken(int card_index, std::ptrdiff_t bytes) {
  const std::scoped_lock lock(memory().mutex);
  std::size_t& taken = memory().taken[card_index];
  const std::size_t then = taken + static_cast<std::size_t>(bytes);
  if (bytes > 0 && kContextBytes + then > card().memory_bytes) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return answer(&taken, then);
}

std::size_t free_bytes(int card_index) {
  const std::scoped_lock lock(memory().mutex);
  return card().memory_bytes - kContextBytes - memory().taken[card_index];
}

void change_knowledge(const std::function<void(Knowledge&)>& change) {
  const std::scoped_lock lock(memory().mutex);
  change(memory().knowledge);
}

PLAYED_DRIVER(cuPointerGetAttribute, (void* value, CUpointer_attribute attribute, CUdeviceptr at),
              tell_address(value, attribute, at))

}  // namespace played

void played_know(const void* at, std::size_t bytes) {
  played::change_knowledge([&](auto& knowledge) { knowledge.know(played::range_of(at, bytes)); });
}

void played_assume(const void* at, std::size_t bytes) {
  played::change_knowledge([&](auto& knowledge) { knowledge.assume(played::range_of(at, bytes)); });
}

void played_give(const void* at, std::size_t bytes) {
  played::change_knowledge([&](auto& knowledge) { knowledge.give(played::range_of(at, bytes)); });
}

int played_is_assumed(const void* at, std::size_t bytes) {
  bool is = false;
  played::change_knowledge(
      [&](auto& knowledge) { is = knowledge.is_assumed(played::range_of(at, bytes)); });
  return is ? 1 : 0;
}

void played_on_forgotten(void (*told)(const void*, std::size_t)) {
  played::change_knowledge([&](auto& knowledge) { knowledge.on_forgotten(told); });
}
