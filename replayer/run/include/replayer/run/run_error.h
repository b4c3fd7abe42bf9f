#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <string>

#include "et_schema/model/program.h"
#include "et_schema/support/error.h"
#include "replayer/bind/bound.h"

namespace understudy::replayer {

/// The first line of what an operator threw, without LibTorch's stack of C++ frames.
[[nodiscard]] std::string cause_of(const std::exception& exception);

/// Whether an exception says that memory ran out.
[[nodiscard]] bool is_out_of_memory(const std::exception& exception);

/// The error that ends a run: which node, which operator, what it was given, what it said.
[[nodiscard]] et_schema::Error step_error(const et_schema::Program& program, const Step& step,
                                          const std::exception& exception);

/// The error of an operator after which the device answers nothing any more.
[[nodiscard]] et_schema::Error lost_device_error(const et_schema::Program& program,
                                                 const Step& step, const std::exception& exception,
                                                 const std::string& device);

/// Waits for all that an iteration issued to the device. Throws Error (failed): an error that the
/// device tells of only now, when no operator can be named any more.
void finish_iteration(c10::Device device);

}  // namespace understudy::replayer
