#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// Throws Error (usage) if a file cannot be written there, before work is done for it: the folder
/// is missing or not writable, the place is a folder or a symbolic link, or it is one of the inputs
/// (or a file of an input folder that is no benchmark). `flag` names the option in the message.
void refuse_output(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& flag);

}  // namespace understudy::cli
