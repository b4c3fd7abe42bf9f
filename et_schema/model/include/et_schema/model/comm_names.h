#pragma once

#include <optional>
#include <string_view>

#include "et_schema/model/comms.h"

namespace understudy::et_schema {

/// How a c10d operator lays out its tensors.
enum class C10dLayout : std::uint8_t {
  kInPlace,      ///< the first argument is input and output
  kOutputInput,  ///< the first argument is the output, the second the input
  kInputOnly,    ///< functional: the first argument is the input, the node's results the output
  kWaited,       ///< the first argument is waited for
  kNoTensors
};

/// One c10d operator: its name without namespace and trailing "_", and what it is in the vocabulary
/// of record_param_comms.
struct C10dName {
  std::string_view c10d;
  std::string_view recorded;
  CommKind kind = CommKind::kBarrier;
  C10dLayout layout = C10dLayout::kNoTensors;
};

/// Null for an operator that is not known.
[[nodiscard]] const C10dName* find_c10d_name(std::string_view node_name);

/// The kind by record_param_comms' own name.
[[nodiscard]] std::optional<CommKind> kind_of_recorded_name(std::string_view name);

}  // namespace understudy::et_schema
