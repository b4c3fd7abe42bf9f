#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "et_schema/program.h"

namespace understudy::replayer {

/// Where tensors go that were recorded on the CPU. What was recorded on an accelerator is on the
/// replay's device always.
enum class Place : std::uint8_t {
  kRecorded,  ///< they stay there
  kDevice     ///< they move to the replay's device
};

/// "recorded", "device"; none of other texts.
[[nodiscard]] std::optional<Place> parse_place(std::string_view text);
[[nodiscard]] std::string_view to_string(Place place);

/// True if anything of the program was recorded on an accelerator.
[[nodiscard]] bool uses_accelerator(const et_schema::Program& program);

/// The place of a replay on `device`: as asked; not asked, a program that was recorded on the CPU
/// alone moves. Throws Error (usage) where nothing would run on the device that was asked for.
[[nodiscard]] Place choose_place(const et_schema::Program& program, c10::Device device,
                                 std::optional<Place> asked);

/// The program as if it had been recorded on an accelerator: tensors and device arguments. On the
/// CPU stay Python's numbers, and what operators take there alone (kHostArguments).
[[nodiscard]] et_schema::Program move_to_device(et_schema::Program program);

}  // namespace understudy::replayer
