#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/model/program.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// The first line of an operator's exception, without LibTorch's stack of C++ frames.
[[nodiscard]] std::string cause_of(const std::exception& exception);

/// Whether an exception says that memory ran out.
[[nodiscard]] bool is_out_of_memory(const std::exception& exception);

/// The error that ends a run: the node, the operator, its arguments, and its message.
[[nodiscard]] et_schema::Error step_error(const et_schema::Program& program, const Step& step,
                                          const std::exception& exception);

/// The error of an operator after which the device does not answer any more.
[[nodiscard]] et_schema::Error lost_device_error(const et_schema::Program& program,
                                                 const Step& step, const std::exception& exception,
                                                 const std::string& device);

/// Waits for all that an iteration issued to the device. Throws Error (failed) for an error that
/// the device reports only now, when it is unknown which operator failed.
void finish_iteration(c10::Device device);

}  // namespace understudy::replayer
