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

/// The scope that statements are written in.
struct Scope {
  Language language = Language::kCpp;
  NameBook& names;
  NextTensor next;  ///< the expression for the next slot read
  std::function<void(et_schema::SlotId, const std::string&)> made;  ///< new tensor, its variable
  std::vector<std::string>& lines;
  Vectors& vectors;        ///< of this scope
  bool is_needed = false;  ///< another call of this function needs the instruction's results
};

/// Writes the statements of one instruction other than a communication. Throws CannotShow.
void write_statement(const DataFlow& flow, std::size_t at, const std::vector<std::string>& words,
                     CallWriter& calls, const Scope& scope);

/// Returns "bench::release(a, b);" or "a = b = None".
[[nodiscard]] std::string release_text(const std::vector<std::string>& variables, Language language,
                                       const Vectors& vectors);

/// Returns true if a storage is large enough to be freed before its scope ends.
[[nodiscard]] bool is_worth_freeing(const et_schema::Storage& storage);

/// Returns "bench::communicate({.kind = …})" for a collective or a message. `tensor` returns a
/// slot's expression. Throws CannotShow.
[[nodiscard]] std::string communicate_text(
    const et_schema::Program& program, const et_schema::Instruction& instruction, Language language,
    const std::function<std::string(et_schema::SlotId)>& tensor);

/// Returns an expression that allocates a tensor for a communication to fill.
[[nodiscard]] std::string empty_text(const et_schema::Slot& layout, Language language);

}  // namespace understudy::emitter
