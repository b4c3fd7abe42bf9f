#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/model/trace.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// Positions in Tensors.
using SeenIndex = std::uint32_t;
using StorageIndex = std::uint32_t;
inline constexpr SeenIndex kNotSeen = std::numeric_limits<SeenIndex>::max();

/// How many of the newest tensors of a list are searched. The limit keeps a walk linear in the
/// calls, however many tensors have one layout.
inline constexpr std::size_t kMostCandidates = 512;
[[nodiscard]] inline std::span<const SeenIndex> newest_of(std::span<const SeenIndex> list) {
  return list.last(std::min(list.size(), kMostCandidates));
}

/// Returns true if the strides are those of a tensor without gaps, the last dimension innermost.
[[nodiscard]] bool is_row_major(std::span<const std::int64_t> sizes,
                                std::span<const std::int64_t> strides);

[[nodiscard]] bool contains(std::span<const SeenIndex> list, SeenIndex index);

/// Evidence for the device of a storage. Later enumerators override earlier ones.
enum class DeviceSign : std::uint8_t { kNone, kLaunch, kCopy, kAllocation };

struct SeenStorage {
  std::int64_t bytes = 0;
  std::int64_t freed_ns = kLatestNs;  ///< kLatestNs: not during the profile
  bool is_external = false;           ///< it is older than the profile
  bool on_cpu = false;
  DeviceSign sign = DeviceSign::kNone;
};

/// A tensor: a layout of a storage.
struct SeenTensor {
  std::span<const std::int64_t> sizes;
  std::span<const std::int64_t> strides;
  et_schema::DType dtype = et_schema::DType::kUndefined;
  StorageIndex storage = 0;
  std::int64_t offset = 0;           ///< in elements
  std::uint64_t born = 0;            ///< moment
  std::uint64_t used = 0;            ///< moment of its last use; 0: none
  bool is_visible = false;           ///< visible to calls outside of the operator that made it
  bool in_backward = false;          ///< made by an operator of the backward pass
  HostIndex maker = kNoEvent;        ///< the call that made it; kNoEvent if none in the profile
  std::size_t place = 0;             ///< among the maker's results
  std::string_view written_by = {};  ///< the last operator that changed it; empty: none
  bool is_differentiated = false;    ///< an operator with a node in the backward pass read it
  int promised = 0;                  ///< number of expected later reads by such operators
  std::uint64_t promised_at = 0;     ///< moment
  /// Begin of the node in which it derives from the node's gradients; 0: none.
  std::uint64_t gradient_in = 0;
  bool is_gone = false;       ///< a call changed its layout in place
  bool is_resized = false;    ///< made by resize_
  bool is_row_major = false;  ///< set by Tensors::add()
};

/// Returns the bytes from the storage's begin to the end of the last element.
[[nodiscard]] std::int64_t extent_bytes(std::span<const std::int64_t> sizes,
                                        std::span<const std::int64_t> strides, std::int64_t offset,
                                        std::int64_t item_bytes);

/// All tensors and storages that calls have shown.
class Tensors {
 public:
  [[nodiscard]] SeenTensor& operator[](SeenIndex index) { return seen_[index]; }
  [[nodiscard]] const SeenTensor& operator[](SeenIndex index) const { return seen_[index]; }
  [[nodiscard]] SeenStorage& storage(StorageIndex index) { return storages_[index]; }
  [[nodiscard]] SeenStorage& storage_of(SeenIndex index) { return storages_[seen_[index].storage]; }
  [[nodiscard]] const SeenStorage& storage_of(SeenIndex index) const {
    return storages_[seen_[index].storage];
  }
  /// Returns true if one of the listed tensors uses the storage.
  [[nodiscard]] bool any_in(StorageIndex storage, std::span<const SeenIndex> list) const;
  [[nodiscard]] std::size_t size() const { return seen_.size(); }
  [[nodiscard]] std::size_t storages() const { return storages_.size(); }

  [[nodiscard]] StorageIndex add_storage(const SeenStorage& storage);
  /// `now_ns`: the time of the call that shows it.
  [[nodiscard]] SeenIndex add(const SeenTensor& tensor, std::int64_t now_ns);
  /// Returns the newest tensors of these sizes, in order of birth. Some whose memory was freed are
  /// omitted, because no later call can use them.
  [[nodiscard]] std::span<const SeenIndex> of_sizes(std::span<const std::int64_t> sizes) const;

 private:
  std::vector<SeenTensor> seen_;
  std::vector<SeenStorage> storages_;
  std::map<std::vector<std::int64_t>, std::vector<SeenIndex>> by_sizes_;
};

}  // namespace understudy::generator
