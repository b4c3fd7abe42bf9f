#include "fleet/objects/object_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "et_schema/base/cannot_write.h"
#include "et_schema/base/digest.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/quote.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFolderDigits = 2;
constexpr std::string_view kObjects = "objects";
constexpr std::string_view kWork = "work";
constexpr std::string_view kMark = "understudy-store";

[[noreturn]] void fail(const fs::path& path, const std::string& got) {
  throw et_schema::cannot_write(
      "the store cannot be written",
      {.file = path.string(), .got = got, .hint = "see that the disk has room and can be written"});
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    fail(path, error.message());
  }
}

/// Visits all entries below a folder. Another process may remove entries meanwhile.
template <typename Visit>
void for_each_entry(const fs::path& folder, Visit visit) {
  std::error_code error;
  for (fs::recursive_directory_iterator place(folder, error), end; !error && place != end;
       place.increment(error)) {
    visit(*place);
  }
}

double seconds_of(const timespec& time) {
  constexpr double kNano = 1e-9;
  return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

double seconds_of_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return seconds_of(now);
}

bool is_link(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(path, error);
}

/// Returns the id of the fleet that owns the store; empty if the folder is no store.
std::string fleet_of(const fs::path& folder) {
  std::error_code error;
  std::string id;
  if (fs::is_regular_file(folder / kMark, error) && !is_link(folder / kObjects) &&
      !is_link(folder / kWork)) {
    std::ifstream file(folder / kMark);
    std::getline(file, id);
  }
  return id;
}

/// Returns true for files of killed writers; see write_file_atomically().
bool is_half_written(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') && name.find(".part-") != std::string::npos;
}

}  // namespace

void ObjectStore::make(const fs::path& folder, const std::string& fleet) {
  std::error_code error;
  const bool is_new = !fs::exists(folder, error) || fs::is_empty(folder, error);
  if (!is_new && fleet_of(folder) != fleet) {
    throw et_schema::usage_error(
        "the folder cannot become a store",
        {.file = folder.string(),
         .expected = "an empty folder, this fleet's store, or a new name",
         .got = fleet_of(folder).empty() ? "a folder with other files" : "another fleet's store",
         .hint = "choose another place"});
  }
  if (is_new) {
    make_folder(folder);
    et_schema::write_file_atomically((folder / kMark).string(), fleet + "\n");
  }
}

ObjectStore::ObjectStore(const fs::path& folder, const std::string& fleet) : folder_(folder) {
  const std::string found = fleet_of(folder_);
  if (found.empty() || found != fleet) {
    throw et_schema::run_failed(
        "the fleet's store is not where its database says",
        {.file = folder_.string(),
         .expected = fmt::format("a folder with the fleet's id in a file {}", kMark),
         .got = found.empty() ? "none" : "another fleet's store",
         .hint = "name its folder: understudy fleet init DATABASE --store DIR"});
  }
}

fs::path ObjectStore::path_of(const std::string& hash) const {
  const fs::path folder = folder_ / kObjects / hash.substr(0, kFolderDigits);
  if (!et_schema::is_digest(hash) || is_link(folder)) {  // a link would lead out of the store
    throw et_schema::run_failed(
        "the fleet's database or store is damaged",
        {.file = folder_.string(),
         .expected = "an object's name of 64 hexadecimal digits, in a folder of the store",
         .got = et_schema::quote(hash),
         .hint = "restore the copy that `understudy fleet gc --backup` made"});
  }
  return folder / hash.substr(kFolderDigits);
}

std::string ObjectStore::put(const std::string& bytes) const {
  std::string hash = et_schema::digest_of(bytes);
  if (fault_of(hash).empty()) {
    return hash;
  }
  const fs::path path = path_of(hash);
  make_folder(path.parent_path());
  et_schema::write_file_atomically(path.string(), bytes);
  return hash;
}

std::string ObjectStore::fault_of(const std::string& hash) const {
  const fs::path path = path_of(hash);
  std::error_code error;
  if (!fs::exists(path, error)) {
    return "missing";
  }
  try {
    return et_schema::digest_of_file(path.string()) == hash ? "" : "damaged";
  } catch (const et_schema::Error&) {
    return "cannot be read";
  }
}

std::string ObjectStore::read(const std::string& hash) const {
  const fs::path path = path_of(hash);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || et_schema::digest_of(bytes) != hash) {
    throw et_schema::run_failed(
        "an object of the store is not what its name says",
        {.file = path.string(),
         .expected = hash,
         .got = file.is_open() ? "other content" : "no such file",
         .hint = "`understudy fleet verify` names all; the next night makes benchmarks again"});
  }
  return bytes;
}

std::vector<StoredObject> ObjectStore::list() const {
  std::vector<StoredObject> objects;
  for_each_entry(folder_ / kObjects, [&](const fs::directory_entry& entry) {
    const std::string hash =
        entry.path().parent_path().filename().string() + entry.path().filename().string();
    std::error_code gone;
    const std::uint64_t bytes = entry.file_size(gone);
    if (et_schema::is_digest(hash) && fs::is_regular_file(entry.symlink_status(gone)) && !gone) {
      objects.push_back({hash, entry.path(), bytes});
    }
  });
  std::ranges::sort(objects, {}, &StoredObject::hash);
  return objects;
}

void ObjectStore::remove(const std::string& hash) const {
  std::error_code error;
  fs::remove(path_of(hash), error);
  if (error) {
    fail(path_of(hash), error.message());
  }
}

Leftovers ObjectStore::remove_leftovers(double age_s, bool only_counts) const {
  // Compares the entries' own times, before anything is removed: a worker's recent link to an old
  // object must stay.
  std::vector<std::pair<fs::path, struct stat>> old;
  const double now = seconds_of_now();
  for (const std::string_view part : {kObjects, kWork}) {
    for_each_entry(folder_ / part, [&](const fs::directory_entry& entry) {
      struct stat status {};
      if ((part == kWork || is_half_written(entry.path())) &&
          ::lstat(entry.path().c_str(), &status) == 0 &&
          now - seconds_of(status.st_mtim) >= age_s) {
        old.emplace_back(entry.path(), status);
      }
    });
  }
  Leftovers left;
  std::ranges::reverse(old);  // inner entries first; fs::remove() keeps a folder that is not empty
  for (const auto& [path, status] : old) {
    std::error_code error;
    if ((only_counts || fs::remove(path, error)) && !S_ISDIR(status.st_mode)) {
      ++left.files;
      left.bytes += S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    }
  }
  return left;
}

fs::path ObjectStore::work_folder(const std::string& name) const {
  fs::path folder = folder_ / kWork / name;
  std::error_code error;
  fs::remove_all(folder, error);
  make_folder(folder);
  return folder;
}

}  // namespace understudy::fleet
