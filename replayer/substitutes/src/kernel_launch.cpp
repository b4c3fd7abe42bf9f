#include "kernel_launch.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/TypeCast.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "et_schema/model/slot_extent.h"
#include "replayer/device/device_kernel.h"
#include "replayer/dispatch/layout.h"
#include "substitute_native.h"

namespace understudy::replayer {
namespace {

using et_schema::CompiledKernel;
using et_schema::KernelBuild;
using torch::jit::Stack;

// Two texts follow a kernel's arguments: their roles, and the launch.
constexpr std::size_t kTexts = 2;

/// A kernel's code for one device, and the scratch memory that a launch needs.
struct Code {
  /// Receives a pointer to each parameter's bytes, followed by those of the scratch memory.
  std::function<void(void**)> issue;
  std::string name;
  std::int64_t scratch_bytes = 0;  ///< for the whole grid
  std::int64_t profile_scratch_bytes = 0;
};

/// The parts of a launch that are the same for each call.
struct Launch {
  Code code;
  std::vector<std::string> parameters;  ///< types of the parameters
  std::vector<Slot> made;  ///< layouts of the allocated memory, in the arguments' order
  c10::Device device;
};

/// The bytes of each parameter, stored in eight bytes each.
class Parameters {
 public:
  explicit Parameters(std::size_t count) { values_.reserve(count); }

  void add_pointer(const void* pointer) { add_bytes(pointer); }

  void add_number(const std::string& type, const c10::IValue& value) {
    TORCH_CHECK(value.isInt() || value.isDouble() || value.isBool(), "a parameter ", type,
                " of a kernel was recorded as ", value.tagKind());
    const bool is_float = type.starts_with("fp") || type.starts_with("bf") || type == "f32";
    const double number = value.isDouble() ? value.toDouble()
                          : value.isInt()  ? static_cast<double>(value.toInt())
                                           : static_cast<double>(value.toBool());
    if (!is_float) {
      add_bytes(value.isInt()    ? value.toInt()
                : value.isBool() ? static_cast<std::int64_t>(value.toBool())
                                 : static_cast<std::int64_t>(value.toDouble()));
    } else if (type == "fp64") {
      add_bytes(number);
    } else if (type == "fp16") {
      add_bytes(c10::convert<c10::Half>(static_cast<float>(number)).x);
    } else if (type == "bf16") {
      add_bytes(c10::BFloat16(static_cast<float>(number)).x);
    } else {
      add_bytes(static_cast<float>(number));
    }
  }

  /// Returns the launch's arguments: a pointer to each parameter.
  [[nodiscard]] std::vector<void*> pointers() {
    std::vector<void*> all;
    for (std::uint64_t& value : values_) {
      all.push_back(&value);
    }
    return all;
  }

 private:
  /// All machines with such a GPU are little-endian.
  template <typename Value>
  void add_bytes(Value value) {
    std::memcpy(&values_.emplace_back(0), &value, sizeof(value));
  }

  std::vector<std::uint64_t> values_;
};

at::Tensor made_as(const Slot& layout, c10::Device device) {
  const at::TensorOptions options =
      at::TensorOptions().dtype(to_scalar_type(layout.dtype)).device(device);
  return at::empty({et_schema::extent_elements(layout)}, options)
      .as_strided(layout.sizes, layout.strides, layout.offset);
}

/// Allocates memory that may be freed once the launch is issued: the stream's order protects it
/// until the kernel is done.
at::Tensor scratch(std::int64_t bytes, c10::Device device) {
  return bytes == 0 ? at::Tensor()
                    : at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device));
}

std::vector<c10::IValue> run(const Launch& launch, const Stack& stack, std::size_t first) {
  std::vector<c10::IValue> results;
  Parameters parameters(launch.parameters.size() + 2);
  for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
    const c10::IValue& value = stack[first + i];
    if (!launch.parameters[i].starts_with('*')) {
      parameters.add_number(launch.parameters[i], value);
      continue;
    }
    TORCH_CHECK(value.isTensor() || value.isNone(), "a pointer of a kernel was recorded as ",
                value.tagKind());
    at::Tensor tensor = value.isTensor() ? value.toTensor() : at::Tensor();
    if (value.isTensor() && !tensor.defined()) {
      tensor = made_as(launch.made.at(results.size()), launch.device);
      results.emplace_back(tensor);
    }
    TORCH_CHECK(!tensor.defined() || tensor.device() == launch.device,
                "a tensor of a kernel is on ", tensor.device(), " and not on ", launch.device);
    parameters.add_pointer(tensor.defined() ? tensor.data_ptr() : nullptr);
  }
  const at::Tensor memory = scratch(launch.code.scratch_bytes, launch.device);
  const at::Tensor profile_memory = scratch(launch.code.profile_scratch_bytes, launch.device);
  parameters.add_pointer(memory.defined() ? memory.data_ptr() : nullptr);
  parameters.add_pointer(profile_memory.defined() ? profile_memory.data_ptr() : nullptr);
  launch.code.issue(parameters.pointers().data());
  return results;
}

