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

/// Upper limit of a factor. Overlap does not slow work down this much; the cause is another one.
inline constexpr double kMostOverlapFactor = 100;

/// Slowdown of work beside other work on its device, relative to running alone; at least 1.
struct OverlapFactor {
  double factor = 1;
  double low = 1;  ///< 90 % interval of the factor
  double high = 1;
  double deviation = 0;    ///< deviation of single calls' factors, weighted by their time
  std::size_t groups = 0;  ///< number of different calls seen both ways
  std::size_t calls = 0;   ///< number of their calls that ran beside other work
  bool operator==(const OverlapFactor&) const = default;
};

/// Factors from profiles of one kind of card; null: not enough data.
struct DeviceOverlap {
  std::string device;                          ///< name of the card in the profiles; empty: unknown
  std::optional<OverlapFactor> compute;        ///< kernels, while a communication moves data
  std::optional<OverlapFactor> communication;  ///< communication, beside kernels
  std::optional<OverlapFactor> streams;        ///< kernels, beside kernels of other streams
  std::vector<std::string> sources;            ///< names of the files
  bool operator==(const DeviceOverlap&) const = default;
};

/// Times of one call that ran both ways, in total over the calls beside other work: median time
/// alone x number of calls, and median time beside other work x number of calls.
struct OverlapPair {
  double alone_ns = 0;
  double beside_ns = 0;
  std::size_t calls = 0;
};

enum class PooledOverlap : std::uint8_t {
  kFactor,
  kNothing,  ///< no pairs
  kTooFew,   ///< fewer than kLeastOverlapGroups
  kFaster    ///< the whole interval is below 1: different calls were compared
};

/// Minimum effective number of different calls for a factor: (Σ alone)² / Σ alone², so that short
/// calls count less. With four or fewer, the interval would depend on an unknown spread.
inline constexpr double kLeastOverlapGroups = 5;

struct PooledFactor {
  PooledOverlap outcome = PooledOverlap::kNothing;
  OverlapFactor factor;
  Errors left_out;  ///< errors of each call, predicted by the factor of the others
};
/// Returns the factor Σ beside / Σ alone, which weights calls by their time. Its interval follows
/// from the spread of the calls. See docs/prediction.md, "Overlap".
[[nodiscard]] PooledFactor pool(const std::vector<OverlapPair>& pairs);

/// Replaces devices by those of `more` with the same name, and adds the other devices of `more`.
void replace_overlap(std::vector<DeviceOverlap>& devices, const std::vector<DeviceOverlap>& more);

/// Writes the section `overlap` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const std::vector<DeviceOverlap>& devices);
/// Reads the section. Throws Error (bad input) with the field if a factor is outside of its
/// interval or of [1, kMostOverlapFactor], or a device occurs twice or has no factor.
[[nodiscard]] std::vector<DeviceOverlap> overlap_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
