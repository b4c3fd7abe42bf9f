#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/device.h"
#include "generator/link/host.h"

namespace understudy::generator {

/// "[1, 2]" → its numbers; what is none is passed over.
[[nodiscard]] std::vector<std::int64_t> integers_in(std::string_view text);

/// The tensors of an argument "Tensor?[] indices".
struct ToldIndices {
  std::vector<std::size_t> positions;  ///< of each tensor in the list; the others are absent
  std::string_view type;               ///< of all of them: "long int", "bool"
  std::vector<et_schema::KinetoLayout> layouts;
  /// What the operator results in, where the elements of a mask decide it.
  std::vector<std::int64_t> result_sizes;
  bool is_assumed = false;  ///< from the values' sizes alone
};

/// What record_shapes leaves out of a call's arguments and other events tell.
struct LeftOut {
  std::string text;         ///< the first one: an equation, a mode; empty: it is absent or not told
  bool has_text = false;    ///< `text` is what was given
  bool is_assumed = false;  ///< `text` stands for one that has no default
  std::optional<ToldIndices> indices;
};

/// Finds what was left out in the operators that a call made (einsum permutes its operands as its
/// equation says, index shows its tensor with the indexed dimensions replaced), and in the names of
/// the kernels that it launched: aten/src/ATen/native/Linear.cpp (einsum),
/// TensorAdvancedIndexing.cpp, IndexingUtils.h, PadNd.cpp.
class LeftOutFinder {
 public:
  LeftOutFinder(const HostEvents& host, const et_schema::DeviceTimeline& device);

  [[nodiscard]] LeftOut find(HostIndex call) const;

 private:
  using Children = std::vector<const et_schema::KinetoEvent*>;

  [[nodiscard]] Children operators_below(HostIndex call) const;
  [[nodiscard]] std::optional<ToldIndices> find_indices(HostIndex call) const;

  const HostEvents& host_;
  std::map<HostIndex, std::string_view> kernels_;  ///< the first one that a call launched
};

}  // namespace understudy::generator
