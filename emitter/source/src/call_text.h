#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "argument_text.h"
#include "callable.h"
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

/// What the calls of a file use beside LibTorch's types.
struct Calls {
  /// Operators that are called by name: the object's → the schema.
  std::map<std::string, std::string> boxed;
  std::set<std::string> functions;  ///< of at::
  bool has_optional_lists = false;
  bool has_fbgemm = false;  ///< calls its operators
};

/// Writes calls of operators: by their C++ functions if these have the recorded schema, else by
/// name.
class CallWriter {
 public:
  CallWriter(const et_schema::Program& program, Dialect dialect, DeviceText devices, Calls& calls);

  /// Throws CannotShow.
  [[nodiscard]] CallText write(const et_schema::Instruction& instruction, const NextTensor& next,
                               const Vectors& vectors = {});

 private:
  using Arguments = std::vector<et_schema::Argument>;
  [[nodiscard]] static Arguments arguments_of(const et_schema::Instruction& instruction,
                                              const Callable& callable);
  [[nodiscard]] std::string typed_call(const Callable& callable, const Arguments& recorded,
                                       const NextTensor& next, const Vectors& vectors);
  [[nodiscard]] std::string boxed_call(const Callable& callable, const Arguments& recorded,
                                       const NextTensor& next, const Vectors& vectors);
  [[nodiscard]] std::string python_call(const Callable& callable, const Arguments& recorded,
                                        const NextTensor& next, const Vectors& vectors) const;

  const et_schema::Program& program_;
  Dialect dialect_;
  DeviceText devices_;
  Calls& calls_;
};

}  // namespace understudy::emitter
