#pragma once

#include <bit>
#include <cstdint>

namespace understudy::backends {

/// IEEE binary16 as bits; conversion rounds to the nearest even.
struct Float16 {
  [[nodiscard]] static float to_float(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t magnitude = bits & 0x7fffU;
    if (magnitude >= 0x7c00U) {  // infinity, NaN
      return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13U));
    }
    // The multiplication moves the exponent by 112 (127 - 15). It also converts subnormals
    // correctly.
    const float scaled = std::bit_cast<float>(magnitude << 13U) * kTwoTo112;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | sign);
  }

  [[nodiscard]] static std::uint16_t from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
      return static_cast<std::uint16_t>(sign | 0x7e00U);
    }
    if (magnitude >= kOverflow) {
      return static_cast<std::uint16_t>(sign | 0x7c00U);
    }
    if (magnitude < kSmallestNormal) {
      // The rounder's last place is that of half's subnormals, so the sum is rounded there.
      const float sum = std::bit_cast<float>(magnitude) + kSubnormalRounder;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) -
                                                std::bit_cast<std::uint32_t>(kSubnormalRounder)));
    }
    const std::uint32_t odd = (magnitude >> 13U) & 1U;
    const std::uint32_t rounded = magnitude - (112U << 23U) + 0xfffU + odd;
    return static_cast<std::uint16_t>(sign | (rounded >> 13U));
  }

 private:
  static constexpr float kTwoTo112 = 0x1p112F;
  static constexpr float kSubnormalRounder = 0.5F;               // its last place is 2^-24
  static constexpr std::uint32_t kOverflow = 0x477ff000U;        // 65520, rounds to infinity
  static constexpr std::uint32_t kSmallestNormal = 0x38800000U;  // 2^-14
};

/// The upper half of a float; conversion rounds to the nearest even.
struct BFloat16 {
  [[nodiscard]] static float to_float(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }

  [[nodiscard]] static std::uint16_t from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
      return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
    }
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
  }
};

}  // namespace understudy::backends
