#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Throws Error (bad input) about brackets nested deeper than kMaxJsonDepth.
[[noreturn]] void fail_too_deep();

/// Throws if the first bytes of a file are JSON that is nested too deep. Bytes that are not text
/// pass.
void refuse_deep_start(std::string_view start);
/// The same for a file or an archive's member, which the error names. A trace that is not JSON
/// passes.
void refuse_deep_start(const std::string& name, std::string_view start);

}  // namespace understudy::et_schema
