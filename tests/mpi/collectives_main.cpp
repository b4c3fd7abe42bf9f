// Every rank runs the same tests in the same order; the process fails if a test fails on its rank.
// With --over-nccl the tests use NCCL and CUDA's driver, or their fakes in the library path.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "device_backend.h"
#include "et_schema/base/error.h"
#include "plain_data.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::tests {

namespace {
std::unique_ptr<backends::Backend> backend_under_test;
}

backends::Backend& backend() {
  return *backend_under_test;
}

}  // namespace understudy::tests

int main(int argc, char** argv) {
  int status = 1;
  try {
    // Below the limit of CTest, which would end the tests without a message.
    constexpr double kTimeLimitS = 500;
    understudy::backends::BackendOptions options;
    options.time_limit_s = kTimeLimitS;
    understudy::tests::backend_under_test = understudy::backends::join_job(options);
    if (argc > 1 && std::string_view(argv[1]) == "--over-nccl") {
      understudy::tests::backend_under_test = understudy::tests::make_device_backend(
          std::move(understudy::tests::backend_under_test), kTimeLimitS);
    }
    GTEST_FLAG_SET(brief, understudy::tests::backend().rank() != 0);  // these tell failures only
    testing::InitGoogleTest(&argc, argv);
    status = RUN_ALL_TESTS();
    understudy::tests::backend().barrier();
    understudy::tests::backend_under_test.reset();
  } catch (const understudy::et_schema::Error& error) {
    std::fputs((understudy::et_schema::to_text(error) + "\n").c_str(), stderr);
    status = 1;
  }
  return status;
}
