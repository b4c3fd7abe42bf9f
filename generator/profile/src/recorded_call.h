#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/losses.h"
#include "et_schema/model/trace.h"
#include "left_out.h"

namespace understudy::generator {

/// The element type of tensors in lists, of which profiles tell no type, until they are found.
inline constexpr et_schema::DType kAssumedListType = et_schema::DType::kFloat32;

/// What tells of more ranks is damaged; each takes a tensor.
inline constexpr std::int64_t kMostRanks = 65536;

/// An operator's call as a trace would tell it, as far as a profile does. Its tensors have layouts
/// and dtypes; identity and devices are filled in later.
struct RecordedCall {
  std::string_view schema;  ///< empty: no public operator takes these arguments
  std::span<et_schema::Value> inputs;
  std::span<const et_schema::Value> outputs;  ///< but a communication's: once identities are known
  /// Of the inputs, as for_each_tensor() counts them; of a communication also other outputs.
  std::vector<et_schema::Tensor*> tensors;
  std::vector<et_schema::SchemaArgument> arguments;  ///< of the schema
};

/// Finds the overload whose arguments are as many as those of the event, and of their types, and
/// reads them. What the event leaves out, and other events do not tell, has the schema's default
/// (Loss::kAssumedArguments); lists of lists, which c10d's operators take, are one of `world_size`
/// tensors like those of the other list. A call without a schema keeps its tensors.
struct CallReader {
  et_schema::Arena arena;
  et_schema::Losses& losses;
  std::int64_t world_size = 1;
  bool tells_strides = false;  ///< the profile does, so that a tensor without any is sparse
  /// Where tensors are taken to lie until devices are found (find_devices()); operators' results
  /// differ by it.
  et_schema::DeviceType device = et_schema::DeviceType::kCpu;

  [[nodiscard]] RecordedCall read(const et_schema::KinetoEvent& event, const LeftOut& left_out);
};

/// Makes the call of a record_param_comms of what its event says: name, elements, splits, group.
/// `rank` is the root or the peer, where there is one; `own_rank` is that of the process in the
/// world. Tensors are flat; where the kind has one for each rank, they are of one size.
[[nodiscard]] RecordedCall recorded_communication(const et_schema::KinetoComm& comm,
                                                  std::int64_t rank, std::int64_t own_rank,
                                                  et_schema::Arena arena);

}  // namespace understudy::generator
