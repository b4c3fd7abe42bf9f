#include "et_schema/base/figures.h"

#include <gtest/gtest.h>

namespace understudy::et_schema {
namespace {

TEST(Numbers, WithCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

TEST(Numbers, WithBytes) {
  EXPECT_EQ(with_bytes(1023), "1023 B");
  EXPECT_EQ(with_bytes(1536), "1.5 KiB");
  EXPECT_EQ(with_bytes(std::uint64_t{5} << 30U), "5.0 GiB");
}

}  // namespace
}  // namespace understudy::et_schema
