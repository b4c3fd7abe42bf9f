#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/device_time.h"

namespace understudy::emitter {

/// Instructions of one name that the source cannot express or cannot run on its own.
struct Missing {
  std::string name;
  std::string reason;
  std::uint64_t count = 0;
  std::optional<double> time_share;  ///< of the recorded time, over all ranks; unset without times
};

/// An emitted project, and its losses.
struct Project {
  std::map<std::string, std::string> files;  ///< path in the project → content
  std::vector<Missing> missing;              ///< in order of names
  std::vector<Missing> mapped;   ///< run by functions of the operator map, named in `reason`
  std::vector<Missing> foreign;  ///< called, but defined neither by LibTorch nor by the project
  et_schema::Account account;    ///< of the recorded time; carried: of what the source calls
  std::uint64_t operators = 0;   ///< over all ranks, missing ones included
};

/// Returns why a call of a program fails on LibTorch, if it was tried; else an empty text.
using WhyFailing =
    std::function<std::string(const et_schema::Program&, const et_schema::Instruction&)>;

/// Emits a self-contained project in Python that replays the benchmark as `replay --pace asap`
/// does: tensors with the same content, the same operators in the same order, memory freed at the
/// same places. Bodies replace calls that fail, as in a replay. `name` is the project's name.
[[nodiscard]] Project emit_project(const et_schema::Bench& bench, const std::string& name,
                                   const WhyFailing& why_failing = {});

}  // namespace understudy::emitter
