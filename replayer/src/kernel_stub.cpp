#include "kernel_stub.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace understudy::replayer {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using torch::jit::Stack;

constexpr std::size_t kBufferBytes = 4096;

/// Keeps the compiler from leaving a copy out.
void touch(const void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

/// From the tensor's first element to the end of its last one; none where that cannot be told.
std::size_t span_bytes(const at::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return 0;
  }
  std::size_t elements = 1;
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    elements +=
        static_cast<std::size_t>(tensor.size(i) - 1) * static_cast<std::size_t>(tensor.stride(i));
  }
  return elements * static_cast<std::size_t>(tensor.element_size());
}

void move_bytes(const at::Tensor& tensor, bool writes) {
  if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.has_storage() ||
      tensor.layout() != at::kStrided) {
    return;
  }
  auto* bytes = static_cast<char*>(tensor.data_ptr());
  std::array<char, kBufferBytes> buffer;
  for (std::size_t left = span_bytes(tensor); left > 0;) {
    const std::size_t size = std::min(left, kBufferBytes);
    std::memcpy(buffer.data(), bytes, size);
    touch(buffer.data());
    if (writes) {
      std::memcpy(bytes, buffer.data(), size);
      touch(bytes);
    }
    bytes += size;
    left -= size;
  }
}

/// By argument, whether the kernel wrote it: the roles stand behind the arguments. None where no
/// text says so for exactly the arguments before it.
std::optional<std::vector<bool>> find_written(const std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* text = std::get_if<std::string>(&arguments[i].value);
    if (text == nullptr) {
      continue;
    }
    std::vector<bool> written;
    std::istringstream words(*text);
    for (std::string word; words >> word;) {
      written.push_back(word == "w" || word == "rw");
    }
    return written.size() == i ? std::optional(std::move(written)) : std::nullopt;
  }
  return std::nullopt;
}

void stand_in(Stack& stack, std::size_t arguments, const std::vector<bool>& written,
              std::chrono::nanoseconds recorded) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t first = stack.size() - arguments;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (stack[first + i].isTensor()) {
      move_bytes(stack[first + i].toTensor(), written[i]);
    }
  }
  torch::jit::drop(stack, arguments);
  while (std::chrono::steady_clock::now() - begin < recorded) {
    // As the kernel did, it holds the core.
  }
}

}  // namespace

std::optional<Equivalent> find_kernel_stub(const Instruction& instruction, c10::DeviceType device) {
  const bool ran_on_device = instruction.timing && instruction.timing->device_ns > 0;
  std::optional<std::vector<bool>> written = find_written(instruction.args);
  if (device != c10::DeviceType::CPU || ran_on_device || !written || !instruction.results.empty()) {
    return std::nullopt;
  }
  const std::chrono::nanoseconds recorded(instruction.timing ? instruction.timing->host_ns : 0);
  auto call = [count = instruction.args.size(), written = *std::move(written),
               recorded](Stack& stack) { stand_in(stack, count, written, recorded); };
  return Equivalent{.by = instruction.timing
                              ? "a stub: it moves the same bytes and takes the recorded time"
                              : "a stub: it moves the same bytes; no time is recorded",
                    .rung = Rung::kStubbed,
                    .call = std::move(call)};
}

}  // namespace understudy::replayer