/// Returns the layouts of the memory that was allocated for the kernel. Its undefined arguments, in
/// order, are its results; returns nothing if they do not match.
std::optional<std::vector<Slot>> made_for(const et_schema::Program& program,
                                          const Instruction& instruction) {
  std::vector<Slot> made;
  for (const Argument& result : instruction.results) {
    const auto* slot = std::get_if<Argument::SlotRef>(&result.value);
    if (slot == nullptr) {
      return std::nullopt;
    }
    made.push_back(program.slots[slot->id]);
  }
  const auto undefined = std::ranges::count_if(instruction.args, [](const Argument& argument) {
    return std::holds_alternative<Argument::Undefined>(argument.value);
  });
  return made.size() == static_cast<std::size_t>(undefined) ? std::optional(std::move(made))
                                                            : std::nullopt;
}

std::string no_build(const CompiledKernel& kernel, int architecture) {
  std::vector<std::string> there;
  for (const KernelBuild& build : kernel.builds) {
    there.push_back(fmt::format("sm_{}", build.architecture));
  }
  return fmt::format("its machine code is for {}, and this GPU is sm_{}", fmt::join(there, ", "),
                     architecture);
}

/// Returns the code for a GPU, or a sentence that says why the GPU cannot launch it.
std::variant<Code, std::string> code_on_gpu(const CompiledKernel& kernel,
                                            const std::array<std::int64_t, 3>& grid,
                                            c10::Device device) {
  const std::optional<int> architecture = device_architecture(device);
  if (!architecture) {
    return "CUDA's driver does not tell the GPU's compute capability";
  }
  const KernelBuild* build = et_schema::find_build(kernel, *architecture);
  if (build == nullptr) {
    return no_build(kernel, *architecture);
  }
  std::variant<DeviceKernel, std::string> loaded = DeviceKernel::load(*build, device);
  if (const auto* why = std::get_if<std::string>(&loaded)) {
    return *why;
  }
  const std::int64_t blocks = grid[0] * grid[1] * grid[2] * build->cluster_blocks;
  return Code{[launched = std::get<DeviceKernel>(std::move(loaded)), grid](void** parameters) {
                launched.launch(grid, parameters);
              },
              fmt::format("its machine code for sm_{}", build->architecture),
              build->scratch_bytes * blocks, build->profile_scratch_bytes * blocks};
}

}  // namespace

std::variant<Substitute, std::string> find_kernel_launch(const et_schema::Program& program,
                                                         const Instruction& instruction,
                                                         c10::Device device) {
  const auto recorded = et_schema::launch_of(instruction);
  const auto kernel = recorded
                          ? std::ranges::find(program.kernels, recorded->key, &CompiledKernel::key)
                          : program.kernels.end();
  if (kernel == program.kernels.end() || kernel->builds.empty() || !device.is_cuda()) {
    return "";
  }
  if (instruction.args.size() != kernel->parameters.size() + kTexts) {
    return fmt::format("{} arguments were recorded for its {} parameters",
                       instruction.args.size() - std::min(instruction.args.size(), kTexts),
                       kernel->parameters.size());
  }
  std::optional<std::vector<Slot>> made = made_for(program, instruction);
  if (!made) {
    return "it cannot be told which of its arguments are what was allocated for it";
  }
  std::variant<Code, std::string> found = code_on_gpu(*kernel, recorded->grid, device);
  if (const auto* why = std::get_if<std::string>(&found)) {
    return *why;
  }
  auto launch = std::make_shared<const Launch>(
      Launch{std::get<Code>(std::move(found)), kernel->parameters, *std::move(made), device});
  return Substitute{
      .by = launch->code.name,
      .rung = Rung::kSubstituted,
      .call = on_stack(instruction.args.size(), [launch](const Stack& stack, std::size_t first) {
        return run(*launch, stack, first);
      })};
}

}  // namespace understudy::replayer
