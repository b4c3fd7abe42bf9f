#pragma once

#include <string>
#include <variant>

#include "et_schema/model/compiled_kernel.h"

namespace understudy::replayer {

/// A C++ kernel of a compiled graph: it takes a pointer to each argument's bytes, and throws what
/// its source throws.
using LibraryKernel = void (*)(void** arguments);

/// The kernel, from the library that the benchmark holds, which is loaded once and stays loaded: it
/// may do whatever this process may (docs/trust.md). Else a sentence why there is none: a processor
/// that lacks what it was compiled for, or a library that does not load.
[[nodiscard]] std::variant<LibraryKernel, std::string> load_library_kernel(
    const et_schema::LibraryBuild& build);

}  // namespace understudy::replayer
