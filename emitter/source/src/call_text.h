#pragma once

#include <map>
#include <string>
#include <vector>

#include "argument_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// How a call's results come.
enum class ResultShape : std::uint8_t {
  kNothing,
  kTensor,
  kTensors,  ///< one list
  kTuple,    ///< several tensors: a std::tuple, Python's tuple
  kBoxed     ///< bench::Results, by position
};

struct CallText {
  std::string expression;
  ResultShape shape = ResultShape::kNothing;
  bool is_boxed = false;
};

/// Operators that are called by the schema that the trace recorded: name of the object → schema.
using BoxedOperators = std::map<std::string, std::string>;

/// Writes calls of operators. `typed`: LibTorch's own operators are called by their C++ functions;
/// for traces whose schemas may be older than today's it is false.
class CallWriter {
 public:
  CallWriter(const et_schema::Program& program, Dialect dialect, bool typed, DeviceText devices,
             BoxedOperators& boxed);

  /// Throws CannotShow.
  [[nodiscard]] CallText write(const et_schema::Instruction& instruction, const NextTensor& next);

 private:
  [[nodiscard]] std::string typed_call(const et_schema::Instruction& instruction,
                                       const std::string& name, const NextTensor& next) const;
  [[nodiscard]] std::string boxed_call(const et_schema::Instruction& instruction,
                                       const std::string& schema, const NextTensor& next);
  [[nodiscard]] std::string python_call(const et_schema::Instruction& instruction,
                                        const std::string& schema, const NextTensor& next) const;
  [[nodiscard]] std::vector<et_schema::Argument> arguments_of(
      const et_schema::Instruction& instruction) const;

  const et_schema::Program& program_;
  Dialect dialect_;
  bool typed_;
  DeviceText devices_;
  BoxedOperators& boxed_;
};

}  // namespace understudy::emitter
