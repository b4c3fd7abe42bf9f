#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

using et_schema::DType;

/// Peak figures of a card by its specification, or of a host as detected.
struct Card {
  std::string name;  ///< as in the column Device of tables; "cpu" for a host
  double memory_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  double flops = 0;       ///< per second, float32 outside of tensor cores
  double processors = 0;  ///< SMs, or cores of a host
  double l2_bytes = 0;    ///< on a host: the last-level cache
  double clock_hz = 0;
  double tf32_flops = 0;  ///< per second, float32 products on tensor cores; 0: unknown
  /// Floating-point operations per second by element type, for known types other than float32.
  std::map<DType, double> flops_by_dtype = {};
  std::string source = {};  ///< the file, or how the figures were detected
  bool operator==(const Card&) const = default;
};

/// Returns the peak of `dtype` if has_peak(), otherwise float32's, which can be 16 times lower.
[[nodiscard]] double peak_flops(const Card& card, DType dtype);
/// Returns true if the card has a peak for the type: float32, or a type in flops_by_dtype.
[[nodiscard]] bool has_peak(const Card& card, DType dtype);
/// Returns the rate that no kernel exceeds: for float32 the larger of `flops` and `tf32_flops`;
/// infinity if the peak is unknown.
[[nodiscard]] double most_flops(const Card& card, DType dtype);

/// Parses a card's file (docs/formats.md, "Cards"). Throws Error (bad input) if the text is not
/// JSON, a key is missing, or a figure is not above 0.
[[nodiscard]] Card parse_card(std::string_view text, const std::string& file);
/// Reads and writes a card as a part of another document (json_record.h).
void read_value(const et_schema::JsonField& field, Card& card);
[[nodiscard]] nlohmann::ordered_json json_value(const Card& card);

/// Reads the cards of a file or of a folder's .json files. Throws Error (bad input) if there is no
/// card, or if one name has different figures.
[[nodiscard]] std::vector<Card> read_cards(const std::string& path);

/// Returns this machine's processor: usable cores, last-level cache, memory and clock as reported
/// by Linux. Peaks are 0, because they must be measured (with_measured_peaks()).
[[nodiscard]] Card host_card();

}  // namespace understudy::predictor
