#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argument_text.h"
#include "call_text.h"
#include "data_flow.h"
#include "et_schema/model/program.h"
#include "names.h"

namespace understudy::emitter {

/// The scope that statements are written in.
struct Scope {
  NameBook& names;
  NextTensor next;  ///< the expression for the next slot read
  std::function<void(et_schema::SlotId, const std::string&)> made;  ///< new tensor, its variable
  std::vector<std::string>& lines;
  Vectors& vectors;  ///< of this scope
};

/// Writes the statements of one instruction other than a communication. Throws CannotShow.
void write_statement(const DataFlow& flow, std::size_t at, const std::vector<std::string>& words,
                     CallWriter& calls, const Scope& scope);

/// Returns "a = b = None".
[[nodiscard]] std::string release_text(const std::vector<std::string>& variables,
                                       const Vectors& vectors);

/// Returns true if a storage is large enough to be freed before the step ends.
[[nodiscard]] bool is_worth_freeing(const et_schema::Storage& storage);

/// Returns "bench.communicate(kind=…)" for a collective or a message. `tensor` returns a
/// slot's expression. Throws CannotShow.
[[nodiscard]] std::string communicate_text(
    const et_schema::Program& program, const et_schema::Instruction& instruction,
    const std::function<std::string(et_schema::SlotId)>& tensor);

/// Returns an expression that allocates a tensor for a communication to fill.
[[nodiscard]] std::string empty_text(const et_schema::Slot& layout);

}  // namespace understudy::emitter
