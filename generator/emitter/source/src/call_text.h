#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "argument_text.h"
#include "et_schema/facts/schema_text.h"
#include "et_schema/model/program.h"

namespace understudy::emitter {

/// An operator's schema, parsed as strictly as LibTorch parses it, so that calls may rely on it.
struct Callable {
  std::string_view space;                            ///< "aten"
  std::string_view name;                             ///< "add"
  std::string_view overload;                         ///< "Tensor"; empty: the default one
  std::vector<et_schema::SchemaArgument> arguments;  ///< at least as many as were recorded
  std::size_t positional = 0;                        ///< number of arguments before "*"
  std::vector<std::string> returns;                  ///< types without alias marks
};

/// Throws CannotShow if the schema cannot be parsed, or does not match the instruction's arguments
/// and results.
[[nodiscard]] Callable read_callable(const et_schema::Program& program,
                                     const et_schema::Instruction& instruction);

/// Returns the schema without defaults and alias marks: "aten::add.Tensor(Tensor self, Tensor
/// other, Scalar alpha) -> Tensor".
[[nodiscard]] std::string schema_of(const Callable& callable);

/// Returns "int[1]?" for "int(a!)[1]?".
[[nodiscard]] std::string plain_type(std::string_view type);

/// The type of a call's results.
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
  /// Equivalent function of the operator map; empty: none.
  std::string row;
  /// By parameter of that function: the operator's argument, or -1 for None.
  std::vector<int> row_arguments;
};

/// Operators that are called by name, by the names of their objects.
using Calls = std::map<std::string, Named>;

/// Writes calls of operators: of the dispatcher's, by their full names.
class CallWriter {
 public:
  CallWriter(const et_schema::Program& program, DeviceText devices, Calls& calls)
      : program_(program), devices_(devices), calls_(calls) {}

  /// Throws CannotShow.
  [[nodiscard]] CallText write(const et_schema::Instruction& instruction, const NextTensor& next,
                               const Vectors& vectors = {});

 private:
  using Arguments = std::vector<et_schema::Argument>;
  [[nodiscard]] std::string call_text(const Callable& callable, const Arguments& recorded,
                                      const NextTensor& next, const Vectors& vectors);
  /// Returns the object of an operator that is called by name. Adds the object if it is new.
  std::string object_of(const Callable& callable);

  const et_schema::Program& program_;
  DeviceText devices_;
  Calls& calls_;
};

}  // namespace understudy::emitter
