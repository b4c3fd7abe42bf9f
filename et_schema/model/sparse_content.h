#pragma once

#include <cstdint>
#include <optional>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// What a sparse tensor holds, as far as the program tells: of an external its content; of what an
/// operator makes, what the indices that it is made of have (a lookup's: an element for each), or
/// what it is taken apart to later. Of other operators on a sparse tensor: what that one holds,
/// which is the most that coalesce() leaves. Null: nothing tells, or the slot is not sparse. Linear
/// in the number of instructions.
[[nodiscard]] std::optional<SparseContent> sparse_content(const Program& program, SlotId sparse);

/// Numbers among the values of such a tensor: an element of a gradient of a table is a row.
[[nodiscard]] std::int64_t stored_values(const Slot& slot, const SparseContent& content);

}  // namespace understudy::et_schema
