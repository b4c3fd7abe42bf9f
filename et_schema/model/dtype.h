#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace understudy::et_schema {

/// Element types. The numbers are PyTorch's c10::ScalarType, which traces record in arguments.
/// Numbers of retired types are not reused.
enum class DType : std::int8_t {
  kUInt8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplexFloat16 = 8,
  kComplexFloat32 = 9,
  kComplexFloat64 = 10,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBFloat16 = 15,
  kFloat8E5M2 = 23,
  kFloat8E4M3Fn = 24,
  kFloat8E5M2Fnuz = 25,
  kFloat8E4M3Fnuz = 26,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
  kFloat8E8M0Fnu = 44,
  kUndefined = 127  ///< an undefined tensor, or an unknown dtype
};

/// Returns the bytes of one element; 0 for kUndefined.
[[nodiscard]] std::int64_t item_size(DType dtype);
/// Returns the short name in files and tables: "float32", "int64", "bfloat16", "undefined".
[[nodiscard]] std::string_view to_string(DType dtype);
/// Returns the C++ name in a trace's type string: "float", "long", "c10::BFloat16".
[[nodiscard]] std::string_view cpp_name(DType dtype);
[[nodiscard]] std::optional<DType> dtype_from_string(std::string_view name);
/// Parses the C++ name in a trace's type string ("float", "long int", "c10::BFloat16"), or another
/// name in profiles that tools write themselves ("Float", "bfloat16", "torch.bfloat16").
[[nodiscard]] std::optional<DType> dtype_from_cpp_name(std::string_view name);
[[nodiscard]] bool is_floating(DType dtype);  ///< float16 … float64, bfloat16, float8
[[nodiscard]] bool is_complex(DType dtype);
[[nodiscard]] bool is_integral(DType dtype);  ///< integers without bool

enum class DeviceType : std::uint8_t { kNone, kCpu, kCuda, kMeta, kOther };

/// The device as recorded; the index is the recording machine's. A replay maps it.
struct Device {
  DeviceType type = DeviceType::kNone;
  std::int8_t index = -1;
  bool operator==(const Device&) const = default;
};

/// Returns true for CUDA and for unknown devices, but not for the CPU and `meta`.
[[nodiscard]] constexpr bool is_accelerator(const Device& device) {
  return device.type == DeviceType::kCuda || device.type == DeviceType::kOther;
}

/// Parses "cpu", "cuda:3" or "" (no device). An unknown name is kOther.
[[nodiscard]] Device parse_device(std::string_view text);
[[nodiscard]] std::string to_string(Device device);

}  // namespace understudy::et_schema
