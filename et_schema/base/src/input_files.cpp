#include "et_schema/base/input_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/trace_start.h"
#include "et_schema/base/unpack.h"

namespace understudy::et_schema {
namespace {

namespace fs = std::filesystem;

Error cannot_read(const std::string& path, std::string got) {
  return bad_input(
      "a file that cannot be read",
      {.file = path, .expected = "a file or folder that can be read", .got = std::move(got)});
}

/// Reads the first bytes of a file, which show its format.
std::string read_start(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string start(kSniffBytes, '\0');
  if (!stream ||
      (!stream.read(start.data(), static_cast<std::streamsize>(start.size())) && stream.bad())) {
    throw cannot_read(path, std::strerror(errno));
  }
  start.resize(static_cast<std::size_t>(stream.gcount()));
  return start;
}

std::string read_plain(const std::string& path, UnpackBudget& budget) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) {
    throw cannot_read(path, error.message());
  }
  budget.add(path, size, size, {});
  std::ifstream stream(path, std::ios::binary);
  std::string data(size, '\0');
  if (!stream.read(data.data(), static_cast<std::streamsize>(size)) && stream.bad()) {
    throw cannot_read(path, std::strerror(errno));
  }
  data.resize(static_cast<std::size_t>(stream.gcount()));
  return data;
}

void read_one_file(const std::string& path, UnpackBudget& budget,
                   const std::function<void(InputFile&&)>& consume) {
  check_file_name(path);
  const std::string start = read_start(path);
  refuse_other_file(path, start);
  if (find_packing(start) != Packing::kPlain) {
    unpack({.name = path, .path = path, .memory = {}}, budget, consume);
    return;
  }
  consume({.name = path, .data = read_plain(path, budget)});
}

bool is_named_json(const std::string& path) {
  return path.ends_with(".json") || path.ends_with(".json.gz");
}

/// Returns true if a file in a folder must be read: JSON (by name or content), a trace in another
/// format, or a gzipped file.
bool is_candidate(const std::string& path) {
  const std::string start = read_start(path);
  if (starts_as_trace(start) && is_other_file(start, path)) {
    return false;  // another tool's JSON
  }
  return is_named_json(path) || find_packing(start) == Packing::kGzip || starts_as_trace(start);
}

void read_folder(const std::string& path, UnpackBudget& budget,
                 const std::function<void(InputFile&&)>& consume) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code type_error;
    if (entry->is_regular_file(type_error) && !entry->path().filename().string().starts_with('.')) {
      names.push_back(entry->path().string());
    }
  }
  if (error) {
    throw cannot_read(path, error.message());
  }
  std::sort(names.begin(), names.end());
  std::vector<std::string> traces;
  std::ranges::copy_if(names, std::back_inserter(traces), is_candidate);
  for (const std::string& name : traces) {
    read_one_file(name, budget, consume);
  }
  for (std::size_t i = 0; traces.empty() && i < names.size(); ++i) {
    refuse_other_file(names[i], read_start(names[i]));  // says what the folder holds instead
  }
}

}  // namespace

void read_input_files(const std::string& path, UnpackBudget& budget,
                      const std::function<void(InputFile&&)>& consume) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    throw cannot_read(path, "no such file or folder");
  }
  if (error) {
    throw cannot_read(path, error.message());
  }
  if (fs::is_directory(status)) {
    read_folder(path, budget, consume);
  } else {
    read_one_file(path, budget, consume);
  }
}

void read_input_files(const std::string& path, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume) {
  UnpackBudget budget(limits);
  read_input_files(path, budget, consume);
}

void read_input_bytes(std::string_view bytes, const std::string& name, const ReadLimits& limits,
                      const std::function<void(InputFile&&)>& consume) {
  UnpackBudget budget(limits);
  refuse_other_file(name, bytes.substr(0, kSniffBytes));
  if (find_packing(bytes) != Packing::kPlain) {
    unpack({.name = name, .path = {}, .memory = bytes}, budget, consume);
    return;
  }
  budget.add(name, bytes.size(), bytes.size(), {});
  consume({.name = name, .data = std::string(bytes)});
}

}  // namespace understudy::et_schema
