#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/capture/capture.h"
#include "et_schema/model/trace.h"

namespace understudy::et_schema {

/// Collects the capture.json files of an input, one per folder, and attaches them to traces.
class CaptureOrigins {
 public:
  /// Adds a file if it is a valid capture.json; ignores all others.
  void add(const std::string& name, std::string_view json);
  /// Sets each trace's Trace::capture from the capture.json in its folder, else one that lists it.
  void attach(std::vector<Trace>& traces) const;
  [[nodiscard]] bool has_folder_of(const std::string& file) const;

 private:
  std::map<std::string, Capture> by_folder_;
};

inline constexpr std::string_view kCaptureName = "capture.json";

/// Returns "folder/" for "folder/file".
[[nodiscard]] std::string folder_of(const std::string& name);

/// Returns the rank of the file in the capture.json beside it, or nothing if none lists it. Throws
/// Error (bad input) as parse_capture() does.
[[nodiscard]] std::optional<CapturedRank> captured_rank(const std::string& file);

}  // namespace understudy::et_schema
