#pragma once

#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Throws Error (bad input): brackets nested deeper than kMaxJsonDepth.
[[noreturn]] void fail_too_deep();

/// Refuses, by the first bytes of a file alone, what is nested too deep. Bytes that are no text are
/// left to others.
void refuse_deep_start(std::string_view start);
/// The same of a file or an archive's member, which the error names. Chakra's is left to its
/// reader.
void refuse_deep_start(const std::string& name, std::string_view start);

}  // namespace understudy::et_schema
