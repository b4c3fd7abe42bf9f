#pragma once

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
  void fill(SeenIndex part);
  /// A communication of the tensor. What was filled last, or first, and not communicated yet are
  /// its parts if they have just its elements.
  void communicate(SeenIndex whole);
  /// Puts the parts that were found where they lie in their buckets.
  void lay();

 private:
  struct Place {
    StorageIndex bucket = 0;
    std::int64_t offset = 0;
  };
  [[nodiscard]] std::int64_t elements_of(SeenIndex index) const;

  Tensors& tensors_;
  std::vector<SeenIndex> filled_;        ///< and not communicated yet, in order
  std::map<StorageIndex, Place> parts_;  ///< by the storage that each was taken to be
};

}  // namespace understudy::generator
