#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// What holds the place of a C++ kernel of a compiled graph on a CPU: it reads the bytes of the
/// tensors that the kernel read, rewrites those that it wrote with what they hold, makes its
/// results, and then waits until the recorded time has passed. Values stay as they were, and those
/// of results are of their rule, so what follows stays healthy.
/// None for a kernel that ran on a device, whose place no CPU can hold, and for one whose recorded
/// arguments do not say what each of them is.
[[nodiscard]] std::optional<Substitute> find_kernel_stub(const et_schema::Program& program,
                                                         const et_schema::Instruction& instruction,
                                                         c10::Device device);

/// The time that the instruction's own work took in the original: on the device where it had one
/// and runs on the CPU now, else on the host. Nothing without a profile.
[[nodiscard]] std::optional<std::int64_t> recorded_work_ns(
    const et_schema::Instruction& instruction, c10::DeviceType device);

/// The same, each call of which keeps its thread busy for the recorded time: of the host, and on a
/// GPU of the device too, whose stream is busy until what the call has issued, and its recorded
/// time there, are over. As it is without a profile.
[[nodiscard]] Substitute lasting_as_recorded(Substitute substitute,
                                             const et_schema::Instruction& instruction,
                                             c10::Device device);

/// Reads as many bytes as the tensor has elements for; of a sparse one its values.
void read_bytes(const at::Tensor& tensor);
/// Reads and writes them; the values stay.
void rewrite_bytes(const at::Tensor& tensor);

}  // namespace understudy::replayer
