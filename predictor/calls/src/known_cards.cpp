#include "predictor/calls/known_cards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "et_schema/support/error.h"

namespace understudy::predictor {
namespace {

using enum et_schema::DType;

/// In the units of data sheets, dense: GiB, GB/s, GFLOP/s, MiB, MHz.
struct Sheet {
  const char* name;
  double memory, bandwidth, float32, processors, l2, clock, cores, tf32;
  std::map<et_schema::DType, double> by_dtype;
};

/// The makers' data sheets.
const std::vector<Sheet>& sheets() {
  static const std::vector<Sheet> kSheets = {
      {"AMD Instinct MI300X",
       192,
       5300,
       163400,
       304,
       4,
       2100,
       64,
       653700,
       {{kFloat64, 81700},
        {kFloat16, 1307400},
        {kBFloat16, 1307400},
        {kFloat8E4M3Fn, 2614900},
        {kFloat8E5M2, 2614900},
        {kInt8, 2614900}}},
      {"NVIDIA A100 80GB PCIe",
       80,
       1935,
       19492,
       108,
       40,
       1410,
       64,
       156000,
       {{kFloat64, 9700}, {kFloat16, 312000}, {kBFloat16, 312000}, {kInt8, 624000}}},
      {"NVIDIA A100-PCIE-40GB",
       40,
       1555,
       19492,
       108,
       40,
       1410,
       64,
       156000,
       {{kFloat64, 9700}, {kFloat16, 312000}, {kBFloat16, 312000}, {kInt8, 624000}}},
      {"NVIDIA A100-SXM4-40GB",
       40,
       1555,
       19492,
       108,
       40,
       1410,
       64,
       156000,
       {{kFloat64, 9700}, {kFloat16, 312000}, {kBFloat16, 312000}, {kInt8, 624000}}},
      {"NVIDIA B200",
       180,
       8000,
       75000,
       148,
       126,
       1965,
       128,
       1125000,
       {{kFloat64, 37000},
        {kFloat16, 2250000},
        {kBFloat16, 2250000},
        {kFloat8E4M3Fn, 4500000},
        {kFloat8E5M2, 4500000},
        {kInt8, 4500000}}},
      {"NVIDIA H100 80GB HBM3",
       80,
       3430,
       66908,
       132,
       50,
       1980,
       128,
       494700,
       {{kFloat64, 34000},
        {kFloat16, 989400},
        {kBFloat16, 989400},
        {kFloat8E4M3Fn, 1978900},
        {kFloat8E5M2, 1978900},
        {kInt8, 1978900}}},
      {"NVIDIA H200",
       141,
       4800,
       66900,
       132,
       50,
       1980,
       128,
       494700,
       {{kFloat64, 34000},
        {kFloat16, 989400},
        {kBFloat16, 989400},
        {kFloat8E4M3Fn, 1978900},
        {kFloat8E5M2, 1978900},
        {kInt8, 1978900}}},
      {"NVIDIA L4",
       24,
       300,
       31334,
       60,
       48,
       2040,
       128,
       60000,
       {{kFloat16, 121000},
        {kBFloat16, 121000},
        {kFloat8E4M3Fn, 242000},
        {kFloat8E5M2, 242000},
        {kInt8, 242000}}},
      {"Tesla P100-PCIE-16GB",
       16,
       732,
       9519,
       56,
       4,
       1380,
       64,
       0,
       {{kFloat64, 4700}, {kFloat16, 18700}}},
      {"Tesla P4", 8, 192, 5699, 40, 2, 1113, 64, 0, {{kInt8, 22000}}},
      {"Tesla T4", 15, 320, 8141, 40, 4, 1590, 64, 0, {{kFloat16, 65000}, {kInt8, 130000}}},
      {"Tesla V100-PCIE-32GB",
       32,
       900,
       14029,
       80,
       6,
       1370,
       64,
       0,
       {{kFloat64, 7000}, {kFloat16, 112000}}},
  };
  return kSheets;
}

Card card_of(const Sheet& sheet) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  constexpr double kMebi = 1024.0 * 1024.0;
  Card card{.name = sheet.name,
            .memory_bytes = sheet.memory * kMebi * 1024,
            .bandwidth_bytes_per_s = sheet.bandwidth * kGiga,
            .flops = sheet.float32 * kGiga,
            .processors = sheet.processors,
            .l2_bytes = sheet.l2 * kMebi,
            .clock_hz = sheet.clock * kMega,
            .cores_per_processor = sheet.cores,
            .tf32_flops = sheet.tf32 * kGiga,
            .flops_by_dtype = sheet.by_dtype,
            .source = "the maker's data sheet"};
  for (auto& [dtype, flops] : card.flops_by_dtype) {
    flops *= kGiga;
  }
  return card;
}

/// Letters and digits in a row, in lower case.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0) {
      words.back() += static_cast<char>(std::tolower(code));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) {
    words.pop_back();
  }
  return words;
}

bool holds_all(const std::vector<std::string>& words, const std::vector<std::string>& of) {
  return !of.empty() && std::ranges::all_of(of, [&words](const std::string& word) {
    return std::ranges::find(words, word) != words.end();
  });
}

}  // namespace

std::span<const Card> known_cards() {
  static const std::vector<Card> kCards = [] {
    std::vector<Card> cards;
    std::ranges::transform(sheets(), std::back_inserter(cards), card_of);
    return cards;
  }();
  return kCards;
}

const Card* find_known_card(std::string_view name) {
  const std::vector<std::string> asked = words_of(name);
  const Card* found = nullptr;
  for (const Card& card : known_cards()) {
    const std::vector<std::string> words = words_of(card.name);
    if (card.name == name) {
      return &card;
    }
    if (holds_all(words, asked) || holds_all(asked, words)) {
      if (found != nullptr) {
        return nullptr;
      }
      found = &card;
    }
  }
  return found;
}

Card card_named(const std::string& name_or_file, const std::string& flag) {
  std::error_code error;
  if (std::filesystem::exists(name_or_file, error)) {
    const std::vector<Card> cards = read_cards(name_or_file);
    if (cards.size() != 1) {
      throw et_schema::usage_error(flag + " takes one card",
                                   {.field = flag,
                                    .expected = "a card's JSON file",
                                    .got = fmt::format("a folder of {}", cards.size())});
    }
    return cards.front();
  }
  if (const Card* const known = find_known_card(name_or_file)) {
    return *known;
  }
  std::vector<std::string> names;
  std::ranges::transform(known_cards(), std::back_inserter(names), &Card::name);
  throw et_schema::usage_error(
      "no such card, or several",
      {.field = flag,
       .expected = fmt::format("a card's JSON file, or one of: {}", fmt::join(names, ", ")),
       .got = name_or_file,
       .hint = "docs/formats.md, \"Cards\", tells what stands in a file of another card"});
}

}  // namespace understudy::predictor
