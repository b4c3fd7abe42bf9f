#include "capture/played/contents/storages.h"

namespace understudy::contents {

void Storages::add(const at::Tensor& tensor) {
  const std::scoped_lock lock(mutex_);
  storages_.insert_or_assign(storage_of(tensor), tensor.storage().getWeakStorageImpl());
}

const void* Storages::around(Bytes bytes) const {
  const std::scoped_lock lock(mutex_);
  const auto next = storages_.upper_bound(bytes.at);
  if (next == storages_.begin()) {
    return nullptr;
  }
  const auto [at, weak] = *std::prev(next);
  const auto living = weak.lock();
  const bool is_around = living && living->data() == at &&
                         bytes.at + bytes.count <= static_cast<const char*>(at) + living->nbytes();
  return is_around ? at : nullptr;
}

Storages& live_storages() {
  static auto& the_storages = *new Storages;
  return the_storages;
}

}  // namespace understudy::contents
