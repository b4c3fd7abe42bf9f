// What counts as a GPU.

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {
namespace {

bool is_one(std::string_view device) {
  return is_accelerator(parse_device(device));
}

TEST(Accelerators, AreCudaAndWhatIsNotKnown) {
  EXPECT_TRUE(is_one("cuda:3"));
  EXPECT_TRUE(is_one("npu:0"));
  EXPECT_FALSE(is_one("cpu"));
  EXPECT_FALSE(is_one("meta"));
  EXPECT_FALSE(is_one(""));
}

TEST(Accelerators, AProgramUsesOneWithAnyOfItsMemory) {
  const auto uses = [](const std::vector<std::string_view>& devices) {
    Program program;
    for (const std::string_view device : devices) {
      program.storages.emplace_back().device = parse_device(device);
    }
    return uses_accelerator(program);
  };
  EXPECT_FALSE(uses({}));
  EXPECT_FALSE(uses({"cpu", "meta"}));
  EXPECT_TRUE(uses({"cpu", "cuda:1"}));
}

}  // namespace
}  // namespace understudy::et_schema
