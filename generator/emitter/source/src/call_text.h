#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

struct CallText {
  std::string expression;            ///< "aten.add.Tensor(t3, t4, alpha=1)"
  std::vector<std::string> returns;  ///< types without alias marks
};

/// Writes calls of operators, and declares at the top of a file those that it calls.
class CallWriter {
 public:
  CallWriter(const et_schema::Program& program, const DeviceText& devices)
      : program_(program), devices_(devices) {}

  /// Throws CannotShow if the schema cannot be parsed, or does not match the instruction's
  /// arguments and results.
  [[nodiscard]] CallText write(const et_schema::Instruction& instruction,
                               const Variables& variables);

  /// Returns the statements that give the written calls their names.
  [[nodiscard]] std::string declarations() const;

 private:
  struct Callable;
  [[nodiscard]] Callable read_callable(const et_schema::Instruction& instruction) const;
  /// Returns the text of an operator's object: "aten.add.Tensor".
  std::string declare(const Callable& callable);

  const et_schema::Program& program_;
  const DeviceText& devices_;
  std::set<std::string> operators_;                         ///< "aten::add.Tensor"
  std::map<std::string, std::string, std::less<>> spaces_;  ///< namespace → its variable
  std::map<std::string, std::string> rows_;  ///< operator → its function of the operator map
};

}  // namespace understudy::emitter
