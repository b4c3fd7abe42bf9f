#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/formats/kineto/kineto.h"
#include "generator/link/link.h"
#include "trace_builder.h"

namespace understudy::generator {

using et_schema::KinetoCategory;
using et_schema::KinetoEvent;
using et_schema::Profile;

/// An event of thread 1; times in nanoseconds.
[[nodiscard]] et_schema::KinetoEvent event(
    const char* name, std::int64_t start, std::int64_t length,
    et_schema::KinetoCategory category = et_schema::KinetoCategory::kCpuOp);
/// A kernel.
[[nodiscard]] et_schema::KinetoEvent device_event(const char* name, std::int64_t correlation,
                                                  std::int64_t external_id);
[[nodiscard]] et_schema::KinetoEvent launch(std::int64_t start, std::int64_t correlation);
[[nodiscard]] et_schema::Profile profile_of(std::vector<et_schema::KinetoEvent> events);

/// A label around two operators; the first has one below it.
[[nodiscard]] test::TraceBuilder small_trace();
/// A step of it; `gap` is between the two operators.
[[nodiscard]] std::vector<et_schema::KinetoEvent> small_step(std::int64_t begin, std::int64_t gap);

inline const std::string kSamples = UNDERSTUDY_SAMPLES;
inline const std::string kProfiles = UNDERSTUDY_PROFILES;

[[nodiscard]] et_schema::Trace one_trace(const std::string& path);
[[nodiscard]] et_schema::Profile one_profile(const std::string& path);

/// Σ self time of the step's operators, communication apart.
[[nodiscard]] std::int64_t operators_ns(const Link& link);

}  // namespace understudy::generator
