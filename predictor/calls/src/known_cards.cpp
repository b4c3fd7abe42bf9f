#include "predictor/calls/known_cards.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "et_schema/base/figures.h"
#include "et_schema/base/joined_words.h"
#include "et_schema/base/words.h"

namespace understudy::predictor {
namespace {

using enum et_schema::DType;

/// A card in the units of data sheets, without sparsity: GiB, GB/s, MiB, MHz, and GFLOP/s by
/// element type. 0: not in the sheet.
struct Sheet {
  const char* name;
  double memory, bandwidth, processors, l2, clock;
  double float32, tf32, float64, float16, bfloat16, float8, int8;
  const char* short_name = "";  ///< selects this card if several match, as a shipped platform's
};

/// From the vendors' data sheets; multiprocessors and clocks of B300, GB200 and GB300 as the driver
/// reports them. MI250X is one of its two dies, each of which is a device.
constexpr Sheet kSheets[] = {
    {"AMD Instinct MI210", 64, 1638, 104, 8, 1700, 22600, 0, 22600, 181000, 181000, 0, 181000},
    {"AMD Instinct MI250X", 64, 1638, 110, 8, 1700, 23950, 0, 23950, 191500, 191500, 0, 191500},
    {"AMD Instinct MI300X", 192, 5300, 304, 4, 2100, 163400, 653700, 81700, 1307400, 1307400,
     2614900, 2614900},
    {"AMD Instinct MI325X", 256, 6000, 304, 4, 2100, 163400, 653700, 81700, 1307400, 1307400,
     2614900, 2614900},
    {"AMD Instinct MI350X", 288, 8000, 256, 4, 2200, 144200, 0, 72100, 2306900, 2306900, 4613700,
     4613700},
    {"AMD Instinct MI355X", 288, 8000, 256, 4, 2400, 157300, 0, 78600, 2516600, 2516600, 5033200,
     5033200},
    {"NVIDIA A10", 24, 600, 72, 6, 1695, 31240, 62500, 0, 125000, 125000, 0, 250000},
    {"NVIDIA A100 80GB PCIe", 80, 1935, 108, 40, 1410, 19492, 156000, 9700, 312000, 312000, 0,
     624000},
    {"NVIDIA A100-PCIE-40GB", 40, 1555, 108, 40, 1410, 19492, 156000, 9700, 312000, 312000, 0,
     624000},
    {"NVIDIA A100-SXM4-40GB", 40, 1555, 108, 40, 1410, 19492, 156000, 9700, 312000, 312000, 0,
     624000},
    {"NVIDIA A100-SXM4-80GB", 80, 2039, 108, 40, 1410, 19492, 156000, 9700, 312000, 312000, 0,
     624000, "A100"},
    {"NVIDIA A30", 24, 933, 56, 24, 1440, 10320, 82000, 5200, 165000, 165000, 0, 330000},
    {"NVIDIA A40", 48, 696, 84, 6, 1740, 37400, 74800, 0, 149700, 149700, 0, 299300},
    {"NVIDIA B200", 180, 8000, 148, 126, 1965, 75000, 1125000, 37000, 2250000, 2250000, 4500000,
     4500000},
    {"NVIDIA B300 SXM6 AC", 270, 8000, 148, 126, 2032, 75000, 1125000, 1250, 2250000, 2250000,
     4500000, 154000},
    {"NVIDIA GB200", 186, 8000, 152, 126, 2062, 80000, 1250000, 40000, 2500000, 2500000, 5000000,
     5000000},
    {"NVIDIA GB300", 278, 8000, 152, 126, 2070, 80000, 1250000, 1300, 2500000, 2500000, 5000000,
     165000},
    {"NVIDIA GH200 480GB", 96, 4000, 132, 50, 1980, 66900, 494700, 34000, 989400, 989400, 1978900,
     1978900},
    {"NVIDIA GeForce RTX 3090", 24, 936, 82, 6, 1695, 35580, 35600, 0, 71000, 71000, 0, 284000},
    {"NVIDIA GeForce RTX 4090", 24, 1008, 128, 72, 2520, 82580, 82600, 0, 165200, 165200, 330300,
     660600},
    {"NVIDIA H100 80GB HBM3", 80, 3430, 132, 50, 1980, 66908, 494700, 34000, 989400, 989400,
     1978900, 1978900, "H100"},
    {"NVIDIA H100 NVL", 94, 3938, 132, 50, 1785, 60300, 417700, 30100, 835500, 835500, 1671000,
     1671000},
    {"NVIDIA H100 PCIe", 80, 2039, 114, 50, 1755, 51200, 378000, 25600, 756500, 756500, 1513000,
     1513000},
    {"NVIDIA H20", 96, 4000, 78, 60, 1980, 44000, 74000, 1000, 148000, 148000, 296000, 296000},
    {"NVIDIA H200", 141, 4800, 132, 50, 1980, 66900, 494700, 34000, 989400, 989400, 1978900,
     1978900},
    {"NVIDIA L4", 24, 300, 58, 48, 2040, 31334, 60000, 0, 121000, 121000, 242000, 242000},
    {"NVIDIA L40S", 48, 864, 142, 96, 2520, 91600, 183000, 0, 362000, 362000, 733000, 733000},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 96, 1597, 188, 128, 2430, 117000, 234000, 1828,
     468000, 468000, 936000, 936000},
    {"Tesla P100-PCIE-16GB", 16, 732, 56, 4, 1380, 9519, 0, 4700, 18700, 0, 0, 0},
    {"Tesla P4", 8, 192, 20, 2, 1113, 5699, 0, 0, 0, 0, 0, 22000, "P4"},
    {"Tesla T4", 15, 320, 40, 4, 1590, 8141, 0, 0, 65000, 0, 0, 130000, "T4"},
    {"Tesla V100-PCIE-32GB", 32, 900, 80, 6, 1370, 14029, 0, 7000, 112000, 0, 0, 0, "V100"},
    {"Tesla V100-SXM2-16GB", 16, 900, 80, 6, 1530, 15700, 0, 7800, 125000, 0, 0, 0},
    {"Tesla V100-SXM2-32GB", 32, 900, 80, 6, 1530, 15700, 0, 7800, 125000, 0, 0, 0},
};

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
            .tf32_flops = sheet.tf32 * kGiga,
            .source = "the maker's data sheet"};
  for (const auto& [dtype, gflops] : {std::pair{kFloat64, sheet.float64},
                                      {kFloat16, sheet.float16},
                                      {kBFloat16, sheet.bfloat16},
                                      {kFloat8E4M3Fn, sheet.float8},
                                      {kFloat8E5M2, sheet.float8},
                                      {kInt8, sheet.int8}}) {
    if (gflops > 0) {
      card.flops_by_dtype[dtype] = gflops * kGiga;
    }
  }
  return card;
}

