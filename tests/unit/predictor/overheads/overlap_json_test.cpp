#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "et_schema/base/json_fields.h"
#include "predictor/overheads/overlap.h"
#include "testing/error_text.h"

namespace understudy::predictor {
namespace {

std::vector<DeviceOverlap> read(const std::string& text) {
  const et_schema::JsonSource source{"p.json", "the platform cannot be read",
                                     "make the file again with `calibrate`"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  return overlap_from_json(et_schema::JsonField(document, source));
}

std::string refusal_of(const std::string& text) {
  return testing_errors::error_of([&] { return read(text); });
}

/// One device with this factor of compute.
std::string with_factor(const std::string& factor, const std::string& low = "1",
                        const std::string& high = "100") {
  return R"({"devices":[{"device":"A","compute":{"factor":)" + factor + R"(,"low":)" + low +
         R"(,"high":)" + high + R"(,"deviation":0,"groups":5,"calls":9},"sources":[]}]})";
}

std::string refused_as(const std::string& field, const std::string& expected,
                       const std::string& got) {
  return "the platform cannot be read\n  file:     p.json\n  field:    " + field +
         "\n  expected: " + expected + "\n  got:      " + got +
         "\n  hint:     make the file again with `calibrate`";
}

TEST(OverlapJson, WhatIsWrittenReadsBack) {
  const std::vector<DeviceOverlap> devices = {
      {"A", OverlapFactor{1.25, 1.125, 1.5, 0.25, 7, 9}, {}, {}, {"a.json", "b.json"}},
      {"", {}, OverlapFactor{1, 1, 1.0625, 0.5, 5, 5}, OverlapFactor{2, 1, 100, 3, 5, 6}, {}}};
  EXPECT_EQ(read(to_json(devices)), devices);
  EXPECT_EQ(read(with_factor("1.25")).front().compute->factor, 1.25);
}

TEST(OverlapJson, AFactorOutsideOfItsRangeIsRefused) {
  EXPECT_EQ(refusal_of(with_factor("0.99")),
            refused_as("devices[0].compute.factor", "a factor from 1 to 100", "0.99"));
  EXPECT_EQ(refusal_of(with_factor("100.5")),
            refused_as("devices[0].compute.factor", "a factor from 1 to 100", "100.5"));
  EXPECT_EQ(refusal_of(with_factor("1.5", "1", "1e300")),
            refused_as("devices[0].compute.high", "a factor from 1 to 100", "1e+300"));
  EXPECT_EQ(refusal_of(with_factor("1.5", "1.6")),
            refused_as("devices[0].compute.factor", "a factor in its interval, 1.6 to 100", "1.5"));
}

TEST(OverlapJson, WhatIsNoNumberIsRefused) {
  EXPECT_EQ(refusal_of(with_factor("null")),
            refused_as("devices[0].compute.factor", "a number", "null"));
  EXPECT_EQ(refusal_of(with_factor("\"nan\"")),
            refused_as("devices[0].compute.factor", "a number", "\"nan\""));
  EXPECT_EQ(refusal_of(with_factor("NaN")).substr(0, 27), "the platform cannot be read");
}

TEST(OverlapJson, ADeviceIsThereOnceAndWithAFactor) {
  const std::string one =
      R"({"device":"A","streams":{"factor":1,"low":1,"high":1,"deviation":0,"groups":5,"calls":9},"sources":[]})";
  EXPECT_EQ(refusal_of(R"({"devices":[)" + one + "," + one + "]}"),
            refused_as("devices[1].device", "each device once", "A again"));
  EXPECT_EQ(
      refusal_of(R"({"devices":[{"device":"A","sources":[]}]})"),
      refused_as("devices[0]", "a factor: compute, communication or streams", "none of them"));
  EXPECT_EQ(refusal_of("{}"), refused_as("devices", "this key", "none"));
}

}  // namespace
}  // namespace understudy::predictor
