#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/capture/capture.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// The descriptions of captures that lie among the files of an input, by their folder's name with a
/// slash, and the traces that they list.
class CaptureOrigins {
 public:
  /// Takes a file if it is a capture.json that can be read.
  void add(const std::string& name, std::string_view json);
  /// Sets Trace::capture of each: by the description in its own folder, else by one that lists it.
  void attach(std::vector<Trace>& traces) const;
  [[nodiscard]] bool has_folder_of(const std::string& file) const;

 private:
  std::map<std::string, Capture> by_folder_;
};

inline constexpr std::string_view kCaptureName = "capture.json";

/// "folder/" of "folder/file".
[[nodiscard]] std::string folder_of(const std::string& name);

}  // namespace understudy::et_schema