/// Returns runs of letters and digits, in lower case.
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

/// Returns true if `words` holds those of `of`, wherever either has spaces or dashes.
bool holds_all(const std::vector<std::string>& words, const std::vector<std::string>& of) {
  const auto held = et_schema::joined_words(words);
  const auto holds = [&held](const std::string& word) { return held.contains(word); };
  return !of.empty() &&
         (holds(fmt::format("{}", fmt::join(of, ""))) || std::ranges::all_of(of, holds));
}

/// Returns true for the name of a maker, a form, a kind or a size of memory, none of which tells
/// models apart.
bool is_plain(const std::string& word) {
  constexpr std::string_view kPlain =
      "nvidia tesla geforce amd instinct corporation gpu accelerator sxm sxm2 sxm3 sxm4 sxm5 sxm6 "
      "pcie oam mcm ac mba vf hbm hbm2 hbm2e hbm3 hbm3e gb";
  return et_schema::has_word(kPlain, word) || word.starts_with("gfx") ||
         (word.ends_with("gb") && word.find_first_not_of("0123456789") + 2 == word.size());
}

/// Returns true if `asked` has all words of a card, and beside them only plain ones.
bool names_card(const std::vector<std::string>& asked, const std::vector<std::string>& card) {
  std::vector<std::string> all = card;
  std::ranges::copy_if(asked, std::back_inserter(all), is_plain);
  return holds_all(asked, card) && holds_all(all, asked);
}

