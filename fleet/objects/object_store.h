#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace understudy::fleet {

/// One object of a store, as it is on disk.
struct StoredObject {
  std::string hash;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
};

/// Files of writers that did not finish.
struct Leftovers {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Files named by the digest of their content: objects/ab/cdef…. A file is there whole or not at
/// all. Any number of processes may use one store; equal content makes one file. A store has a file
/// with its fleet's id, since a database could name any folder.
class ObjectStore {
 public:
  /// Makes a store for the fleet with this id, in a folder that is missing or empty. Does nothing
  /// if it is that fleet's store already. Throws Error (usage) if the folder holds anything else,
  /// Error (failed) if it cannot be written.
  static void make(const std::filesystem::path& folder, const std::string& fleet);

  /// Opens the fleet's store; writes nothing. Throws Error (failed) if the folder is not one.
  ObjectStore(const std::filesystem::path& folder, const std::string& fleet);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  /// Writes the bytes to disk and returns their hash. Replaces a damaged object of the same hash.
  /// Throws Error (failed) if the object cannot be written.
  [[nodiscard]] std::string put(const std::string& bytes) const;
  /// Throws Error (failed) if the object is missing or does not match its hash.
  [[nodiscard]] std::string read(const std::string& hash) const;
  [[nodiscard]] std::filesystem::path path_of(const std::string& hash) const;
  /// Returns an object's defect: "missing", "damaged", "cannot be read"; empty if it has none.
  [[nodiscard]] std::string fault_of(const std::string& hash) const;

  /// Returns all objects, ordered by hash.
  [[nodiscard]] std::vector<StoredObject> list() const;
  /// Throws Error (failed) if the file cannot be removed.
  void remove(const std::string& hash) const;
  /// Removes, or only counts, files of unfinished writers that nothing touched for `age_s`. Keeps
  /// other files beside the objects.
  Leftovers remove_leftovers(double age_s, bool only_counts = false) const;

  /// Creates a folder in this store for one process to work in, or empties it.
  [[nodiscard]] std::filesystem::path work_folder(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace understudy::fleet
