#pragma once

#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Returns a sparse tensor's content, as far as the program shows it. An external has its own. A
/// result has the content of its indices: those that it is made of (a lookup's: an element per
/// index), or those that it is later split into. The result of another operator on a sparse tensor
/// has that tensor's content, the most that coalesce() can leave. Returns nothing if the content is
/// unknown or the slot is not sparse.
[[nodiscard]] std::optional<SparseContent> sparse_content(const Program& program, SlotId sparse);

/// Returns the number of values of such a tensor: an element of a table's gradient is a whole row.
[[nodiscard]] std::int64_t stored_values(const Slot& slot, const SparseContent& content);

}  // namespace understudy::et_schema
