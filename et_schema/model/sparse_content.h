#pragma once

#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Returns a sparse tensor's content, as far as the program shows it. An external has its
/// Slot::content. A result's content follows from the indices that it was made of (a lookup's
/// gradient: one element per index), or from the indices that a later operator returns as its part.
/// Otherwise it is that of its operator's sparse argument, the most that coalesce() can leave.
/// Returns nothing if the content is unknown or the slot is not sparse.
[[nodiscard]] std::optional<SparseContent> sparse_content(const Program& program, SlotId sparse);

/// Returns the number of values that such a tensor stores: its elements times its dense sizes. For
/// example, each element of an embedding table's gradient is a whole row.
[[nodiscard]] std::int64_t stored_values(const Slot& slot, const SparseContent& content);

}  // namespace understudy::et_schema
