#pragma once

#include <string>

namespace understudy::cli {

/// Path of this program.
[[nodiscard]] std::string own_program();

/// Path of another program of ours: in a build all lie together; an installed package has `replay`
/// in its bin, the others in libexec/understudy, and above these what needs LibTorch. Empty where
/// it is not there.
[[nodiscard]] std::string find_sibling(const std::string& name);

}  // namespace understudy::cli
