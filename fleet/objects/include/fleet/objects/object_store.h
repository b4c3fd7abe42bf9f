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
/// all. Any number of processes may use one store; two that put the same bytes make one file.
class ObjectStore {
 public:
  /// Makes the folder where it is missing. Throws Error (failed) if it cannot be written.
  explicit ObjectStore(const std::filesystem::path& folder);

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
  /// Files that writers left which did not end, and that nothing touched for `age_s`. Takes them
  /// away, unless it is only to say what they are.
  Leftovers remove_leftovers(double age_s, bool only_counts = false) const;

  /// A folder of this store for one process to work in, made empty.
  [[nodiscard]] std::filesystem::path work_folder(const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

/// XXH3 of 128 bits, as 32 hexadecimal digits. It tells chance apart, not an attacker.
[[nodiscard]] std::string digest_of(std::string_view bytes);

/// The same of a file, read in pieces. Throws Error (bad input) if it cannot be read.
[[nodiscard]] std::string digest_of_file(const std::string& path);

/// True for 32 hexadecimal digits in lower case.
[[nodiscard]] bool is_digest(std::string_view text);

}  // namespace understudy::fleet
