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

/// What a specification promises of a card, or what was found of a host.
struct Card {
  std::string name;  ///< as in the tables' column Device; "cpu" of a host
  double memory_bytes = 0;
  double bandwidth_bytes_per_s = 0;
  double flops = 0;       ///< a second, float32 outside of tensor cores
  double processors = 0;  ///< SMs; cores of a host
  double l2_bytes = 0;    ///< the last cache of a host
  double clock_hz = 0;
  double cores_per_processor = 0;
  double tf32_flops = 0;  ///< a second, of float32 products on tensor cores; 0: not known
  /// Floating-point operations a second by element type, where another than float32 is known.
  std::map<DType, double> flops_by_dtype = {};
  std::string source = {};  ///< the file, or how it was found
  bool operator==(const Card&) const = default;
};

/// The peak of `dtype` where known, else float32's, which may be a sixteenth (has_peak() tells).
[[nodiscard]] double peak_flops(const Card& card, DType dtype);
/// Whether the card says what it does in that type: float32, or among flops_by_dtype.
[[nodiscard]] bool has_peak(const Card& card, DType dtype);
/// What no kernel exceeds: of float32 the most of both ways; infinite where no peak is known.
[[nodiscard]] double most_flops(const Card& card, DType dtype);

/// A card's file (docs/formats.md, "Cards"). Throws Error (bad input): not JSON, a key missing, a
/// figure that is not above 0.
[[nodiscard]] Card parse_card(std::string_view text, const std::string& file);
/// The same as a part of another document (json_record.h).
void read_value(const et_schema::JsonField& field, Card& card);
[[nodiscard]] nlohmann::ordered_json json_value(const Card& card);

/// The cards of a file or of the .json files of a folder. Throws Error (bad input): none, one name
/// twice with different figures.
[[nodiscard]] std::vector<Card> read_cards(const std::string& path);

/// This machine's processor: usable cores, last cache, memory and clock as Linux tells them.
/// Nothing but measurement tells its peaks: they are 0 (see with_measured_peaks in
/// operators/peaks.h).
[[nodiscard]] Card host_card();

}  // namespace understudy::predictor
