#include "fleet/objects/object_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "et_schema/support/error.h"
#include "testing/temporary_folder.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

TEST(Digests, AreXxh3Of128Bits) {
  // xxHash's own test vector of the empty input.
  EXPECT_EQ(digest_of(""), "99aa06d3014798d86001c324468d497f");
  const testing_files::TemporaryFolder folder;
  const std::string content(3'000'000, 'q');
  EXPECT_EQ(digest_of_file(folder.write("a", content)), digest_of(content));
  EXPECT_TRUE(is_digest("99aa06d3014798d86001c324468d497f"));
  EXPECT_FALSE(is_digest("99AA06d3014798d86001c324468d497f"));
  EXPECT_FALSE(is_digest(""));
  EXPECT_THROW(static_cast<void>(digest_of_file("/nowhere")), et_schema::Error);
}

class Objects : public ::testing::Test {
 protected:
  testing_files::TemporaryFolder folder_;
  ObjectStore store_{folder_.path() + "/store"};
};

TEST_F(Objects, LieBelowTwoDigits) {
  const std::string hash = store_.put("content");
  EXPECT_EQ(store_.path_of(hash),
            fs::path(folder_.path()) / "store/objects" / hash.substr(0, 2) / hash.substr(2));
  EXPECT_EQ(store_.read(hash), "content");
  EXPECT_EQ(store_.put("content"), hash);
  ASSERT_EQ(store_.list().size(), 1U);
  EXPECT_EQ(store_.list().front().hash, hash);
  EXPECT_EQ(store_.list().front().bytes, 7U);
}

TEST_F(Objects, DamageIsSeenAndPutRight) {
  const std::string hash = store_.put("content");
  std::ofstream(store_.path_of(hash)) << "contend";
  EXPECT_EQ(store_.fault_of(hash), "damaged");
  EXPECT_THROW(static_cast<void>(store_.read(hash)), et_schema::Error);
  EXPECT_EQ(store_.put("content"), hash);
  EXPECT_EQ(store_.fault_of(hash), "");
  store_.remove(hash);
  EXPECT_EQ(store_.fault_of(hash), "missing");
}

TEST_F(Objects, LeftoversGoWhenTheyAreOld) {
  const std::string hash = store_.put("content");
  const fs::path left = store_.path_of(hash).parent_path() / ".cdef.part-1";
  std::ofstream(left) << "half";
  EXPECT_EQ(store_.remove_leftovers(3600).files, 0U);
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(store_.remove_leftovers(-1, true).bytes, 4U);
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(store_.remove_leftovers(-1).bytes, 4U);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_EQ(store_.fault_of(hash), "");
}

TEST_F(Objects, AWorkersLinkIsAsYoungAsItself) {
  const std::string hash = store_.put("content");
  const fs::path link = store_.work_folder("1") / "bench.et";
  fs::create_symlink(fs::absolute(store_.path_of(hash)), link);
  fs::last_write_time(store_.path_of(hash),
                      fs::file_time_type::clock::now() - std::chrono::hours(48));
  EXPECT_EQ(store_.remove_leftovers(3600).files, 0U);
  EXPECT_TRUE(fs::is_symlink(link));
  const Leftovers left = store_.remove_leftovers(-1);
  EXPECT_EQ(left.files, 1U);
  EXPECT_EQ(left.bytes, 0U);  // the object stays
  EXPECT_EQ(store_.fault_of(hash), "");
}

TEST_F(Objects, FoldersOfKilledWorkersGoToo) {
  const fs::path empty = store_.work_folder("1");
  const fs::path inner = store_.work_folder("2") / "runs";
  fs::create_directories(inner);
  std::ofstream(inner / "report.json") << "half";
  EXPECT_EQ(store_.remove_leftovers(3600).files, 0U);
  EXPECT_EQ(store_.remove_leftovers(-1, true).files, 1U);
  EXPECT_TRUE(fs::exists(empty));
  EXPECT_EQ(store_.remove_leftovers(-1).files, 1U);
  EXPECT_TRUE(fs::is_empty(empty.parent_path()));
}

TEST_F(Objects, ANameThatLeadsOutIsDamage) {
  for (const char* name : {"", "../../../etc/passwd", "0123456789ABCDEF0123456789abcdef"}) {
    EXPECT_THROW(static_cast<void>(store_.path_of(name)), et_schema::Error) << name;
    EXPECT_THROW(store_.remove(name), et_schema::Error) << name;
  }
}

TEST_F(Objects, AWorkFolderIsEmpty) {
  std::ofstream(store_.work_folder("1") / "a") << "b";
  EXPECT_TRUE(fs::is_empty(store_.work_folder("1")));
}

}  // namespace
}  // namespace understudy::fleet
