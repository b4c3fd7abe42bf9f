#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <optional>

#include "capture/played/driver/knowledge.h"

namespace played {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;

/// Memory that the driver knows.
struct Block {
  Range range;
  int card;
  bool is_host;
  bool is_ours;  ///< registered memory and mapped segments are not
};

/// Maps `bytes` of addresses, aligned to 2 MiB; null if there are none left. A page takes memory
/// once it is touched. `is_host`: it counts as the host's memory, not as a card's.
[[nodiscard]] void* map_addresses(std::size_t bytes, bool is_host);
void add_block(const Block& block);
[[nodiscard]] std::optional<Block> block_at(const void* at);
[[nodiscard]] bool is_on_card(const void* at);

/// Takes memory of the current card, or pinned memory of the host.
CUresult take(void** at, std::size_t bytes, bool is_host);
CUresult give_back(const void* at);

/// Counts memory of a card as taken, or given back (negative); fails as the card would.
CUresult count_taken(int card, std::ptrdiff_t bytes);
[[nodiscard]] std::size_t free_bytes(int card);

/// Copies on a stream, with what is known of the source. Much memory is not touched, and assumed.
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream);
/// Fills memory with `count` values of `width` bytes (1 or 4), on a stream.
CUresult fill(void* at, unsigned value, std::size_t width, std::size_t count, CUstream stream);

/// Changes what is known, alone.
void change_knowledge(const std::function<void(Knowledge&)>& change);

}  // namespace played
