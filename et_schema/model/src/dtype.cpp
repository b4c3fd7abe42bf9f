#include "et_schema/model/dtype.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "et_schema/base/enum_names.h"

namespace understudy::et_schema {
namespace {

enum class Family : std::uint8_t { kFloating, kComplex, kIntegral, kOther };

struct DTypeInfo {
  DType dtype;
  std::int8_t bytes;
  Family family;
  std::string_view name;
  std::string_view cpp_name;
};

// cpp_name is the text of caffe2::TypeMeta, which traces contain.
constexpr std::array kDTypes = {
    DTypeInfo{DType::kUInt8, 1, Family::kIntegral, "uint8", "unsigned char"},
    DTypeInfo{DType::kInt8, 1, Family::kIntegral, "int8", "signed char"},
    DTypeInfo{DType::kInt16, 2, Family::kIntegral, "int16", "short"},
    DTypeInfo{DType::kInt32, 4, Family::kIntegral, "int32", "int"},
    DTypeInfo{DType::kInt64, 8, Family::kIntegral, "int64", "long"},
    DTypeInfo{DType::kFloat16, 2, Family::kFloating, "float16", "c10::Half"},
    DTypeInfo{DType::kFloat32, 4, Family::kFloating, "float32", "float"},
    DTypeInfo{DType::kFloat64, 8, Family::kFloating, "float64", "double"},
    DTypeInfo{DType::kComplexFloat16, 4, Family::kComplex, "complex32", "c10::complex<c10::Half>"},
    DTypeInfo{DType::kComplexFloat32, 8, Family::kComplex, "complex64", "c10::complex<float>"},
    DTypeInfo{DType::kComplexFloat64, 16, Family::kComplex, "complex128", "c10::complex<double>"},
    DTypeInfo{DType::kBool, 1, Family::kOther, "bool", "bool"},
    DTypeInfo{DType::kQInt8, 1, Family::kOther, "qint8", "c10::qint8"},
    DTypeInfo{DType::kQUInt8, 1, Family::kOther, "quint8", "c10::quint8"},
    DTypeInfo{DType::kQInt32, 4, Family::kOther, "qint32", "c10::qint32"},
    DTypeInfo{DType::kBFloat16, 2, Family::kFloating, "bfloat16", "c10::BFloat16"},
    DTypeInfo{DType::kFloat8E5M2, 1, Family::kFloating, "float8_e5m2", "c10::Float8_e5m2"},
    DTypeInfo{DType::kFloat8E4M3Fn, 1, Family::kFloating, "float8_e4m3fn", "c10::Float8_e4m3fn"},
    DTypeInfo{DType::kFloat8E5M2Fnuz, 1, Family::kFloating, "float8_e5m2fnuz",
              "c10::Float8_e5m2fnuz"},
    DTypeInfo{DType::kFloat8E4M3Fnuz, 1, Family::kFloating, "float8_e4m3fnuz",
              "c10::Float8_e4m3fnuz"},
    DTypeInfo{DType::kUInt16, 2, Family::kIntegral, "uint16", "unsigned short"},
    DTypeInfo{DType::kUInt32, 4, Family::kIntegral, "uint32", "unsigned int"},
    DTypeInfo{DType::kUInt64, 8, Family::kIntegral, "uint64", "unsigned long"},
    DTypeInfo{DType::kFloat8E8M0Fnu, 1, Family::kFloating, "float8_e8m0fnu", "c10::Float8_e8m0fnu"},
    // Types without a name in enum DType. If a byte holds several elements, bytes are counted, as
    // in LibTorch.
    DTypeInfo{DType{16}, 1, Family::kOther, "quint4x2", "c10::quint4x2"},
    DTypeInfo{DType{17}, 1, Family::kOther, "quint2x4", "c10::quint2x4"},
    DTypeInfo{DType{18}, 1, Family::kOther, "bits1x8", "c10::bits1x8"},
    DTypeInfo{DType{19}, 1, Family::kOther, "bits2x4", "c10::bits2x4"},
    DTypeInfo{DType{20}, 1, Family::kOther, "bits4x2", "c10::bits4x2"},
    DTypeInfo{DType{21}, 1, Family::kOther, "bits8", "c10::bits8"},
    DTypeInfo{DType{22}, 2, Family::kOther, "bits16", "c10::bits16"},
    DTypeInfo{DType{30}, 1, Family::kOther, "uint1", "c10::dummy_uint1_7_t<1>"},
    DTypeInfo{DType{31}, 1, Family::kOther, "uint2", "c10::dummy_uint1_7_t<2>"},
    DTypeInfo{DType{32}, 1, Family::kOther, "uint3", "c10::dummy_uint1_7_t<3>"},
    DTypeInfo{DType{33}, 1, Family::kOther, "uint4", "c10::dummy_uint1_7_t<4>"},
    DTypeInfo{DType{34}, 1, Family::kOther, "uint5", "c10::dummy_uint1_7_t<5>"},
    DTypeInfo{DType{35}, 1, Family::kOther, "uint6", "c10::dummy_uint1_7_t<6>"},
    DTypeInfo{DType{36}, 1, Family::kOther, "uint7", "c10::dummy_uint1_7_t<7>"},
    DTypeInfo{DType{37}, 1, Family::kOther, "int1", "c10::dummy_int1_7_t<1>"},
    DTypeInfo{DType{38}, 1, Family::kOther, "int2", "c10::dummy_int1_7_t<2>"},
    DTypeInfo{DType{39}, 1, Family::kOther, "int3", "c10::dummy_int1_7_t<3>"},
    DTypeInfo{DType{40}, 1, Family::kOther, "int4", "c10::dummy_int1_7_t<4>"},
    DTypeInfo{DType{41}, 1, Family::kOther, "int5", "c10::dummy_int1_7_t<5>"},
    DTypeInfo{DType{42}, 1, Family::kOther, "int6", "c10::dummy_int1_7_t<6>"},
    DTypeInfo{DType{43}, 1, Family::kOther, "int7", "c10::dummy_int1_7_t<7>"},
    DTypeInfo{DType{45}, 1, Family::kOther, "float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2"},
    DTypeInfo{DType::kUndefined, 0, Family::kOther, "undefined", "nullptr (uninitialized)"},
};

// Other spellings: the compiler's demangler, Python, Windows.
struct Spelling {
  std::string_view text;
  DType dtype;
};
constexpr std::array kOtherCppNames = {
    Spelling{"long int", DType::kInt64},
    Spelling{"long long", DType::kInt64},
    Spelling{"__int64", DType::kInt64},
    Spelling{"int64_t", DType::kInt64},
    Spelling{"short int", DType::kInt16},
    Spelling{"char", DType::kInt8},
    Spelling{"short unsigned int", DType::kUInt16},
    Spelling{"long unsigned int", DType::kUInt64},
    Spelling{"unsigned long long", DType::kUInt64},
    Spelling{"at::Half", DType::kFloat16},
    Spelling{"at::BFloat16", DType::kBFloat16},
    // ScalarType's own names, in profiles that tools write themselves.
    Spelling{"Byte", DType::kUInt8},
    Spelling{"Char", DType::kInt8},
    Spelling{"Short", DType::kInt16},
    Spelling{"Int", DType::kInt32},
    Spelling{"Long", DType::kInt64},
    Spelling{"Half", DType::kFloat16},
    Spelling{"Float", DType::kFloat32},
    Spelling{"Double", DType::kFloat64},
    Spelling{"ComplexFloat", DType::kComplexFloat32},
    Spelling{"ComplexDouble", DType::kComplexFloat64},
    Spelling{"BFloat16", DType::kBFloat16},
    Spelling{"Bool", DType::kBool},
    Spelling{"Float8_e5m2", DType::kFloat8E5M2},
    Spelling{"Float8_e4m3fn", DType::kFloat8E4M3Fn},
    Spelling{"Float8_e5m2fnuz", DType::kFloat8E5M2Fnuz},
    Spelling{"Float8_e4m3fnuz", DType::kFloat8E4M3Fnuz},
    Spelling{"Float8_e8m0fnu", DType::kFloat8E8M0Fnu},
};

// Returns kUndefined's row if the number is not a type's.
const DTypeInfo& info_of(DType dtype) {
  const auto* const found = std::ranges::find(kDTypes, dtype, &DTypeInfo::dtype);
  return found == kDTypes.end() ? kDTypes.back() : *found;
}

// Names in files; an absent device is the empty text.
constexpr EnumNames<DeviceType::kOther> kDeviceNames("", "cpu", "cuda", "meta", "other");

}  // namespace

std::int64_t item_size(DType dtype) {
  return info_of(dtype).bytes;
}

std::string_view to_string(DType dtype) {
  return info_of(dtype).name;
}

std::string_view cpp_name(DType dtype) {
  return info_of(dtype).cpp_name;
}

std::optional<DType> dtype_from_string(std::string_view name) {
  const auto* const found = std::ranges::find(kDTypes, name, &DTypeInfo::name);
  return found == kDTypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::optional<DType> dtype_from_cpp_name(std::string_view name) {
  // Fast path: nearly all tensors of real traces have these two types.
  if (name == "float") {
    return DType::kFloat32;
  }
  if (name == "long int") {
    return DType::kInt64;
  }
  const auto* const known = std::ranges::find(kDTypes, name, &DTypeInfo::cpp_name);
  if (known != kDTypes.end()) {
    return known->dtype;
  }
  const auto* const other = std::ranges::find(kOtherCppNames, name, &Spelling::text);
  if (other != kOtherCppNames.end()) {
    return other->dtype;
  }
  constexpr std::string_view kTorch = "torch.";
  return dtype_from_string(name.starts_with(kTorch) ? name.substr(kTorch.size()) : name);
}

bool is_floating(DType dtype) {
  return info_of(dtype).family == Family::kFloating;
}
bool is_complex(DType dtype) {
  return info_of(dtype).family == Family::kComplex;
}
bool is_integral(DType dtype) {
  return info_of(dtype).family == Family::kIntegral;
}

Device parse_device(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Device device;
  device.type =
      name.empty() ? DeviceType::kOther : kDeviceNames.find(name).value_or(DeviceType::kOther);
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (!whole || index < 0 || index > std::numeric_limits<std::int8_t>::max()) {
      return {.type = DeviceType::kOther, .index = -1};
    }
    device.index = static_cast<std::int8_t>(index);
  }
  return device;
}

std::string to_string(Device device) {
  if (device.type == DeviceType::kNone) {
    return "";
  }
  std::string text(kDeviceNames[device.type]);
  if (device.index >= 0) {
    text += ":" + std::to_string(device.index);
  }
  return text;
}

}  // namespace understudy::et_schema
