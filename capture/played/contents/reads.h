#pragma once

#include <cstdint>
#include <optional>

#include "capture/played/contents/operators.h"

namespace understudy::contents {

/// An operator that runs on this thread, for who asks what is read there.
struct Reader {
  const Operator* called = nullptr;
  Reader* parent = nullptr;
  std::optional<std::int64_t> answer;  ///< the number that it will read: a size that kernels count
};

/// The innermost operator of this thread.
Reader*& innermost();

/// What an operator does with a number of the host that was never computed: it must not decide.
void check_decision(const Reader& reader);

/// Answers the driver from now on.
void answer_reads();

}  // namespace understudy::contents
