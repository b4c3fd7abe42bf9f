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

/// Returns the machine code of a name in kernels.json; null if it does not exist.
using CodeOf = std::function<const std::string*(const std::string& name)>;

/// Reads kernels.json (docs/formats.md), of a benchmark or of kernel_compiler.py. The result
/// is sorted by key. Throws Error (bad input) if the format or version differs, a cubin is missing
/// or invalid, an architecture has two builds, or a cubin's parameters do not match the signature.
[[nodiscard]] std::vector<CompiledKernel> parse_kernels(std::string_view json,
                                                        const std::string& file,
                                                        const CodeOf& code);

/// Returns kernels.json and its machine code. Each cubin is stored once, named by the hash of its
/// bytes. Empty without kernels.
[[nodiscard]] std::vector<ZipMember> kernel_members(const Programs& programs);

/// Adds those kernels to a program that its instructions launch. `kernels` must be sorted by key.
void attach_kernels(const std::vector<CompiledKernel>& kernels, Program& program);

}  // namespace understudy::et_schema
