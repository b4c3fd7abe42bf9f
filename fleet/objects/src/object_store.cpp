#include "fleet/objects/object_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "et_schema/support/error.h"
#include "et_schema/support/output_file.h"
#include "et_schema/support/quote.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFolderDigits = 2;
constexpr const char* kObjects = "objects";
constexpr const char* kWork = "work";

[[noreturn]] void fail(const fs::path& path, const std::string& got) {
  throw et_schema::run_failed(
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

/// What std::filesystem says of an entry that another process may take away meanwhile.
template <typename Visit>
void for_each_file(const fs::path& folder, Visit visit) {
  std::error_code error;
  for (fs::recursive_directory_iterator place(folder, error), end; !error && place != end;
       place.increment(error)) {
    std::error_code gone;
    if (place->is_regular_file(gone) && !gone) {
      visit(*place);
    }
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

/// Folders below this one that nothing was written to since then; inner ones come first.
std::vector<fs::path> folders_before(const fs::path& folder, double time_s) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::recursive_directory_iterator place(folder, error), end; !error && place != end;
       place.increment(error)) {
    struct stat status {};
    if (::lstat(place->path().c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
        seconds_of(status.st_mtim) <= time_s) {
      folders.push_back(place->path());
    }
  }
  std::ranges::reverse(folders);
  return folders;
}

constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;

std::string text_of(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

struct CloseFile {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};

[[noreturn]] void fail(const std::string& path) {
  throw et_schema::bad_input("the file cannot be read",
                             {.file = path, .got = std::generic_category().message(errno)});
}

}  // namespace

ObjectStore::ObjectStore(const fs::path& folder) : folder_(folder) {
  make_folder(folder_ / kObjects);
}

fs::path ObjectStore::path_of(const std::string& hash) const {
  if (!is_digest(hash)) {  // it would lead out of the store
    throw et_schema::run_failed("the fleet's database is damaged",
                                {.expected = "an object's name of 32 hexadecimal digits",
                                 .got = et_schema::quote(hash),
                                 .hint = "restore the copy that `fleet gc --backup` made"});
  }
  return folder_ / kObjects / hash.substr(0, kFolderDigits) / hash.substr(kFolderDigits);
}

std::string ObjectStore::put(const std::string& bytes) const {
  std::string hash = digest_of(bytes);
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
    return digest_of_file(path.string()) == hash ? "" : "damaged";
  } catch (const et_schema::Error&) {
    return "cannot be read";
  }
}

std::string ObjectStore::read(const std::string& hash) const {
  const fs::path path = path_of(hash);
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || digest_of(bytes) != hash) {
    throw et_schema::run_failed(
        "an object of the store is not what its name says",
        {.file = path.string(),
         .expected = hash,
         .got = file.is_open() ? "other content" : "no such file",
         .hint = "`fleet verify` names all of them; the next night makes benchmarks again"});
  }
  return bytes;
}

std::vector<StoredObject> ObjectStore::list() const {
  std::vector<StoredObject> objects;
  for_each_file(folder_ / kObjects, [&](const fs::directory_entry& entry) {
    const std::string hash =
        entry.path().parent_path().filename().string() + entry.path().filename().string();
    std::error_code gone;
    const std::uint64_t bytes = entry.file_size(gone);
    if (is_digest(hash) && !gone) {
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
  const double now = seconds_of_now();
  const std::vector<fs::path> old_folders = folders_before(folder_ / kWork, now - age_s);
  Leftovers left;
  for (const char* part : {kObjects, kWork}) {
    for_each_file(folder_ / part, [&](const fs::directory_entry& entry) {
      const bool is_object = is_digest(entry.path().parent_path().filename().string() +
                                       entry.path().filename().string());
      // The entry's own age counts: a worker's link to an old object is young.
      struct stat status {};
      if (is_object || ::lstat(entry.path().c_str(), &status) != 0 ||
          now - seconds_of(status.st_mtim) < age_s) {
        return;
      }
      std::error_code gone;
      if (only_counts || (fs::remove(entry.path(), gone) && !gone)) {
        ++left.files;
        left.bytes += S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
      }
    });
  }
  for (const fs::path& folder : only_counts ? std::vector<fs::path>() : old_folders) {
    std::error_code holds_files;
    fs::remove(folder, holds_files);
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

std::string digest_of(std::string_view bytes) {
  return text_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string digest_of_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) {
    fail(path);
  }
  const auto free_state = [](XXH3_state_t* state) { XXH3_freeState(state); };
  const std::unique_ptr<XXH3_state_t, decltype(free_state)> state(XXH3_createState(), free_state);
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const std::size_t bytes = std::fread(piece.data(), 1, piece.size(), file.get());
    XXH3_128bits_update(state.get(), piece.data(), bytes);
    if (bytes < piece.size()) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    fail(path);
  }
  return text_of(XXH3_128bits_digest(state.get()));
}

bool is_digest(std::string_view text) {
  constexpr std::size_t kDigits = 32;
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace understudy::fleet
