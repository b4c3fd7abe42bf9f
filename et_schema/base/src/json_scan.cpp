#include "et_schema/base/json_scan.h"

#include <fmt/format.h>

#include <array>

namespace understudy::et_schema {
namespace {

// The scan works on blocks of 64 bytes with one bit per byte, as simdjson's first stage does. Uses
// instructions that every x86-64 has, or else plain 64-bit arithmetic.
static_assert(std::endian::native == std::endian::little, "bit i of a mask is byte i of a block");

constexpr std::size_t kBlock = 64;
constexpr std::size_t kWord = 8;
/// Only this bit differs between '[' and '{', and between ']' and '}'.
constexpr char kBracketBit = 0x20;

struct BlockMasks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t opens = 0;
  std::uint64_t closes = 0;
};

#ifdef __SSE2__

BlockMasks masks_of(const char* block) {
  BlockMasks masks;
  const auto bits = [](__m128i bytes, char wanted) {
    return static_cast<std::uint64_t>(
        static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)))));
  };
  for (std::size_t begin = 0; begin < kBlock; begin += sizeof(__m128i)) {
    __m128i bytes;
    std::memcpy(&bytes, block + begin, sizeof(bytes));
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(kBracketBit));
    masks.quotes |= bits(bytes, '"') << begin;
    masks.backslashes |= bits(bytes, '\\') << begin;
    masks.opens |= bits(folded, '{') << begin;
    masks.closes |= bits(folded, '}') << begin;
  }
  return masks;
}

#else

constexpr std::uint64_t kEach = 0x0101010101010101U;
constexpr std::uint64_t kLow7 = 0x7f7f7f7f7f7f7f7fU;
constexpr std::uint64_t kHigh = 0x8080808080808080U;

/// Returns a word with bit 7 of each byte set if and only if that byte of `word` is `wanted`.
constexpr std::uint64_t equal_bytes(std::uint64_t word, char wanted) {
  const std::uint64_t x = word ^ (kEach * static_cast<unsigned char>(wanted));
  return ~(((x & kLow7) + kLow7) | x) & kHigh;
}

/// Gathers bit 7 of each byte into the 8 low bits.
constexpr std::uint64_t gather(std::uint64_t high_bits) {
  constexpr std::uint64_t kGather = 0x0102040810204080U;
  return ((high_bits >> 7U) * kGather) >> 56U;
}

BlockMasks masks_of(const char* block) {
  BlockMasks masks;
  for (std::size_t i = 0; i < kBlock / kWord; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, block + i * kWord, kWord);
    const std::uint64_t folded = word | (kEach * kBracketBit);
    const std::size_t shift = i * kWord;
    masks.quotes |= gather(equal_bytes(word, '"')) << shift;
    masks.backslashes |= gather(equal_bytes(word, '\\')) << shift;
    masks.opens |= gather(equal_bytes(folded, '{')) << shift;
    masks.closes |= gather(equal_bytes(folded, '}')) << shift;
  }
  return masks;
}

#endif

/// Sets bit i to the xor of the bits 0 … i: turns quotes into a mask of the characters in strings.
constexpr std::uint64_t prefix_xor(std::uint64_t bits) {
  for (unsigned shift = 1; shift < kBlock; shift *= 2) {
    bits ^= bits << shift;
  }
  return bits;
}

/// Returns the mask of escaped characters. `carry` is true if a backslash of the block before
/// escapes the first character; it is updated for the next block.
std::uint64_t escaped_by(std::uint64_t backslashes, bool& carry) {
  if (backslashes == 0) {
    const std::uint64_t result = carry ? 1 : 0;
    carry = false;
    return result;
  }
  std::uint64_t escaped = 0;
  for (unsigned i = 0; i < kBlock; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (carry) {
      escaped |= bit;
      carry = false;
    } else {
      carry = (backslashes & bit) != 0;
    }
  }
  return escaped;
}

/// The state that passes from one block to the next.
struct ScanState {
  std::size_t depth = 0;
  std::uint64_t in_string = 0;  ///< all ones or zero
  bool escape = false;
};

enum class BlockOutcome : std::uint8_t { kGoOn, kClosed, kTooDeep };

/// Counts the brackets of one block; sets `offset` to the bracket that ends the scan.
BlockOutcome scan_block(const char* block, ScanState& state, std::size_t& offset) {
  const BlockMasks masks = masks_of(block);
  const std::uint64_t quotes = masks.quotes & ~escaped_by(masks.backslashes, state.escape);
  const std::uint64_t inside = prefix_xor(quotes) ^ state.in_string;
  state.in_string = (inside >> (kBlock - 1)) != 0 ? ~std::uint64_t{0} : 0;
  const std::uint64_t opens = masks.opens & ~inside;
  const std::uint64_t closes = masks.closes & ~inside;
  for (std::uint64_t rest = opens | closes; rest != 0; rest &= rest - 1) {
    const std::uint64_t lowest = rest & (~rest + 1);
    offset = static_cast<std::size_t>(std::countr_zero(rest));
    if ((opens & lowest) != 0) {
      if (++state.depth > kMaxJsonDepth) {
        return BlockOutcome::kTooDeep;
      }
    } else if (--state.depth == 0) {
      return BlockOutcome::kClosed;
    }
  }
  return BlockOutcome::kGoOn;
}

}  // namespace

ScanResult scan_brackets(std::string_view json, std::size_t begin, std::size_t depth) {
  ScanState state{.depth = depth};
  std::size_t offset = 0;
  for (std::size_t position = begin; position < json.size(); position += kBlock) {
    const std::size_t left = json.size() - position;
    std::array<char, kBlock> last;
    const char* block = json.data() + position;
    if (left < kBlock) {
      last.fill(' ');
      std::copy_n(block, left, last.begin());
      block = last.data();
    }
    switch (scan_block(block, state, offset)) {
      case BlockOutcome::kGoOn:
        break;
      case BlockOutcome::kClosed:
        return {ScanStatus::kComplete, position + offset + 1};
      case BlockOutcome::kTooDeep:
        return {ScanStatus::kTooDeep, position + offset};
    }
  }
  return {ScanStatus::kCutOff, json.size()};
}

std::size_t find_string_end(std::string_view json, std::size_t begin) {
  for (std::size_t position = begin;;) {
    position = find_mark<false>(json, position);
    if (position >= json.size()) {
      return std::string_view::npos;
    }
    if (json[position] == '"') {
      return position;
    }
    position += 2;  // the backslash and what it escapes
  }
}

std::size_t skip_space(std::string_view json, std::size_t begin) {
  return std::min(json.find_first_not_of(" \t\r\n", begin), json.size());
}

std::size_t find_json_start(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  return skip_space(text, text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

Error too_deep() {
  return bad_input("brackets nested too deep",
                   {.field = "nodes",
                    .expected = fmt::format("at most {} brackets inside each other", kMaxJsonDepth),
                    .got = "more"});
}

}  // namespace understudy::et_schema
