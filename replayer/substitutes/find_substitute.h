#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// Returns the recorded schema of an operator, or its bare name if none was recorded. For a native
/// instruction, returns the forward operator's.
[[nodiscard]] std::string schema_text(const et_schema::Program& program,
                                      const et_schema::Instruction& instruction);

/// Returns the substitute of an operator or of a label that did work, or a stub of a kernel whose
/// outputs are known. Stubs last as recorded.
[[nodiscard]] std::optional<Substitute> find_substitute(const et_schema::Program& program,
                                                        const et_schema::Instruction& instruction,
                                                        c10::Device device);

}  // namespace understudy::replayer
