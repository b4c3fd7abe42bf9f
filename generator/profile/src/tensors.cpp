#include "tensors.h"

namespace understudy::generator {

bool is_row_major(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::int64_t step = 1;
  bool is_it = sizes.size() == strides.size();
  for (std::size_t i = sizes.size(); is_it && i-- > 0;) {
    is_it = strides[i] == step &&
            !__builtin_mul_overflow(step, std::max<std::int64_t>(sizes[i], 1), &step);
  }
  return is_it;
}

bool contains(std::span<const SeenIndex> list, SeenIndex index) {
  return std::ranges::find(list, index) != list.end();
}

std::int64_t extent_bytes(std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides, std::int64_t offset,
                          std::int64_t item_bytes) {
  std::int64_t last = offset;
  if (strides.size() != sizes.size()) {
    return 0;  // a sparse tensor has no storage
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      return 0;
    }
    std::int64_t step = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(last + 1, item_bytes, &bytes)
             ? std::numeric_limits<std::int64_t>::max()
             : bytes;
}

bool Tensors::any_in(StorageIndex storage, std::span<const SeenIndex> list) const {
  return std::ranges::any_of(list,
                             [&](SeenIndex index) { return seen_[index].storage == storage; });
}

StorageIndex Tensors::add_storage(const SeenStorage& storage) {
  storages_.push_back(storage);
  return static_cast<StorageIndex>(storages_.size() - 1);
}

SeenIndex Tensors::add(const SeenTensor& tensor, std::int64_t now_ns) {
  const auto index = static_cast<SeenIndex>(seen_.size());
  std::vector<SeenIndex>& alike = by_sizes_[{tensor.sizes.begin(), tensor.sizes.end()}];
  SeenTensor& seen = seen_.emplace_back(tensor);
  if (!alike.empty()) {  // equal sizes share memory; they are compared often
    const SeenTensor& last = seen_[alike.back()];
    seen.sizes = last.sizes;
    seen.strides = std::ranges::equal(last.strides, seen.strides) ? last.strides : seen.strides;
  }
  seen.is_row_major = is_row_major(seen.sizes, seen.strides);
  if (alike.size() == alike.capacity()) {
    std::erase_if(alike, [&](SeenIndex other) { return storage_of(other).freed_ns <= now_ns; });
    alike.reserve(2 * alike.size() + 1);  // doubles the capacity, so cleanups are rare
  }
  alike.push_back(index);
  return index;
}

std::span<const SeenIndex> Tensors::of_sizes(std::span<const std::int64_t> sizes) const {
  const auto found = by_sizes_.find({sizes.begin(), sizes.end()});
  return found == by_sizes_.end() ? std::span<const SeenIndex>{} : newest_of(found->second);
}

}  // namespace understudy::generator
