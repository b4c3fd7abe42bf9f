#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argument_text.h"
#include "call_text.h"
#include "et_schema/model/program.h"
#include "generator/emitter/outline/outline.h"
#include "names.h"

namespace understudy::emitter {

/// What writes the statements of a scope needs to know of it.
struct Scope {
  Language language = Language::kCpp;
  NameBook& names;
  NextTensor next;  ///< what stands for the next slot read
  std::function<void(et_schema::SlotId, const std::string&)> made;  ///< a new tensor's variable
  std::vector<std::string>& lines;
  Vectors& vectors;        ///< those of the scope
  bool is_needed = false;  ///< another call of this function needs what the instruction makes
};

/// Writes the statements of one instruction that is no communication. Throws CannotShow.
void write_statement(const DataFlow& flow, std::size_t at, const std::vector<std::string>& words,
                     CallWriter& calls, const Scope& scope);

/// "bench::release(a, b);", "a = b = None".
[[nodiscard]] std::string release_text(const std::vector<std::string>& variables, Language language,
                                       const Vectors& vectors);

/// Whether it pays to free a storage before its scope ends.
[[nodiscard]] bool is_worth_freeing(const et_schema::Storage& storage);

/// "bench::communicate({.kind = …})" for a collective or a message. `tensor` names a slot's. Throws
/// CannotShow.
[[nodiscard]] std::string communicate_text(
    const et_schema::Program& program, const et_schema::Instruction& instruction, Language language,
    const std::function<std::string(et_schema::SlotId)>& tensor);

/// Memory for a tensor that a communication fills.
[[nodiscard]] std::string empty_text(const et_schema::Slot& layout, Language language);

}  // namespace understudy::emitter
