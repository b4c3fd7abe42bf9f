#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// Throws Error (usage) if a file cannot be written there, before work is done for it: the folder
/// is missing or not writable, the place is a folder or a symbolic link, or it is one of the inputs
/// (or a file of an input folder that is no benchmark). `flag` names the option in the message.
void refuse_output(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& flag);

/// A file that is to be written, and the option that names it.
struct NamedOutput {
  std::string path;  ///< empty: none is written
  std::string flag;
};

/// Throws Error (usage) if two outputs are one file, of which only the last would be left.
void refuse_shared_outputs(const std::vector<NamedOutput>& outputs);

}  // namespace understudy::cli
