#include "replayer/dispatch/op_library.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "testing/error_text.h"
#include "testing/temporary_folder.h"

namespace understudy::replayer {
namespace {

namespace fs = std::filesystem;

class OpLibraryTest : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  static std::string refusal(const fs::path& path) {
    return testing_errors::error_of(et_schema::ErrorKind::kUsage,
                                    [&] { return load_op_library(path.string()); });
  }

  const testing_files::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(OpLibraryTest, MissingFileIsRefused) {
  EXPECT_EQ(refusal("/nowhere/ops.so"),
            "no such op library\n"
            "  file:     /nowhere/ops.so\n"
            "  field:    --op-library\n"
            "  expected: a shared library, or a folder of them\n"
            "  got:      no such file or folder\n"
            "  hint:     for fbgemm operators give the folder of the installed fbgemm_gpu");
}

TEST_F(OpLibraryTest, TextIsNoLibrary) {
  const fs::path path = write("ops.so", std::string(200, 'x'));
  EXPECT_EQ(refusal(path), "the op library does not load\n  file:     " + path.string() +
                               "\n  field:    --op-library\n"
                               "  expected: a shared library of operators\n"
                               "  got:      " +
                               path.string() +
                               ": invalid ELF header\n"
                               "  hint:     give a shared library (.so) of operators built for "
                               "LibTorch " TORCH_VERSION);
}

TEST_F(OpLibraryTest, FolderWithoutLibrariesIsRefused) {
  EXPECT_EQ(refusal(folder_), "no op library in this folder\n  file:     " + folder_.string() +
                                  "\n  field:    --op-library\n"
                                  "  expected: a folder with shared libraries (*.so)\n"
                                  "  got:      none\n"
                                  "  hint:     give the library itself, or the folder it lies in");
}

TEST_F(OpLibraryTest, FolderWithoutALoadableLibraryIsRefused) {
  const fs::path path = write("ops.so", std::string(200, 'x'));
  const std::string text = refusal(folder_);
  EXPECT_EQ(text.find("no library of this folder loads\n"), 0U);
  EXPECT_NE(text.find(path.string() + ": invalid ELF header"), std::string::npos);
}

TEST_F(OpLibraryTest, UndefinedSymbolsNameTheLibTorch) {
  const fs::path path(UNDERSTUDY_TEST_UNDEFINED_LIBRARY);
  const std::string text = refusal(path);
  EXPECT_NE(text.find("undefined symbol: symbol_of_another_libtorch"), std::string::npos) << text;
  EXPECT_NE(text.find("hint:     this is LibTorch " TORCH_VERSION
                      ": install the build of the library that was made for it; a library that "
                      "needs others beside it is loaded with them by giving its folder"),
            std::string::npos)
      << text;
}

TEST_F(OpLibraryTest, ALibraryAddsItsOperators) {
  const OpLibrary library = load_op_library(UNDERSTUDY_TEST_OP_LIBRARY);
  EXPECT_EQ(library.files, std::vector<std::string>{UNDERSTUDY_TEST_OP_LIBRARY});
  EXPECT_EQ(library.operators, std::vector<std::string>{"understudy_test::twice"});
  EXPECT_TRUE(library.failures.empty());
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("understudy_test::twice", "");
  torch::jit::Stack stack{at::ones({2})};
  handle.callBoxed(stack);
  EXPECT_TRUE(at::equal(stack.front().toTensor(), at::full({2}, 2.0F)));
  EXPECT_TRUE(load_op_library(UNDERSTUDY_TEST_OP_LIBRARY).operators.empty()) << "a second time";
}

TEST_F(OpLibraryTest, FbgemmLoadsFromItsFolder) {
  if (!fs::exists(UNDERSTUDY_FBGEMM_DIR)) {
    GTEST_SKIP() << "fbgemm_gpu is not installed in " << UNDERSTUDY_FBGEMM_DIR;
  }
  const OpLibrary library = load_op_library(UNDERSTUDY_FBGEMM_DIR);
  EXPECT_GT(library.operators.size(), 200U);
  EXPECT_TRUE(std::binary_search(library.operators.begin(), library.operators.end(),
                                 "fbgemm::permute_2D_sparse_data"));
  for (const OpLibrary::Failure& failure : library.failures) {
    ADD_FAILURE() << failure.file << ": " << failure.reason;
  }
}

}  // namespace
}  // namespace understudy::replayer
