#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/schema_text.h"
#include "et_schema/model/trace.h"
#include "et_schema/support/arena.h"
#include "left_out.h"

namespace understudy::generator {

/// The element type of tensors in lists, of which profiles tell no type, until they are found.
inline constexpr et_schema::DType kAssumedListType = et_schema::DType::kFloat32;

/// An operator's call as a trace would tell it, as far as a profile does. Its tensors have layouts
/// and dtypes; identity and devices are filled in later.
struct RecordedCall {
  std::string_view schema;  ///< empty: no public operator takes these arguments
  std::span<et_schema::Value> inputs;
  std::vector<et_schema::Tensor*> tensors;  ///< of the inputs, as for_each_tensor() counts them
  std::vector<et_schema::SchemaArgument> arguments;  ///< of the schema
};

/// Finds the overload whose arguments are as many as those of the event, and of their types, and
/// reads them. What the event leaves out, and other events do not tell, has the schema's default
/// (Loss::kAssumedArguments); lists of lists, which c10d's operators take, are one of `world_size`
/// tensors like those of the other list. A call without a schema keeps its tensors.
class CallReader {
 public:
  /// `tells_strides`: the profile does, so that a tensor without any is sparse. `device`: where
  /// tensors are taken to lie until devices are found (devices.h); operators' results differ by it.
  CallReader(et_schema::Arena arena, et_schema::Losses& losses, std::int64_t world_size,
             bool tells_strides, et_schema::DeviceType device)
      : arena_(arena),
        losses_(losses),
        world_size_(world_size),
        tells_strides_(tells_strides),
        device_(device) {}

  [[nodiscard]] RecordedCall read(const et_schema::KinetoEvent& event, const LeftOut& left_out);

 private:
  et_schema::Arena arena_;
  et_schema::Losses& losses_;
  std::int64_t world_size_;
  bool tells_strides_;
  et_schema::DeviceType device_;
};

/// Whether a tensor of a call has no strides, and not because the profile tells none.
[[nodiscard]] inline bool is_sparse(const et_schema::Tensor& tensor) {
  return tensor.has_strides && tensor.strides.size() != tensor.sizes.size();
}

}  // namespace understudy::generator
