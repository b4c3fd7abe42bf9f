#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "predictor/fitting/errors.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// No overlap makes work this many times longer; a larger factor means that something else is
/// wrong.
inline constexpr double kMostOverlapFactor = 100;

/// How many times longer work takes beside other work on its device than alone, at least 1.
struct OverlapFactor {
  double factor = 1;
  double low = 1;  ///< 90 % interval of the factor
  double high = 1;
  double deviation = 0;    ///< of the factors of single calls, weighted by their time
  std::size_t groups = 0;  ///< number of different calls that were seen both ways
  std::size_t calls = 0;   ///< number of calls among them that ran beside other work
  bool operator==(const OverlapFactor&) const = default;
};

/// Results from profiles of one kind of card; null: they did not show enough.
struct DeviceOverlap {
  std::string device;                    ///< name of the card in the profiles; empty: not told
  std::optional<OverlapFactor> compute;  ///< of kernels, while a communication moves data
  std::optional<OverlapFactor> communication;  ///< of communication, beside kernels
  std::optional<OverlapFactor> streams;        ///< of kernels, beside kernels of other streams
  std::vector<std::string> sources;            ///< names of the files
  bool operator==(const DeviceOverlap&) const = default;
};

/// Times of one call that ran both ways: what the calls beside other work took, and what they would
/// have taken alone, by the medians.
struct OverlapPair {
  double alone_ns = 0;
  double beside_ns = 0;
  std::size_t calls = 0;
};

enum class PooledOverlap : std::uint8_t {
  kFactor,
  kNothing,  ///< no pairs
  kTooFew,   ///< fewer than kLeastOverlapGroups
  kFaster    ///< the whole interval lies below 1: unlike calls were compared
};

/// The number of different calls that a factor needs; a call counts by its part of their time. With
/// four or fewer, the interval would rest on an unknown spread.
inline constexpr double kLeastOverlapGroups = 5;

struct PooledFactor {
  PooledOverlap outcome = PooledOverlap::kNothing;
  OverlapFactor factor;
  Errors left_out;  ///< errors of each call, predicted by the factor of the others
};
/// The factor Σ beside / Σ alone, in which each call counts by its time. The interval comes from
/// how the calls differ. See docs/prediction.md, "Overlap".
[[nodiscard]] PooledFactor pool(const std::vector<OverlapPair>& pairs);

/// Replaces devices by those of `more` with the same name, and adds the others.
void replace_overlap(std::vector<DeviceOverlap>& devices, const std::vector<DeviceOverlap>& more);

/// The section `overlap` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const std::vector<DeviceOverlap>& devices);
/// Reads it back. Throws Error (bad input) with the field: a factor that is no number from 1 to
/// kMostOverlapFactor or lies outside of its interval, a device twice or without a factor.
[[nodiscard]] std::vector<DeviceOverlap> overlap_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
