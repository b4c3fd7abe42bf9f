#include "predictor/calls/card.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/json_fields.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/processor.h"

namespace understudy::predictor {
namespace {

/// A figure: its key in a file, and the factor from the file's unit to ours.
struct Figure {
  const char* key;
  double Card::*value;
  double unit;
  bool is_required;
};

constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;
constexpr double kKibi = 1024;
constexpr double kMebi = kKibi * kKibi;
constexpr double kGibi = kMebi * kKibi;

constexpr std::array<Figure, 7> kFigures = {{
    {"Dev_Mem", &Card::memory_bytes, kGibi, false},
    {"Mem_Bw", &Card::bandwidth_bytes_per_s, kGiga, true},
    {"Num_Sm", &Card::processors, 1, true},
    {"Freq", &Card::clock_hz, kMega, false},
    {"SingleFLOPs", &Card::flops, kGiga, true},
    {"L2Cache", &Card::l2_bytes, kMebi, true},
    {"Tf32FLOPs", &Card::tf32_flops, kGiga, false},
}};

double positive(const et_schema::JsonField& field) {
  const double value = field.as_double();
  constexpr double kLeast = 1e-6;
  constexpr double kMost = 1e18;
  if (!(value >= kLeast) || value > kMost) {
    field.fail(value > 0 ? "a number from 1e-6 to 1e18" : "a number above 0");
  }
  return value;
}

}  // namespace

double peak_flops(const Card& card, DType dtype) {
  return et_schema::value_or(card.flops_by_dtype, dtype, card.flops);
}

bool has_peak(const Card& card, DType dtype) {
  return dtype == DType::kFloat32 || card.flops_by_dtype.contains(dtype);
}

double most_flops(const Card& card, DType dtype) {
  if (!has_peak(card, dtype)) {
    return std::numeric_limits<double>::infinity();
  }
  const double peak = peak_flops(card, dtype);
  return dtype == DType::kFloat32 ? std::max(peak, card.tf32_flops) : peak;
}

Card parse_card(std::string_view text, const std::string& file) {
  const et_schema::JsonSource source{file, "the card cannot be read",
                                     "docs/formats.md, \"Cards\", lists the keys"};
  const nlohmann::json document = et_schema::parse_json(text, source);
  Card card;
  read_value(et_schema::JsonField(document, source), card);
  if (card.source.empty()) {
    card.source = file;
  }
  return card;
}

void read_value(const et_schema::JsonField& root, Card& card) {
  card.name = root.at("Device").as_text();
  if (card.name.empty()) {
    root.at("Device").fail("the card's name");
  }
  for (const Figure& figure : kFigures) {
    if (figure.is_required || root.find(figure.key)) {
      card.*figure.value = positive(root.at(figure.key)) * figure.unit;
    }
  }
  if (const auto peaks = root.find("FLOPsByDtype")) {
    for (const auto& [name, value] : peaks->members()) {
      const std::optional<DType> dtype = et_schema::dtype_from_string(name);
      if (!dtype) {
        value.fail("an element type as key", name);
      }
      card.flops_by_dtype[*dtype] = positive(value) * kGiga;
    }
  }
  if (const auto found = root.find("Source")) {
    card.source = found->as_text();
  }
}

nlohmann::ordered_json json_value(const Card& card) {
  nlohmann::ordered_json json = {{"Device", card.name}};
  for (const Figure& figure : kFigures) {
    if (card.*figure.value > 0) {
      json[figure.key] = card.*figure.value / figure.unit;
    }
  }
  for (const auto& [dtype, flops] : card.flops_by_dtype) {
    json["FLOPsByDtype"][to_string(dtype)] = flops / kGiga;
  }
  json["Source"] = card.source;
  return json;
}

std::vector<Card> read_cards(const std::string& path) {
  std::vector<Card> cards;
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    Card card = parse_card(file.data, file.name);
    const auto same = std::ranges::find(cards, card.name, &Card::name);
    if (same != cards.end()) {
      throw et_schema::bad_input("the card cannot be read",
                                 {.file = file.name,
                                  .field = "Device",
                                  .expected = "each card once",
                                  .got = card.name + ", also in " + same->source});
    }
    cards.push_back(std::move(card));
  });
  if (cards.empty()) {
    throw et_schema::bad_input("no card", {.file = path,
                                           .expected = "a card's JSON file, or a folder of them",
                                           .got = "nothing",
                                           .hint = "docs/formats.md, \"Cards\", lists the keys"});
  }
  return cards;
}

namespace {

double last_cache_bytes() {
  using et_schema::cache_bytes;
  return static_cast<double>(
      std::max({cache_bytes(1), cache_bytes(2), cache_bytes(3), cache_bytes(4)}));
}

/// Returns the value of a "key : value" line in /proc/cpuinfo or /proc/meminfo; empty if missing.
std::string value_of(const char* path, const std::string& key) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with(key)) {
      const std::size_t at = line.find_first_not_of(" \t:", line.find(':'));
      return at == std::string::npos ? "" : line.substr(at);
    }
  }
  return "";
}

}  // namespace

Card host_card() {
  Card card;
  card.name = "cpu";
  card.processors = et_schema::usable_cores();
  card.l2_bytes = last_cache_bytes();
  card.clock_hz = std::strtod(value_of("/proc/cpuinfo", "cpu MHz").c_str(), nullptr) * kMega;
  card.memory_bytes = std::strtod(value_of("/proc/meminfo", "MemTotal").c_str(), nullptr) * kKibi;
  card.source = et_schema::processor_model();
  return card;
}

}  // namespace understudy::predictor
