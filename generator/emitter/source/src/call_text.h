#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "argument_text.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// An operator as the trace tells of it, read as strictly as LibTorch reads schemas: what calls of
/// it may rely on.
struct Callable {
  std::string_view space;                            ///< "aten"
  std::string_view name;                             ///< "add"
  std::string_view overload;                         ///< "Tensor"; empty: the default one
  std::vector<et_schema::SchemaArgument> arguments;  ///< at least as many as were recorded
  std::size_t positional = 0;                        ///< so many stand before "*"
  std::vector<std::string> returns;                  ///< types without alias marks
};

/// Throws CannotShow if the schema is none, or does not fit the instruction's arguments and
/// results.
[[nodiscard]] Callable read_callable(const et_schema::Program& program,
                                     const et_schema::Instruction& instruction);

/// The schema without defaults and alias marks: "aten::add.Tensor(Tensor self, Tensor other, Scalar
/// alpha) -> Tensor".
[[nodiscard]] std::string schema_of(const Callable& callable);

/// "int[1]?" of "int(a!)[1]?".
[[nodiscard]] std::string plain_type(std::string_view type);

/// How a call's results come in Python; in C++ a call gives bench::Results.
enum class ResultShape : std::uint8_t {
  kNothing,
  kTensor,
  kTensors,  ///< one list
  kTuple     ///< several
};

struct CallText {
  std::string expression;
  ResultShape shape = ResultShape::kNothing;
};

/// An operator that is called by name.
struct Named {
  std::string schema;
  std::size_t positional = 0;  ///< arguments before "*"
  std::string row;  ///< the operator map's function, which does what it does; empty: none
  std::vector<int> row_arguments;  ///< by parameter of it the operator's argument; -1: None
};

/// What the calls of a file use beside LibTorch's types.
struct Calls {
  std::map<std::string, Named> named;  ///< by the name of the object that stands for it
  bool has_rows = false;               ///< calls functions of the operator map
};

/// Writes calls of operators: in C++ of objects that stand for their recorded schemas, in Python of
/// torch.ops.
class CallWriter {
 public:
  CallWriter(const et_schema::Program& program, Language language, DeviceText devices, Calls& calls)
      : program_(program), language_(language), devices_(devices), calls_(calls) {}

  /// Throws CannotShow.
  [[nodiscard]] CallText write(const et_schema::Instruction& instruction, const NextTensor& next,
                               const Vectors& vectors = {});

 private:
  using Arguments = std::vector<et_schema::Argument>;
  [[nodiscard]] std::string cpp_call(const Callable& callable, const Arguments& recorded,
                                     const NextTensor& next, const Vectors& vectors);
  [[nodiscard]] std::string python_call(const Callable& callable, const Arguments& recorded,
                                        const NextTensor& next, const Vectors& vectors);
  /// The object that stands for an operator that is called by name; new if none does yet.
  std::string object_of(const Callable& callable);

  const et_schema::Program& program_;
  Language language_;
  DeviceText devices_;
  Calls& calls_;
};

}  // namespace understudy::emitter
