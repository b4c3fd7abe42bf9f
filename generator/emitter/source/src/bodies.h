#pragma once

#include <optional>
#include <string_view>

#include "et_schema/facts/operator_map.h"
#include "et_schema/model/program.h"
#include "generator/emitter/source/emit.h"

namespace understudy::emitter {

/// Returns true if LibTorch registers the operator, so that a project finds it.
[[nodiscard]] bool is_found(std::string_view name);

/// Returns the row of the operator map for an operator that LibTorch lacks. Ignores rows that a
/// benchmark carries, because nobody has checked them.
[[nodiscard]] std::optional<et_schema::MappedCall> row_for(std::string_view schema);

/// Returns the program with recorded bodies in place of operators that LibTorch lacks or that fail,
/// if the body makes all of the operator's results.
[[nodiscard]] et_schema::Program with_bodies(const et_schema::Program& program,
                                             const WhyFailing& why_failing);

/// Returns true for operators that only return their argument in an emitted step.
[[nodiscard]] bool means_nothing(std::string_view name);

}  // namespace understudy::emitter
