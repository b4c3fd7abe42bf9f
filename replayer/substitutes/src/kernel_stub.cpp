#include "kernel_stub.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "et_schema/model/compiled_kernel.h"
#include "stub.h"
#include "substitute_native.h"

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using torch::jit::Stack;

/// By argument, whether the kernel wrote it: the roles stand behind the arguments. None where no
/// text says so for exactly the arguments before it.
std::optional<std::vector<bool>> find_written(const std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* text = std::get_if<std::string>(&arguments[i].value);
    if (text == nullptr) {
      continue;
    }
    const auto roles = et_schema::kernel_roles(*text, i);
    if (!roles) {
      return std::nullopt;
    }
    std::vector<bool> written;
    for (const std::string_view role : *roles) {
      written.push_back(role == "w" || role == "rw");
    }
    return written;
  }
  return std::nullopt;
}

/// Memory that was allocated for the kernel is no tensor among its arguments.
void touch_arguments(const Stack& stack, std::size_t first, const std::vector<bool>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (stack[first + i].isTensor()) {
      const at::Tensor& tensor = stack[first + i].toTensor();
      written[i] ? rewrite_bytes(tensor) : read_bytes(tensor);
    }
  }
}

}  // namespace

std::optional<Substitute> find_kernel_stub(const et_schema::Program& program,
                                           const Instruction& instruction, c10::Device device) {
  const std::optional<std::vector<bool>> written = find_written(instruction.args);
  if (!written) {
    return std::nullopt;
  }
  auto run = [written = *written, make = result_maker(program, instruction, device)](
                 const Stack& stack, std::size_t first) {
    touch_arguments(stack, first, written);
    return make(stack, first);
  };
  Substitute stub{.by = instruction.timing
                            ? "a stub: it moves the same bytes and takes the recorded time"
                            : "a stub: it moves the same bytes; no time is recorded",
                  .rung = Rung::kStubbed,
                  .call = on_stack(instruction.args.size(), std::move(run))};
  return lasting_as_recorded(std::move(stub), instruction, device);
}

}  // namespace understudy::replayer
