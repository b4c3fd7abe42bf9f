#pragma once

#include <cstddef>

namespace understudy::calibrator {

/// What caches hold at a time.
inline constexpr std::size_t kLineBytes = 64;

/// Takes memory out of all caches, so that whoever reads it next meets main memory, while code and
/// everything else stay where they are. On processors without an instruction for it that a program
/// may use, more memory is read than caches hold.
void evict(const void* memory, std::size_t bytes);

}  // namespace understudy::calibrator
