// Where an output goes, and in which order: the calls that bring it to the disk are these programs'
// own (below), which note what they were asked and go on to the kernel.
#include "et_schema/base/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "et_schema/base/cannot_write.h"
#include "et_schema/model/report.h"
#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace {
std::vector<std::string> system_calls;

std::string target_of(int descriptor) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored)
      .filename();
}
}  // namespace

extern "C" int fsync(int descriptor) {
  system_calls.push_back("fsync " + target_of(descriptor));
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}
extern "C" int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  system_calls.push_back(std::string("rename ") + from + " " + to);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}

namespace understudy::et_schema {
namespace {

namespace fs = std::filesystem;
using testing_files::TemporaryFolder;

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::ptrdiff_t files_in(const TemporaryFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path()), {});
}

/// The text of the error that writing there ends with.
std::string write_refusal(const std::string& path) {
  return testing_errors::error_of(kCannotWrite,
                                  [&] { return write_file_atomically(path, "text"); });
}

std::string cannot(const std::string& path, const std::string& got,
                   const std::string& hint = "choose another place for the output") {
  return "the file cannot be written\n  file:     " + path +
         "\n  expected: a place that can be written, with enough room\n  got:      " + got +
         "\n  hint:     " + hint;
}

TEST(OutputFile, ReplacesTheFileWhole) {
  const TemporaryFolder folder;
  const std::string path = folder / "out.json";
  write_file_atomically(path, "one");
  write_file_atomically(path, "two, longer");
  EXPECT_EQ(contents(path), "two, longer");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(OutputFile, IsOnTheDiskBeforeItHasItsNameAndTheNameAfterwards) {
  const TemporaryFolder folder;
  system_calls.clear();
  write_file_atomically(folder / "out.json", "text");
  ASSERT_EQ(system_calls.size(), 3U);
  const std::string temporary = system_calls[0].substr(system_calls[0].find(' ') + 1);
  EXPECT_TRUE(temporary.starts_with(".out.json.part-")) << temporary;
  EXPECT_EQ(system_calls[0], "fsync " + temporary);
  EXPECT_EQ(system_calls[1], "rename " + temporary + " out.json");
  EXPECT_EQ(system_calls[2], "fsync " + fs::path(folder.path()).filename().string());
}

TEST(OutputFile, HasTheRightsThatTheUmaskLeaves) {
  const TemporaryFolder folder;
  for (const mode_t mask : {0022U, 0077U, 0002U}) {
    const mode_t before = umask(mask);
    write_file_atomically(folder / "out.json", "text");
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat((folder / "out.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
  }
}

TEST(OutputFile, WhatAKilledProgramHasLeftIsInNobodysWay) {
  const TemporaryFolder folder;
  folder.write(".out.json.part-1", "cut o");
  folder.write("out.json.part-" + std::to_string(getpid()), "cut o");
  write_file_atomically(folder / "out.json", "text");
  EXPECT_EQ(contents(folder / "out.json"), "text");
  EXPECT_EQ(files_in(folder), 3);
}

TEST(OutputFile, OfTheLongestNameIsWrittenToo) {
  const TemporaryFolder folder;
  const std::string name(255, 'x');
  write_file_atomically(folder / name, "text");
  EXPECT_EQ(contents(folder / name), "text");
}

TEST(OutputFile, GoesIntoAFolderThatCanOnlyBeWritten) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "drop");
  fs::permissions(folder / "drop", fs::perms::owner_write | fs::perms::owner_exec);
  write_file_atomically(folder / "drop/out.json", "text");
  EXPECT_EQ(contents(folder / "drop/out.json"), "text");
  fs::permissions(folder / "drop", fs::perms::owner_all);
}

TEST(OutputFile, OneThatCannotBeWrittenMayBeReplaced) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out.json", "old");
  fs::permissions(path, fs::perms::owner_read);
  write_file_atomically(path, "new");
  EXPECT_EQ(contents(path), "new");
}

TEST(OutputFile, LinksAreNeitherFollowedNorReplaced) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  for (const std::string& target : {victim, (folder / "nowhere").string()}) {
    const std::string link = folder / "link";
    fs::create_symlink(target, link);
    EXPECT_EQ(output_place(link), OutputPlace::kLink);
    EXPECT_EQ(write_refusal(link), cannot(link, "a symbolic link",
                                          "name the file that it leads to, or remove the link"));
    EXPECT_TRUE(fs::is_symlink(link));
    fs::remove(link);
  }
  EXPECT_EQ(contents(victim), "precious");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(OutputFile, HardLinksKeepTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out.json", "old");
  fs::create_hard_link(path, folder / "backup");
  write_file_atomically(path, "new");
  EXPECT_EQ(contents(folder / "backup"), "old");
}

TEST(OutputFile, DevicesAreWrittenToAsTheyAre) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder / "link");
  for (const std::string& path : {std::string("/dev/null"), (folder / "link").string()}) {
    EXPECT_EQ(output_place(path), OutputPlace::kInPlace);
    write_file_atomically(path, "nothing");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(OutputFile, PipesAreWrittenTo) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = contents(pipe); });
  write_file_atomically(pipe, "text");
  reader.join();
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(OutputFile, WhatIsOpenAlreadyIsWrittenToEvenIfItIsAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("redirected", "");
  const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  for (const std::string& name :
       {"/dev/fd/" + std::to_string(descriptor), "/proc/self/fd/" + std::to_string(descriptor)}) {
    EXPECT_EQ(output_place(name), OutputPlace::kInPlace);
    write_file_atomically(name, "text\n");
  }
  close(descriptor);
  EXPECT_EQ(contents(path), "text\ntext\n");
  EXPECT_EQ(output_place("/dev/stdout"), OutputPlace::kInPlace);
  EXPECT_EQ(output_place("/dev/stderr"), OutputPlace::kInPlace);
}

TEST(OutputFile, SaysWhyItCannot) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_refusal("/nowhere/out.json"),
            cannot("/nowhere/out.json", "No such file or directory"));
  EXPECT_EQ(write_refusal("/"), cannot("/", "Is a directory"));
  EXPECT_EQ(write_refusal("/dev/full"), cannot("/dev/full", "No space left on device"));
  EXPECT_EQ(write_refusal("/dev/fd/987654"), cannot("/dev/fd/987654", "Bad file descriptor"));
  const std::string file = folder.write("file", "");
  EXPECT_EQ(write_refusal(file + "/out.json"), cannot(file + "/out.json", "Not a directory"));
  EXPECT_EQ(files_in(folder), 1);
}

TEST(OutputFile, AFolderThatIsOnlyReadRefusesButForRoot) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "kept");
  fs::permissions(folder / "kept", fs::perms::owner_read | fs::perms::owner_exec);
  const std::string path = folder / "kept/out.json";
  EXPECT_EQ(write_refusal(path), access((folder / "kept").c_str(), W_OK) == 0
                                     ? "no error"
                                     : cannot(path, "Permission denied"));
  fs::permissions(folder / "kept", fs::perms::owner_all);
}

}  // namespace
}  // namespace understudy::et_schema
