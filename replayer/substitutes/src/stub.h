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

// A stub replaces work that cannot run here (docs/metrics.md, "Stubs"). All stubs are made by these
// functions.

/// Description of a stub with known outputs.
inline constexpr std::string_view kPlainStub = "its inputs read, its outputs written";

/// Description of a stub if the written tensors are unknown.
inline constexpr std::string_view kReadingStub = "its inputs read; what it wrote is not known";

/// Makes a stub of any operator, kernel or label. It reads every tensor among the arguments. It
/// rewrites results that are arguments in place, with the values they have, and makes the others in
/// the recorded layout, with the values of their rule. The stack holds one entry for each of the
/// instruction's arguments. `by` describes the stub in the report. Lasts as recorded.
[[nodiscard]] Substitute make_stub(const et_schema::Program& program,
                                   const et_schema::Instruction& instruction, c10::Device device,
                                   std::string by);

/// Returns a stub of a compiled graph's kernel. The stub reads the tensors that the kernel read,
/// rewrites those that it wrote with the values they have, makes the results with the values of
/// their rules, and lasts as recorded. So later computation stays healthy. Returns nothing if the
/// roles of the arguments were not recorded (et_schema::kernel_roles).
[[nodiscard]] std::optional<Substitute> find_kernel_stub(const et_schema::Program& program,
                                                         const et_schema::Instruction& instruction,
                                                         c10::Device device);

/// Returns the time of the instruction's own work in the original: on the device if it had device
/// time and now runs on the CPU, else on the host. Returns nothing without a profile.
[[nodiscard]] std::optional<std::int64_t> recorded_work_ns(
    const et_schema::Instruction& instruction, c10::DeviceType device);

/// Returns the substitute with calls that last the recorded time. A call keeps its thread busy for
/// the recorded host time. On a GPU its stream is busy until the work issued by the call, and the
/// recorded device time, are over. Without a profile the substitute is returned unchanged.
[[nodiscard]] Substitute lasting_as_recorded(Substitute substitute,
                                             const et_schema::Instruction& instruction,
                                             c10::Device device);

/// Reads the tensor's bytes, without repeated elements; for a sparse tensor, those of its values.
void read_bytes(const at::Tensor& tensor);
/// Reads and writes the tensor's bytes; the values do not change.
void rewrite_bytes(const at::Tensor& tensor);

}  // namespace understudy::replayer
