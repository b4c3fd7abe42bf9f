#pragma once

#include <functional>
#include <string>

#include "et_schema/formats/pytorch_et/trace_files.h"

namespace understudy::et_schema {

// What read_bench says about damaged files, for the tests of refusals.

inline constexpr const char* kManifest = "manifest.json";
inline constexpr const char* kProgram = "programs/0.jsonl";

/// The text of the error that reading ends with, which is one of bad input; "no error" if none.
[[nodiscard]] std::string refusal_by(const std::function<void()>& read);
/// The same for these bytes.
[[nodiscard]] std::string refusal(const std::string& bytes, const ReadLimits& limits = {});

/// The same for the smallest benchmark with one change to its program, or to its manifest.
[[nodiscard]] std::string refused_program(const std::string& from, const std::string& to);
[[nodiscard]] std::string refused_manifest(const std::string& from, const std::string& to);

// Whole messages.
[[nodiscard]] std::string damaged(const std::string& field, const std::string& expected,
                                  const std::string& got);
[[nodiscard]] std::string unsound(const std::string& field, const std::string& expected,
                                  const std::string& got, const std::string& node = "");
[[nodiscard]] std::string unreadable(const std::string& field, const std::string& expected,
                                     const std::string& got);
[[nodiscard]] std::string misfit(const std::string& field, const std::string& expected,
                                 const std::string& got);

}  // namespace understudy::et_schema
