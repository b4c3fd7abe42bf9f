// A device's ceilings: measured ones by threads, or a data sheet's peaks.

#include "predictor/platform/ceilings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

Platform measured() {
  Platform platform;
  platform.sections[kCeilingsSection] = to_json({{"cpu", 1, false, "float32", 5e10},
                                                 {"cpu", 1, true, "L1", 4e10},
                                                 {"cpu", 1, true, "DRAM", 1e10},
                                                 {"cpu", 8, true, "DRAM", 2e10},
                                                 {"cuda", 0, true, "DRAM", 3e12}})
                                            .dump();
  return platform;
}

std::vector<std::string> names(const Platform& platform, const DeviceKey& key) {
  std::vector<std::string> names;
  for (const Ceiling& one : ceilings_of(platform, key)) {
    names.push_back(one.name + " " + std::to_string(std::llround(one.per_s / 1e9)));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Ceilings, AreOfUpToTheCallsThreads) {
  const Platform platform = parse_platform(to_json(measured()), "p.json");
  const Names of_one = {"float32 50", "L1 40", "DRAM 10"};
  const Names of_all = {"float32 50", "L1 40", "DRAM 20"};
  EXPECT_EQ(names(platform, {"cpu", 1, TimedAs::kHost}), of_one);
  EXPECT_EQ(names(platform, {"cpu", 4, TimedAs::kHost}), of_one);
  EXPECT_EQ(names(platform, {"cpu", 8, TimedAs::kHost}), of_all);
  EXPECT_EQ(names(platform, {"cpu", 0, TimedAs::kHost}), of_all);
  EXPECT_EQ(names(platform, {"cuda:0", 0, TimedAs::kDevice}), Names{"DRAM 3000"});
}

TEST(Ceilings, OfAKnownCardAreItsPeaks) {
  const Names peaks = names({}, {"NVIDIA L4", 0, TimedAs::kDevice});
  EXPECT_EQ(peaks.back(), "DRAM 300");
  EXPECT_TRUE(std::ranges::find(peaks, "bfloat16 121000") != peaks.end());
  EXPECT_EQ(names({}, {"cpu", 1, TimedAs::kHost}), Names());
}

MeasuredCall product_on_card(std::int64_t edge, double ns) {
  const et_schema::TensorLayout square{DType::kBFloat16, {edge, edge}};
  MeasuredCall row;
  row.call = {"aten::mm", "", {square, square}, {square}};
  row.on_device = et_schema::TimeStats{.n = 9, .median_ns = ns};
  row.conditions = {.is_sustained = true};
  return row;
}

TEST(Ceilings, OfAStepAreWhatItsProductsSustained) {
  const std::vector<Ceiling> found =
      sustained_ceilings({product_on_card(4096, 2e5), product_on_card(1024, 1e5)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0],
            (Ceiling{"cuda", 0, false, "bfloat16", 2 * 4096. * 4096 * 4096 / 2e5 * 1e9, true}));
  Platform platform = measured();
  platform.sections[kCeilingsSection] = to_json(found).dump();
  EXPECT_EQ(names(platform, {"cuda:0", 0, TimedAs::kDevice}), Names());  // they bound no burst
}

TEST(Ceilings, AreRefusedIfDamaged) {
  Platform platform;
  platform.sections[kCeilingsSection] =
      R"([{"device": "cpu", "threads": 1, "kind": "speed", "name": "L1", "per_s": 1}])";
  EXPECT_EQ(testing_errors::error_of([&] {
              static_cast<void>(ceilings_of(platform, {"cpu", 1, TimedAs::kHost}));
            }),
            testing_errors::told("the platform cannot be read", "file: sections.ceilings",
                                 "field: [0].kind", "expected: flops or bandwidth",
                                 "got: \"speed\"", "hint: make the file again with `calibrate`"));
}

}  // namespace
}  // namespace understudy::predictor