/// Returns true for a word of letters followed by digits: "a100".
bool is_model(const std::string& word) {
  return word.front() > '9' && word.find_first_of("0123456789") != std::string::npos;
}

}  // namespace

std::span<const Card> known_cards() {
  static const std::vector<Card> kCards = [] {
    std::vector<Card> cards;
    std::ranges::transform(kSheets, std::back_inserter(cards), card_of);
    return cards;
  }();
  return kCards;
}

std::vector<const Card*> cards_like(std::string_view name) {
  const std::vector<std::string> asked = words_of(name);
  std::vector<const Card*> found;
  for (std::size_t i = 0; i < known_cards().size(); ++i) {
    const Card& card = known_cards()[i];
    const std::vector<std::string> words = words_of(card.name);
    const std::vector<std::string> short_words = words_of(kSheets[i].short_name);
    const bool is_short =
        holds_all(asked, short_words) && holds_all({short_words.front(), "nvidia", "tesla"}, asked);
    if (card.name == name || is_short) {
      return {&card};
    }
    if (holds_all(words, asked) || names_card(asked, words)) {
      found.push_back(&card);
    }
  }
  return found;
}

const Card* find_known_card(std::string_view name) {
  const std::vector<const Card*> found = cards_like(name);
  return found.size() == 1 ? found.front() : nullptr;
}

const Card* find_known_card(const et_schema::RecordedDevice& device) {
  // Drivers keep up to 9 % of a memory for its check bits. The largest part of an A100 has 98 of
  // 108 multiprocessors, an RTX 4090 D 114 of 128.
  constexpr double kProcessors = 0.05;
  constexpr double kMemory = 0.1;
  const auto is_near = [](std::int64_t told, double nominal, double tolerance) {
    return told == 0 || std::abs(static_cast<double>(told) / nominal - 1) < tolerance;
  };
  const Card* const card = find_known_card(device.name);
  return card != nullptr && is_near(device.processors, card->processors, kProcessors) &&
                 is_near(device.memory_bytes, card->memory_bytes, kMemory)
             ? card
             : nullptr;
}

std::string recorded_card_name(const et_schema::RecordedDevice& device) {
  const Card* const card = find_known_card(device);
  if (card != nullptr || find_known_card(device.name) == nullptr) {
    return card != nullptr ? card->name : device.name;
  }
  const std::string memory = et_schema::with_bytes(static_cast<std::uint64_t>(device.memory_bytes));
  return device.processors == 0
             ? fmt::format("{} of {}", device.name, memory)
             : fmt::format("{} of {} multiprocessors{}", device.name, device.processors,
                           device.memory_bytes == 0 ? "" : " and " + memory);
}

std::string card_model(std::string_view text) {
  static const std::set<std::string> known = [] {
    std::set<std::string> models;
    for (const Card& card : known_cards()) {
      const std::vector<std::string> words = words_of(card.name);
      const auto model = std::ranges::find_if(words, is_model);
      models.insert(model, model + (model == words.end() ? 0 : 1));
    }
    return models;
  }();
  const std::vector<std::string> words = words_of(text);
  const auto found = std::ranges::find_if(words, [](const auto& w) { return known.contains(w); });
  std::string model = found == words.end() ? "" : *found;
  std::ranges::transform(model, model.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return model;
}

}  // namespace understudy::predictor
