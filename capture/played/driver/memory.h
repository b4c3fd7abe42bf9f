#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <optional>

#include "capture/played/driver/knowledge.h"

namespace played {

/// Memory that the driver knows. Its pages are the host's, none of them there before it is touched.
struct Block {
  Range range;
  int card;
  bool is_host;
  bool is_ours;  ///< registered memory and mapped segments are not
};

/// Takes memory of the current card, or pinned memory of the host.
[[nodiscard]] CUresult take(void** at, std::size_t bytes, bool is_host);
/// Takes memory that the card's figures do not count: what a module brings along.
[[nodiscard]] void* take_uncounted(std::size_t bytes);
[[nodiscard]] CUresult give_back(const void* at);
void add_block(const Block& block);
[[nodiscard]] std::optional<Block> block_at(const void* at);
/// Maps addresses, aligned to 2 MiB; null: there are none left.
[[nodiscard]] void* map_addresses(std::size_t bytes);

/// Counts memory of a card as taken, or fails as the card would.
[[nodiscard]] CUresult count_taken(int card, std::size_t bytes);
void count_given_back(int card, std::size_t bytes);
[[nodiscard]] std::size_t free_bytes(int card);

/// Changes what is known, alone.
void change_knowledge(const std::function<void(Knowledge&)>& change);

}  // namespace played
