#pragma once

#include <c10/core/Device.h>

#include <optional>
#include <string>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

/// The recorded schema of an operator; its bare name where none was recorded. Of a native
/// instruction it is the forward operator's.
[[nodiscard]] std::string schema_text(const et_schema::Program& program,
                                      const et_schema::Instruction& instruction);

/// The substitute of an operator or of a label that did work, or a stub of a kernel whose outputs
/// are known; stubs last as recorded.
[[nodiscard]] std::optional<Substitute> find_substitute(const et_schema::Program& program,
                                                        const et_schema::Instruction& instruction,
                                                        c10::Device device);

}  // namespace understudy::replayer
