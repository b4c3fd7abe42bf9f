#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/kineto/integers.h"
#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/device.h"
#include "generator/link/host.h"

namespace understudy::generator {

using et_schema::integers_in;

/// The tensors of an argument "Tensor?[] indices".
struct ToldIndices {
  std::vector<std::size_t> positions;  ///< of each tensor in the list; other elements are absent
  std::string_view type;               ///< element type of all of them: "long int", "bool"
  std::vector<et_schema::KinetoLayout> layouts;
  /// Sizes of the operator's result, if the elements of a mask decide them.
  std::vector<std::int64_t> result_sizes;
  bool is_assumed = false;  ///< inferred only from the sizes of the values
};

/// Arguments of a call that record_shapes omits and other events show.
struct LeftOut {
  /// The first omitted text, such as an equation or a mode; empty if absent or unknown.
  std::string text;
  bool has_text = false;    ///< `text` was recorded
  bool is_assumed = false;  ///< `text` is a usual value for one that has no default
  std::optional<ToldIndices> indices;
};

/// Finds omitted arguments in the operators that a call made and in the names of the kernels that
/// it launched. (einsum permutes its operands by its equation; index shows its tensor with the
/// indexed dimensions replaced.) See aten/src/ATen/native/Linear.cpp (einsum),
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
  std::map<HostIndex, std::string_view> kernels_;  ///< the first kernel that a call launched
};

}  // namespace understudy::generator
