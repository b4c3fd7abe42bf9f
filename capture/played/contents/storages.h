#pragma once

#include <c10/core/Storage.h>

#include <map>
#include <mutex>

#include "capture/played/contents/tensors.h"

namespace understudy::contents {

/// Storages of the card that something is known of, by where they begin, as long as they live.
class Storages {
 public:
  void add(const at::Tensor& tensor);
  /// Returns where the living storage begins that all of these bytes are in, or null.
  [[nodiscard]] const void* around(Bytes bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<const void*, c10::weak_intrusive_ptr<c10::StorageImpl>> storages_;
};

[[nodiscard]] Storages& live_storages();

}  // namespace understudy::contents
