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

/// Assumed element type of tensors in lists, which profiles omit, until they are identified.
inline constexpr et_schema::DType kAssumedListType = et_schema::DType::kFloat32;

/// Calls with more ranks are considered damaged, because each rank needs a tensor.
inline constexpr std::int64_t kMostRanks = 65536;

/// An operator's call in the form of a trace, as far as a profile shows it. Its tensors have
/// layouts and dtypes; identity and devices are filled in later.
struct RecordedCall {
  std::string_view schema;  ///< empty: no public operator has these arguments
  std::span<et_schema::Value> inputs;
  /// An operator's are set once the identities of tensors are known, a communication's at once.
  std::span<const et_schema::Value> outputs;
  /// Tensors of the inputs, as for_each_tensor() counts them; a communication's other outputs too.
  std::vector<et_schema::Tensor*> tensors;
  std::vector<et_schema::SchemaArgument> arguments;  ///< of the schema
};

/// Finds the overload whose arguments match the event's in number and type, and reads them. An
/// argument that neither the event nor other events show gets the schema's default
/// (Loss::kAssumedArguments). A list of lists of tensors (c10d's gathers and scatters) is not
/// recorded. It is assumed to hold one list of `world_size` tensors with the layout of the first
/// tensor in the event's other list. A call without a schema keeps its tensors.
struct CallReader {
  et_schema::Arena arena;
  et_schema::Losses& losses;
  std::int64_t world_size = 1;
  bool tells_strides = false;  ///< profile records strides: a tensor without them is sparse
  /// The assumed device of tensors until find_devices() runs; operators' results depend on it.
  et_schema::DeviceType device = et_schema::DeviceType::kCpu;

  [[nodiscard]] RecordedCall read(const et_schema::KinetoEvent& event, const LeftOut& left_out);
};

/// Makes the call of a record_param_comms event from its name, elements, splits and group. `rank`
/// is the root or the peer, if any; `own_rank` is the process's rank in the world. Tensors are
/// flat. If the kind has one for each rank, all have the same size.
[[nodiscard]] RecordedCall recorded_communication(const et_schema::KinetoComm& comm,
                                                  std::int64_t rank, std::int64_t own_rank,
                                                  et_schema::Arena arena);

}  // namespace understudy::generator
