#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/capture/capture.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// The descriptions of captures among the files of an input, by the name of their folder with a
/// slash, and the traces that they list.
class CaptureOrigins {
 public:
  /// Takes a file if it is a capture.json that can be read.
  void add(const std::string& name, std::string_view json);
  /// Sets Trace::capture of each trace by the description in its own folder, or else by one that
  /// lists the trace.
  void attach(std::vector<Trace>& traces) const;
  [[nodiscard]] bool has_folder_of(const std::string& file) const;

 private:
  std::map<std::string, Capture> by_folder_;
};

inline constexpr std::string_view kCaptureName = "capture.json";

/// "folder/" of "folder/file".
[[nodiscard]] std::string folder_of(const std::string& name);

}  // namespace understudy::et_schema
