#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// Returns the first line of an operator's exception, without LibTorch's C++ stack.
[[nodiscard]] std::string cause_of(const std::exception& exception);

/// Returns true if the exception reports exhausted memory.
[[nodiscard]] bool is_out_of_memory(const std::exception& exception);

/// Returns the error that ends a run, with the node, the operator, its arguments and its message.
[[nodiscard]] et_schema::Error step_error(const et_schema::Program& program, const Step& step,
                                          const std::exception& exception);

/// Returns the error for an operator after which the device no longer responds.
[[nodiscard]] et_schema::Error lost_device_error(const et_schema::Program& program,
                                                 const Step& step, const std::exception& exception,
                                                 const std::string& device);

/// Waits for all work of an iteration. Throws Error (failed) if the device reports an error only
/// then; the operator that failed is unknown.
void finish_iteration(c10::Device device);

}  // namespace understudy::replayer
