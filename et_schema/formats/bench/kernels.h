#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/base/zip.h"
#include "et_schema/model/compiled_kernel.h"
#include "et_schema/model/programs.h"

namespace understudy::et_schema {

inline constexpr const char* kKernelsName = "kernels.json";

/// The bytes of the machine code that kernels.json names; null where there are none.
using CodeOf = std::function<const std::string*(const std::string& name)>;

/// Reads kernels.json (docs/formats.md), of a benchmark or of scripts/compile_kernels. The result
/// is sorted by key. Throws Error (bad input): another format or version, a cubin that is
/// missing or does not read, two builds for one architecture,
/// parameters of a cubin that are other than the kernel's signature packs them.
[[nodiscard]] std::vector<CompiledKernel> parse_kernels(std::string_view json,
                                                        const std::string& file,
                                                        const CodeOf& code);

/// kernels.json and its machine code, each once, named by the hash of their bytes. None without
/// kernels.
[[nodiscard]] std::vector<ZipMember> kernel_members(const Programs& programs);

/// Gives a program those of `kernels`, which are sorted by key, that its instructions launch.
void attach_kernels(const std::vector<CompiledKernel>& kernels, Program& program);

}  // namespace understudy::et_schema
