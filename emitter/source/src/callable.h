#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/schema_text.h"

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

}  // namespace understudy::emitter
