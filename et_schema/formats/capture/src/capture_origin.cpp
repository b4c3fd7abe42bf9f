#include "et_schema/formats/capture/capture_origin.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/read_file.h"

namespace understudy::et_schema {
namespace {

CaptureOrigin origin_of(const std::string& folder, const Capture& capture, const Trace& trace) {
  CaptureOrigin origin{
      folder + std::string(kCaptureName), capture.id, capture.world_size, {}, true};
  if (const CapturedRank* const listed = capture.rank_of(trace.file)) {
    origin.rank = listed->rank;
    origin.is_same_file = !listed->trace || *listed->trace == TraceMark{trace.pid, trace.start_ts};
  }
  return origin;
}

}  // namespace

std::string folder_of(const std::string& name) {
  return name.substr(0, name.find_last_of('/') + 1);
}

std::optional<CapturedRank> captured_rank(const std::string& file) {
  std::error_code error;
  const std::string path = folder_of(file) + std::string(kCaptureName);
  if (!std::filesystem::is_regular_file(path, error)) {
    return std::nullopt;
  }
  const std::string json = read_file(path, process_limits());
  const Capture capture = is_capture(json) ? parse_capture(json, path) : Capture();
  const CapturedRank* const found = capture.rank_of(file);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void CaptureOrigins::add(const std::string& name, std::string_view json) {
  const std::string folder = folder_of(name);
  if (name.substr(folder.size()) != kCaptureName || !is_capture(json)) {
    return;
  }
  try {
    by_folder_.insert_or_assign(folder, parse_capture(json, name));
  } catch (const Error&) {
    // Ignored here: code that needs the content reads the file again and reports the error.
  }
}

bool CaptureOrigins::has_folder_of(const std::string& file) const {
  return by_folder_.contains(folder_of(file));
}

void CaptureOrigins::attach(std::vector<Trace>& traces) const {
  for (Trace& trace : traces) {
    if (const auto own = by_folder_.find(folder_of(trace.file)); own != by_folder_.end()) {
      trace.capture = origin_of(own->first, own->second, trace);
      continue;
    }
    // A job on several hosts has one capture.json, on the host of rank 0.
    for (const auto& [folder, capture] : by_folder_) {
      CaptureOrigin origin = origin_of(folder, capture, trace);
      if (origin.rank && origin.is_same_file) {
        trace.capture = std::move(origin);
      }
    }
  }
}

}  // namespace understudy::et_schema
