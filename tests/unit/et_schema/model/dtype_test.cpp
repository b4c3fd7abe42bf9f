#include "et_schema/model/dtype.h"

#include <gtest/gtest.h>

#include <array>

namespace understudy::et_schema {
namespace {

constexpr std::array kAll = {
    DType::kUInt8,          DType::kInt8,           DType::kInt16,          DType::kInt32,
    DType::kInt64,          DType::kFloat16,        DType::kFloat32,        DType::kFloat64,
    DType::kComplexFloat16, DType::kComplexFloat32, DType::kComplexFloat64, DType::kBool,
    DType::kQInt8,          DType::kQUInt8,         DType::kQInt32,         DType::kBFloat16,
    DType::kFloat8E5M2,     DType::kFloat8E4M3Fn,   DType::kFloat8E5M2Fnuz, DType::kFloat8E4M3Fnuz,
    DType::kUInt16,         DType::kUInt32,         DType::kUInt64,         DType::kFloat8E8M0Fnu,
    DType::kUndefined};

TEST(DType, NamesRoundTrip) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype) << to_string(dtype);
  }
  for (int number = 0; number <= 45; ++number) {  // all of LibTorch's
    const auto dtype = static_cast<DType>(number);
    EXPECT_NE(to_string(dtype), "undefined") << number;
    EXPECT_EQ(dtype_from_string(to_string(dtype)), dtype) << number;
    EXPECT_GT(item_size(dtype), 0) << number;
  }
  EXPECT_EQ(dtype_from_string("float33"), std::nullopt);
}

TEST(DType, NamesOfTracesOfAllEras) {
  EXPECT_EQ(dtype_from_cpp_name("long"), DType::kInt64);
  EXPECT_EQ(dtype_from_cpp_name("long int"), DType::kInt64);
  EXPECT_EQ(dtype_from_cpp_name("unsigned char"), DType::kUInt8);
  EXPECT_EQ(dtype_from_cpp_name("c10::BFloat16"), DType::kBFloat16);
  EXPECT_EQ(dtype_from_cpp_name("c10::complex<float>"), DType::kComplexFloat32);
  EXPECT_EQ(dtype_from_cpp_name("c10::Float8_e4m3fn"), DType::kFloat8E4M3Fn);
  EXPECT_EQ(dtype_from_cpp_name("nullptr (uninitialized)"), DType::kUndefined);
  EXPECT_EQ(dtype_from_cpp_name("c10::quint4x2"), DType{16});
  EXPECT_EQ(dtype_from_cpp_name("c10::dummy_int1_7_t<4>"), DType{40});
  EXPECT_EQ(dtype_from_cpp_name("c10::quint128x1"), std::nullopt);
  for (const char* name : {"BFloat16", "bfloat16", "torch.bfloat16", "at::BFloat16"}) {
    EXPECT_EQ(dtype_from_cpp_name(name), DType::kBFloat16) << name;
  }
  for (const char* name : {"Scalar", "ScalarList", "TensorList", "Device", ""}) {
    EXPECT_EQ(dtype_from_cpp_name(name), std::nullopt) << name;
  }
}

TEST(DType, SizesAndFamilies) {
  EXPECT_EQ(item_size(DType::kComplexFloat64), 16);
  EXPECT_EQ(item_size(DType::kBFloat16), 2);
  EXPECT_EQ(item_size(DType::kUndefined), 0);
  EXPECT_TRUE(is_floating(DType::kFloat8E5M2));
  EXPECT_FALSE(is_floating(DType::kComplexFloat32));
  EXPECT_TRUE(is_complex(DType::kComplexFloat32));
  EXPECT_TRUE(is_integral(DType::kUInt64));
  EXPECT_FALSE(is_integral(DType::kBool));
}

TEST(Device, Parses) {
  EXPECT_EQ(parse_device("cpu"), (Device{DeviceType::kCpu, -1}));
  EXPECT_EQ(parse_device("cuda:7"), (Device{DeviceType::kCuda, 7}));
  EXPECT_EQ(parse_device("meta"), (Device{DeviceType::kMeta, -1}));
  EXPECT_EQ(parse_device(""), Device{});
  EXPECT_EQ(parse_device("tpu:0"), (Device{DeviceType::kOther, 0}));
}

TEST(Device, AnIndexThatDoesNotFitIsOther) {
  for (const char* text : {"cuda:", "cuda:-1", "cuda:1x", "cuda:128", "cuda:99999999999"}) {
    EXPECT_EQ(parse_device(text), (Device{DeviceType::kOther, -1})) << text;
  }
}

TEST(Device, Prints) {
  EXPECT_EQ(to_string(Device{DeviceType::kCuda, 3}), "cuda:3");
  EXPECT_EQ(to_string(Device{DeviceType::kCpu, -1}), "cpu");
  EXPECT_EQ(to_string(Device{}), "");
}

}  // namespace
}  // namespace understudy::et_schema
