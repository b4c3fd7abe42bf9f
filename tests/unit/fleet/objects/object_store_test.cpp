#include "fleet/objects/object_store.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "et_schema/base/error.h"
#include "testing/temporary_folder.h"

namespace understudy::fleet {
namespace {

namespace fs = std::filesystem;

const std::string kFleet = "0123abcd";

class Objects : public ::testing::Test {
 protected:
  /// What opening a store of that fleet in the folder says.
  static std::string refused(const std::string& folder, const std::string& fleet = kFleet) {
    try {
      const ObjectStore store(folder, fleet);
    } catch (const et_schema::Error& error) {
      return et_schema::to_text(error);
    }
    return "opened";
  }
  static std::string refused_text(const std::string& folder, const std::string& got) {
    return "the fleet's store is not where its database says\n  file:     " + folder +
           "\n  expected: a folder with the fleet's id in a file understudy-store\n  got:      " +
           got + "\n  hint:     name its folder: understudy fleet init DATABASE --store DIR";
  }

  testing_files::TemporaryFolder folder_;
  ObjectStore store_ = made(folder_.path() + "/store");

 private:
  static ObjectStore made(const std::string& folder) {
    ObjectStore::make(folder, kFleet);
    return {folder, kFleet};
  }
};

TEST_F(Objects, AreOpenedOnlyWhereTheFleetsMarkIs) {
  const std::string other = folder_.path() + "/other";
  EXPECT_EQ(refused(other), refused_text(other, "none"));
  EXPECT_FALSE(fs::exists(other));
  fs::create_directories(other + "/objects");
  EXPECT_EQ(refused(other), refused_text(other, "none"));
  const std::string own = folder_.path() + "/store";
  EXPECT_EQ(refused(own), "opened");
  EXPECT_EQ(refused(own, "4567"), refused_text(own, "another fleet's store"));
  EXPECT_EQ(refused(own, ""), refused_text(own, "another fleet's store"));
}

TEST_F(Objects, AreMadeInNoFolderOfSomethingElse) {
  fs::create_directories(folder_.path() + "/home/work");
  ObjectStore::make(folder_.path() + "/store", kFleet);  // again: as it is
  for (const auto& [folder, fleet, got] :
       {std::array<std::string, 3>{"/home", kFleet, "a folder with other files"},
        {"/store", "4567", "another fleet's store"}}) {
    try {
      ObjectStore::make(folder_.path() + folder, fleet);
      ADD_FAILURE() << folder;
    } catch (const et_schema::Error& error) {
      EXPECT_EQ(et_schema::to_text(error),
                "the folder cannot become a store\n  file:     " + folder_.path() + folder +
                    "\n  expected: an empty folder, this fleet's store, or a new name\n"
                    "  got:      " +
                    got + "\n  hint:     choose another place");
    }
  }
}

/// A stranger can hand over a store, too.
TEST_F(Objects, DoNotFollowLinksOutOfTheStore) {
  const std::string hash = store_.put("content");
  const fs::path home = fs::path(folder_.path()) / "home";
  fs::create_directories(home);
  std::ofstream(home / hash.substr(2)) << "mine";
  const fs::path folder = store_.path_of(hash).parent_path();
  fs::remove_all(folder);
  fs::create_directory_symlink(home, folder);
  EXPECT_THROW(store_.remove(hash), et_schema::Error);
  EXPECT_TRUE(store_.list().empty());
  store_.remove_leftovers(-1);
  EXPECT_TRUE(fs::exists(home / hash.substr(2)));
  fs::create_directory_symlink(home, store_.folder() / "work");
  EXPECT_EQ(refused(store_.folder()), refused_text(store_.folder(), "none"));
}

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
  std::ofstream(store_.folder() / "objects/notes.txt") << "mine";
  EXPECT_EQ(store_.remove_leftovers(3600).files, 0U);
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(store_.remove_leftovers(-1, true).bytes, 4U);
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(store_.remove_leftovers(-1).bytes, 4U);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(store_.folder() / "objects/notes.txt"));
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
