#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tensors.h"

namespace understudy::generator {

/// DistributedDataParallel fills its buckets gradient by gradient by `out=`, and communicates each
/// bucket as one tensor. Both are older than the profile, so no event shows that the gradients are
/// parts of the bucket. It is inferred from their order and their number of elements.
class Buckets {
 public:
  explicit Buckets(Tensors& tensors) : tensors_(tensors) {}

  /// Records that a call fills the tensor, its argument `out`.
  void fill(SeenIndex part) {
    if (elements_of(part) > 0 && !parts_.contains(tensors_[part].storage)) {
      std::erase(filled_, part);
      filled_.push_back(part);
    }
  }

  /// Records a communication of the tensor. Its parts are the tensors filled last, or first, that
  /// were not yet communicated, if the sum of their elements equals the bucket's number of
  /// elements.
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

  /// Moves the parts that were found to their places in the buckets.
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
  /// Returns the elements of a tensor whose storage is its own and that no operator of the profile
  /// can have made; otherwise 0.
  [[nodiscard]] std::int64_t elements_of(SeenIndex index) const {
    const SeenTensor& tensor = tensors_[index];
    const SeenStorage& storage = tensors_.storage(tensor.storage);
    const std::int64_t item_bytes = et_schema::item_size(tensor.dtype);
    const bool is_older = storage.is_external && tensor.maker == kNoEvent && item_bytes > 0;
    return is_older ? storage.bytes / item_bytes : 0;
  }

  Tensors& tensors_;
  std::vector<SeenIndex> filled_;        ///< not communicated yet, in order
  std::map<StorageIndex, Place> parts_;  ///< by the storage that the part had before
};

}  // namespace understudy::generator
