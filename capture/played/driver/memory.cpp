#include "capture/played/driver/memory.h"

#include <sys/mman.h>

#include <array>
#include <map>
#include <mutex>
#include <string>

#include "capture/played/call.h"
#include "capture/played/driver/card.h"

namespace played {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = std::size_t{2} << 20U;
/// What a context and the driver keep of a card.
constexpr std::size_t kContextBytes = std::size_t{540} << 20U;

/// All of the driver's memory. It outlives the program's static objects, which free theirs late.
struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;  ///< by begin
  std::array<std::size_t, 64> taken{};     ///< by card
  Knowledge knowledge;
};

Memory& memory() {
  static auto& the_memory = *new Memory;
  return the_memory;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

void change_knowledge(const std::function<void(Knowledge&)>& change) {
  const std::scoped_lock lock(memory().mutex);
  change(memory().knowledge);
}

void* map_addresses(std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes) + kAlignment;
  void* const got = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) {
    return nullptr;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(got);
  const std::uintptr_t aligned = (begin + kAlignment) / kAlignment * kAlignment;
  munmap(got, aligned - begin);
  munmap(pointer(aligned + whole_pages(bytes)), begin + whole - aligned - whole_pages(bytes));
  return pointer(aligned);
}

CUresult count_taken(int card_index, std::size_t bytes) {
  const std::scoped_lock lock(memory().mutex);
  std::size_t& taken = memory().taken[static_cast<std::size_t>(card_index)];
  if (kContextBytes + taken + bytes > card().memory_bytes) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  taken += bytes;
  return CUDA_SUCCESS;
}

void count_given_back(int card_index, std::size_t bytes) {
  const std::scoped_lock lock(memory().mutex);
  memory().taken[static_cast<std::size_t>(card_index)] -= bytes;
}

std::size_t free_bytes(int card_index) {
  const std::scoped_lock lock(memory().mutex);
  return card().memory_bytes - kContextBytes - memory().taken[static_cast<std::size_t>(card_index)];
}

void add_block(const Block& block) {
  const std::scoped_lock lock(memory().mutex);
  memory().blocks.insert_or_assign(block.range.begin, block);
  if (!block.is_host) {
    memory().knowledge.add_card_memory(block.range);
  }
}

CUresult take(void** at, std::size_t bytes, bool is_host) {
  *at = nullptr;
  if (bytes == 0) {
    return CUDA_SUCCESS;
  }
  if (!is_host && count_taken(current_card(), bytes) != CUDA_SUCCESS) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *at = map_addresses(bytes);
  if (*at == nullptr) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  add_block({range_of(*at, bytes), current_card(), is_host, true});
  return CUDA_SUCCESS;
}

void* take_uncounted(std::size_t bytes) {
  void* const at = map_addresses(bytes);
  add_block({range_of(at, bytes), current_card(), false, false});
  return at;
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
  const auto [range, card_index, is_host, is_ours] = found->second;
  if (!is_host) {
    memory().knowledge.remove_card_memory(range);
  }
  if (is_ours) {
    const std::size_t bytes = range.end - range.begin;
    memory().taken[static_cast<std::size_t>(card_index)] -= is_host ? 0 : bytes;
    munmap(pointer(range.begin), whole_pages(bytes));
  }
  memory().blocks.erase(found);
  return CUDA_SUCCESS;
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

}  // namespace played

void played_know(const void* at, std::size_t bytes) {
  played::change_knowledge(
      [&](played::Knowledge& knowledge) { knowledge.know(played::range_of(at, bytes)); });
}

void played_assume(const void* at, std::size_t bytes) {
  played::change_knowledge(
      [&](played::Knowledge& knowledge) { knowledge.assume(played::range_of(at, bytes)); });
}

void played_give(const void* at, std::size_t bytes) {
  played::change_knowledge(
      [&](played::Knowledge& knowledge) { knowledge.give(played::range_of(at, bytes)); });
}

int played_is_assumed(const void* at, std::size_t bytes) {
  const std::scoped_lock lock(played::memory().mutex);
  return played::memory().knowledge.is_assumed(played::range_of(at, bytes)) ? 1 : 0;
}

namespace {

/// Attributes of a pointer, each of its own type.
CUresult attribute_of(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const auto block = played::block_at(reinterpret_cast<void*>(pointer));
  if (!block) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = block->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = block->card;
      return CUDA_SUCCESS;
    default:
      played_refuse(
          ("attribute " + std::to_string(attribute) + " of a pointer is not played").c_str());
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult tell_range(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr pointer) {
  const auto block = played::block_at(reinterpret_cast<void*>(pointer));
  if (!block) {
    return CUDA_ERROR_NOT_FOUND;
  }
  *begin = block->range.begin;
  *bytes = block->range.end - block->range.begin;
  return CUDA_SUCCESS;
}

}  // namespace

PLAYED_CALL(CUresult, cuPointerGetAttribute,
            (void* value, CUpointer_attribute attribute, CUdeviceptr pointer),
            attribute_of(value, attribute, pointer))
PLAYED_CALL(CUresult, cuMemGetAddressRange,
            (CUdeviceptr * begin, std::size_t* bytes, CUdeviceptr pointer),
            tell_range(begin, bytes, pointer))
