// Machine code of C++ kernels that a benchmark brings along: what it computes, and what takes its
// place where it may not, or cannot, run.

#include <fstream>
#include <iterator>

#include "fixture.h"

namespace understudy::replayer {
namespace {

using testing::constant;
using testing::DType;
using testing::InstructionKind;
using testing::ref;

constexpr const char* kKey = "0123456789abcdef";
constexpr std::int64_t kElements = 100;

class KernelLibrary : public testing::ReplayerTest {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "kernels are compiled for x86-64 alone";
#endif
    std::ifstream file(UNDERSTUDY_KERNEL_LIBRARY, std::ios::binary);
    library_.processor = "x86-64-v3";
    library_.function = "run_add";
    library_.library.bytes = std::make_shared<const std::string>(
        std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    runs_libraries_ = true;
  }

  /// x + 0.5 of x = 2, in memory that was allocated for the kernel: 2.5, or its rule's 3.
  float first_result() {
    const auto in = builder_.external(DType::kFloat32, {kElements}, constant(2));
    const auto out = builder_.intermediate(DType::kFloat32, {kElements});
    builder_.slot(out).value = constant(3);
    et_schema::Instruction launch;
    launch.kind = InstructionKind::kKernel;
    launch.name = "cpp_fused_add_0";
    launch.args = {ref(in),
                   {et_schema::Argument::Undefined{}},
                   testing::number(kElements),
                   testing::real(0.5),
                   {std::string("r w - -")},
                   {"launch " + std::string(kKey) + " 1 1 1"}};
    launch.results = {ref(out)};
    builder_.add(std::move(launch));
    const auto kept = sink(DType::kFloat32, {kElements});
    keep(out, kept);
    kernels_ = {{kKey, "cpp_fused_add_0", {"*fp32", "*fp32", "i64", "fp64"}, {}, {library_}}};
    static_cast<void>(try_out());
    iterate();
    EXPECT_EQ(slot(kept).sum().item<float>(), slot(kept)[0].item<float>() * kElements);
    return slot(kept)[0].item<float>();
  }
  void expect_stub(const std::string& why) {
    EXPECT_EQ(first_result(), 3);
    const et_schema::Coverage coverage = decisions_->coverage();
    ASSERT_EQ(coverage.stubbed.size(), 1U);
    EXPECT_EQ(coverage.stubbed[0].note,
              "a stub: it moves the same bytes; no time is recorded; " + why);
  }

  et_schema::LibraryBuild library_;
};

TEST_F(KernelLibrary, ComputesWhatTheKernelDid) {
  EXPECT_EQ(first_result(), 2.5F);
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.substituted.size(), 1U);
  EXPECT_EQ(coverage.substituted[0].note, "its machine code for x86-64-v3");
  EXPECT_EQ(coverage.replayed, coverage.selected);
}

TEST_F(KernelLibrary, DoesNotRunUnlessItIsAllowedTo) {
  runs_libraries_ = false;
  expect_stub("its machine code was not allowed to run");
}

TEST_F(KernelLibrary, OfAnotherProcessorIsNotLoaded) {
  library_.processor = "armv9-a";
  expect_stub("its machine code is for armv9-a, which this processor is not");
}

TEST_F(KernelLibrary, WithoutTheFunctionIsNotCalled) {
  library_.function = "run_other";
  expect_stub("its machine code has no function run_other");
}

TEST_F(KernelLibrary, ThatThrowsIsStubbed) {
  library_.function = "run_failing";
  expect_stub("its machine code failed: index out of bounds: 0 <= tmp4 < 2000L");
}

}  // namespace
}  // namespace understudy::replayer
