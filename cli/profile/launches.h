#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"

namespace understudy::cli {

/// What an operator launched on a device in a step that did not run.
struct Launch {
  std::string launcher;    ///< the operator; empty: none was open
  std::string phase = {};  ///< "forward", "backward", "optimizer"; empty: not known
  std::string name;        ///< of a kernel, copy or fill; a library's call with its sizes
  std::string grid = {}, block = {};
  std::int64_t registers = 0;     ///< of a thread; 0: the launch is no kernel's
  std::int64_t shared_bytes = 0;  ///< of a block
  bool is_call = false;           ///< a library's call: which of its kernels it takes is not known
  auto operator<=>(const Launch&) const = default;
};

/// Returns what the steps of a profile launched, in order of launch. The profile must be read with
/// KinetoDetail::kShapes.
[[nodiscard]] std::vector<Launch> launches_of(const et_schema::Profile& profile);

/// Returns {launcher, phase, grid, block, registers, shared_bytes, name}: what is known of it.
[[nodiscard]] nlohmann::ordered_json json_of(const Launch& launch);

}  // namespace understudy::cli
