#pragma once

#include <functional>
#include <string>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// "bench::communicate({.kind = …})" for a collective or a message. `tensor` names a slot's. Throws
/// CannotShow.
[[nodiscard]] std::string communicate_text(
    const et_schema::Program& program, const et_schema::Instruction& instruction, Dialect dialect,
    const std::function<std::string(et_schema::SlotId)>& tensor);

/// Memory for a tensor that a communication fills.
[[nodiscard]] std::string empty_text(const et_schema::Slot& layout, Dialect dialect);

/// Whether the next instruction may run before it is done.
[[nodiscard]] bool is_joined_later(const et_schema::Instruction& instruction);

}  // namespace understudy::emitter
