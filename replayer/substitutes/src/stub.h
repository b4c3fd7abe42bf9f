#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/program.h"
#include "replayer/substitutes/substitutes.h"

namespace understudy::replayer {

// A stub holds the place of work that cannot run here. What that means is defined in
// docs/metrics.md, "Stubs"; everything that is stubbed is made of these.

/// What a stub does that does nothing else of use.
inline constexpr std::string_view kPlainStub = "its inputs read, its outputs written";

/// What one does where nothing tells what was written.
inline constexpr std::string_view kReadingStub = "its inputs read; what it wrote is not known";

/// A stub of any operator, kernel or label: it reads every tensor among the arguments, writes the
/// results that are arguments in place, with the values they have, and makes the others, in the
/// recorded layout, with the values of their rule. The stack holds one entry for each of the
/// instruction's arguments. `by` says for the report what it does instead. Lasts as recorded.
[[nodiscard]] Substitute make_stub(const et_schema::Program& program,
                                   const et_schema::Instruction& instruction, c10::Device device,
                                   std::string by);

/// Makes an instruction's results: those that are arguments are rewritten in place, the others made
/// in the recorded layout with the values of their rule. Takes the stack and where on it the first
/// argument is.
using ResultMaker =
    std::function<std::vector<c10::IValue>(const torch::jit::Stack& stack, std::size_t first)>;
[[nodiscard]] ResultMaker result_maker(const et_schema::Program& program,
                                       const et_schema::Instruction& instruction,
                                       c10::Device device);

/// The time that the instruction's own work took in the original: on the device where it had one
/// and runs on the CPU now, else on the host. Nothing without a profile.
[[nodiscard]] std::optional<std::int64_t> recorded_work_ns(
    const et_schema::Instruction& instruction, c10::DeviceType device);

/// The same, each call of which keeps its thread busy until `duration_ns` after its start.
[[nodiscard]] Substitute lasting(Substitute substitute, std::int64_t duration_ns);

/// The same for the recorded time: of the host, and on a GPU of the device too, whose stream is
/// busy until what the call has issued, and its recorded time there, are over. As it is without a
/// profile.
[[nodiscard]] Substitute lasting_as_recorded(Substitute substitute,
                                             const et_schema::Instruction& instruction,
                                             c10::Device device);

/// Reads as many bytes as the tensor has elements for; of a sparse one its values.
void read_bytes(const at::Tensor& tensor);
/// Reads and writes them; the values stay.
void rewrite_bytes(const at::Tensor& tensor);

}  // namespace understudy::replayer
