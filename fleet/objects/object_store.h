#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace understudy::fleet {

/// One object of a store, as it lies on the disk.
struct StoredObject {
  std::string hash;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
};

/// What writers left that did not end.
struct Leftovers {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Files named by the digest of their content: objects/ab/cdef…. A file is there whole or not at
/// all. Any number of processes may use one store; two that put the same bytes make one file. A
/// database may name any folder, so a store bears its fleet's mark: a file with the fleet's id.
class ObjectStore {
 public:
  /// Makes a store of the fleet with this id, in a folder that is missing or empty. Does nothing if
  /// it is one already. Throws Error (usage) for a folder of something else, Error (failed) if it
  /// cannot be written.
  static void make(const std::filesystem::path& folder, const std::string& fleet);

  /// Opens that fleet's store, and writes nothing. Throws Error (failed) if the folder is none.
  ObjectStore(const std::filesystem::path& folder, const std::string& fleet);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  /// The hash of the bytes, which are on the disk by then. A damaged object of that hash is
  /// replaced. Throws Error (failed) if it cannot be written.
  [[nodiscard]] std::string put(const std::string& bytes) const;
  /// Throws Error (failed) where the object is missing or is not what its name says.
  [[nodiscard]] std::string read(const std::string& hash) const;
  [[nodiscard]] std::filesystem::path path_of(const std::string& hash) const;
  /// Empty if the object is whole; else what is wrong: "missing", "damaged", "cannot be read".
  [[nodiscard]] std::string fault_of(const std::string& hash) const;

  /// All objects, in the order of their hashes.
  [[nodiscard]] std::vector<StoredObject> list() const;
  /// Throws Error (failed) where the disk does not let it.
  void remove(const std::string& hash) const;
  /// Removes files that writers left which did not end, and that nothing touched for `age_s`; or
  /// only counts them. Other files beside the objects stay.
  Leftovers remove_leftovers(double age_s, bool only_counts = false) const;

  /// A folder of this store for one process to work in, made empty.
  [[nodiscard]] std::filesystem::path work_folder(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace understudy::fleet
