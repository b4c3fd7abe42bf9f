#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tensors.h"

namespace understudy::generator {

/// DistributedDataParallel fills its buckets by `out=`, gradient by gradient, and communicates each
/// as one tensor. Both are older than the profile, in which nothing says that the parts lie in the
/// bucket, but that they follow one another and have as many elements.
class Buckets {
 public:
  explicit Buckets(Tensors& tensors) : tensors_(tensors) {}

  /// A call fills the tensor, which it was given as `out`.
  void fill(SeenIndex part) {
    if (elements_of(part) > 0 && !parts_.contains(tensors_[part].storage)) {
      std::erase(filled_, part);
      filled_.push_back(part);
    }
  }

  /// A communication of the tensor. What was filled last, or first, and not communicated yet are
  /// its parts if they have just its elements.
  void communicate(SeenIndex whole) {
    const SeenTensor& bucket = tensors_[whole];
    if (bucket.sizes.size() != 1 || bucket.sizes[0] != elements_of(whole)) {
      return;
    }
    const auto count_to_bucket = [&](auto part, auto end_of_parts) {
      std::int64_t left = bucket.sizes[0];
      std::size_t count = 0;
      for (; part != end_of_parts; ++part) {
        if (left <= 0 || tensors_[*part].dtype != bucket.dtype) {
          break;
        }
        left -= std::min(elements_of(*part), left + 1);
        ++count;
      }
      return left == 0 ? static_cast<std::ptrdiff_t>(count) : 0;
    };
    const std::ptrdiff_t last = count_to_bucket(filled_.rbegin(), filled_.rend());
    const auto begin = last > 0 ? filled_.end() - last : filled_.begin();
    const auto end =
        last > 0 ? filled_.end() : begin + count_to_bucket(filled_.begin(), filled_.end());
    std::int64_t offset = 0;
    for (auto part = begin; part != end; ++part) {
      parts_[tensors_[*part].storage] = {bucket.storage, offset};
      offset += elements_of(*part);
    }
    filled_.erase(begin, end);
  }

  /// Puts the parts that were found where they lie in their buckets.
  void lay() {
    for (const auto& [storage, place] : parts_) {
      tensors_.storage(storage) = {};
    }
    for (SeenIndex i = 0; i < tensors_.size() && !parts_.empty(); ++i) {
      SeenTensor& tensor = tensors_[i];
      if (const auto part = parts_.find(tensor.storage); part != parts_.end()) {
        tensor.storage = part->second.bucket;
        tensor.offset += part->second.offset;
      }
    }
  }

 private:
  struct Place {
    StorageIndex bucket = 0;
    std::int64_t offset = 0;
  };
  /// Elements of a storage of its own that no operator of the profile can have made; 0: it is
  /// another.
  [[nodiscard]] std::int64_t elements_of(SeenIndex index) const {
    const SeenTensor& tensor = tensors_[index];
    const SeenStorage& storage = tensors_.storage(tensor.storage);
    const std::int64_t item_bytes = et_schema::item_size(tensor.dtype);
    const bool is_older = storage.is_external && tensor.maker == kNoEvent && item_bytes > 0;
    return is_older ? storage.bytes / item_bytes : 0;
  }

  Tensors& tensors_;
  std::vector<SeenIndex> filled_;        ///< and not communicated yet, in order
  std::map<StorageIndex, Place> parts_;  ///< by the storage that each was taken to be
};

}  // namespace understudy::generator
