#pragma once

#include <string>
#include <vector>

namespace understudy::cli {

/// Throws Error (usage) if a file cannot be written at `path`. To be called before the work.
/// Reasons: the folder is missing or not writable, the path is a folder or a symbolic link, or one
/// of the inputs (or a file of an input folder that is not a benchmark). `flag` names the option in
/// the message. An empty path is none.
void refuse_output(const std::string& path, const std::vector<std::string>& inputs,
                   const std::string& flag);

/// Throws Error (usage) if `what` ("the site") cannot be written to the folder, because it is a
/// file or holds other files. `is_earlier`: they are those of an earlier `what`, to be overwritten.
void refuse_folder(const std::string& folder, const std::string& flag, const std::string& what,
                   bool is_earlier, const std::string& expected);

/// An output file, and the option that names it.
struct NamedOutput {
  std::string path;  ///< empty: not written
  std::string flag;
};

/// Throws Error (usage) if two outputs are the same file: the last would overwrite the others.
void refuse_shared_outputs(const std::vector<NamedOutput>& outputs);

}  // namespace understudy::cli
