// Emitted projects take the results of the same operators for memory that nobody has written, in
// C++ and (tests/scripts/bench_runtime_test.py, over the same list) in Python.
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "bench/observe.h"
#include "et_schema/model/op_class.h"
#include "replayer/values/values.h"

namespace understudy::replayer {
namespace {

TEST(EmittedFreshMemory, IsThatOfTheReplay) {
  std::ifstream list(std::string(UNDERSTUDY_TEST_DATA) + "/fresh_memory.txt");
  std::size_t lines = 0;
  std::size_t result = 0;
  for (std::string op, is_fresh; list >> op >> result >> is_fresh; ++lines) {
    EXPECT_EQ(leaves_elements_unwritten(op, result), is_fresh == "yes") << op << " " << result;
    EXPECT_EQ(bench::gives_fresh_memory(op, result), is_fresh == "yes") << op << " " << result;
  }
  EXPECT_GT(lines, 20U);
}

TEST(EmittedFreshMemory, IsTheSameOfEveryOperatorOfLibTorch) {
  std::size_t allocating = 0;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const std::string op = c10::toString(name);
    for (const std::size_t result : {0U, 1U, 3U}) {
      EXPECT_EQ(bench::gives_fresh_memory(op, result), leaves_elements_unwritten(op, result))
          << op << " " << result;
    }
    // None has the word in its name for another reason.
    EXPECT_EQ(et_schema::allocates_memory(op), name.name.find("empty") != std::string::npos) << op;
    allocating += et_schema::allocates_memory(op) ? 1U : 0U;
  }
  EXPECT_GT(allocating, 10U);
}

}  // namespace
}  // namespace understudy::replayer
