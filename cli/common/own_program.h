#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// Path of this program.
[[nodiscard]] std::string own_program();

/// Path of another program or link of ours. In a build all lie together; an installed package has
/// `understudy` and `replay` in its bin, the links to the first in libexec/understudy. The path in
/// this program's folder if there is none.
[[nodiscard]] std::string sibling(const std::string& name);

/// Becomes `program`, with these arguments. Returns only if it cannot; errno says why.
void become_program(std::string program, std::vector<std::string> arguments);

}  // namespace understudy::cli
