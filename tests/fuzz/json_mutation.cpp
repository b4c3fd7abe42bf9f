#include "json_mutation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace understudy::fuzz {
namespace {

enum class TokenKind { kNumber, kText, kArray, kObject };

/// A value in the text, [begin, end).
struct Token {
  TokenKind kind = TokenKind::kNumber;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view key;     ///< the last key before it
  bool is_element = false;  ///< of an array
};

bool is_number_character(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/// Finds values without asking that they are right: mutated text is mutated again.
class Scanner {
 public:
  explicit Scanner(std::string_view json) : json_(json) {}

  std::vector<Token> scan() {
    while (at_ < json_.size()) {
      step();
    }
    return std::move(tokens_);
  }

 private:
  void step() {
    const char c = json_[at_];
    if (c == '{' || c == '[') {
      open_.push_back(tokens_.size());
      add(c == '[' ? TokenKind::kArray : TokenKind::kObject, at_, at_);
      ++at_;
    } else if ((c == '}' || c == ']') && !open_.empty()) {
      ++at_;
      tokens_[open_.back()].end = at_;
      open_.pop_back();
    } else if (c == '"') {
      take_text();
    } else if (is_number_character(c) && c != 'e' && c != 'E') {
      const std::size_t begin = at_;
      while (at_ < json_.size() && is_number_character(json_[at_])) {
        ++at_;
      }
      add(TokenKind::kNumber, begin, at_);
    } else {
      ++at_;
    }
  }

  void take_text() {
    const std::size_t begin = at_++;
    while (at_ < json_.size() && json_[at_] != '"') {
      at_ += json_[at_] == '\\' ? 2U : 1U;
    }
    at_ = std::min(at_ + 1, json_.size());
    std::size_t next = at_;
    while (next < json_.size() && json_[next] == ' ') {
      ++next;
    }
    if (next < json_.size() && json_[next] == ':') {
      key_ = json_.substr(begin, at_ - begin);
    } else {
      add(TokenKind::kText, begin, at_);
    }
  }

  void add(TokenKind kind, std::size_t begin, std::size_t end) {
    const bool is_element = !open_.empty() && tokens_.size() != open_.back() &&
                            tokens_[open_.back()].kind == TokenKind::kArray;
    tokens_.push_back({kind, begin, end, key_, is_element});
  }

  std::string_view json_;
  std::size_t at_ = 0;
  std::string_view key_;
  std::vector<std::size_t> open_;  ///< tokens of the brackets around
  std::vector<Token> tokens_;
};

class Mutator {
 public:
  Mutator(const std::string& json, const std::vector<std::string_view>& texts, Random& random)
      : json_(json), texts_(texts), random_(random), tokens_(Scanner(json).scan()) {
    // A bracket that is never closed is no value.
    std::erase_if(tokens_, [](const Token& token) { return token.end <= token.begin; });
  }

  std::string mutate() {
    if (tokens_.empty()) {
      return json_;
    }
    const Token& token = tokens_[random_.below(tokens_.size())];
    switch (random_.below(8)) {
      case 0:
      case 1:
        return replaced(token, text_of(another_like(token)));
      case 2:
        return swapped(token, another_like(token));
      case 3:
        return token.is_element ? without(token) : replaced(token, text_of(another_like(token)));
      case 4:
      case 5:
        return token.is_element ? repeated(token) : swapped(token, another_like(token));
      default:
        return changed(token);
    }
  }

 private:
  [[nodiscard]] std::string text_of(const Token& token) const {
    return json_.substr(token.begin, token.end - token.begin);
  }

  const Token& another_like(const Token& token) {
    const bool same_key = random_.below(4) != 0;
    std::vector<const Token*> alike;
    for (const Token& other : tokens_) {
      if (other.kind == token.kind && other.begin != token.begin &&
          (!same_key || other.key == token.key)) {
        alike.push_back(&other);
      }
    }
    return alike.empty() ? token : *alike[random_.below(alike.size())];
  }

  [[nodiscard]] std::string replaced(const Token& token, std::string_view text) const {
    std::string result = json_;
    return result.replace(token.begin, token.end - token.begin, text);
  }

  [[nodiscard]] std::string swapped(const Token& a, const Token& b) const {
    const Token& first = a.begin < b.begin ? a : b;
    const Token& second = a.begin < b.begin ? b : a;
    if (first.end > second.begin) {
      return replaced(first, text_of(second));  // one holds the other
    }
    return json_.substr(0, first.begin) + text_of(second) +
           json_.substr(first.end, second.begin - first.end) + text_of(first) +
           json_.substr(second.end);
  }

  [[nodiscard]] std::string without(const Token& token) const {
    std::size_t begin = token.begin;
    std::size_t end = token.end;
    if (end < json_.size() && json_[end] == ',') {
      ++end;
    } else if (begin > 0 && json_[begin - 1] == ',') {
      --begin;
    }
    return json_.substr(0, begin) + json_.substr(end);
  }

  std::string repeated(const Token& token) {
    constexpr std::size_t kHighestId = 64;
    std::string copy = text_of(token);
    constexpr std::string_view kId = "{\"id\":";
    if (copy.starts_with(kId)) {
      const std::size_t end = copy.find_first_not_of("0123456789 ", kId.size());
      copy = std::string(kId) + std::to_string(random_.below(kHighestId)) +
             (end == std::string::npos ? std::string() : copy.substr(end));
    }
    return json_.substr(0, token.end) + "," + copy + json_.substr(token.end);
  }

  std::string changed(const Token& token) {
    static constexpr auto kNumbers = std::to_array<std::string_view>({"-1",
                                                                      "0",
                                                                      "1",
                                                                      "2",
                                                                      "3",
                                                                      "7",
                                                                      "8",
                                                                      "255",
                                                                      "4096",
                                                                      "65536",
                                                                      "2147483648",
                                                                      "4294967295",
                                                                      "1099511627776",
                                                                      "4611686018427387904",
                                                                      "9223372036854775807",
                                                                      "-9223372036854775808",
                                                                      "18446744073709551615",
                                                                      "0.0",
                                                                      "-0.5",
                                                                      "1e300"});
    switch (token.kind) {
      case TokenKind::kNumber:
        return replaced(token, kNumbers[random_.below(kNumbers.size())]);
      case TokenKind::kText:
        return texts_.empty()
                   ? json_
                   : replaced(token,
                              "\"" + std::string(texts_[random_.below(texts_.size())]) + "\"");
      case TokenKind::kArray:
        return replaced(token, "[]");
      case TokenKind::kObject:
        return replaced(token, text_of(another_like(token)));
    }
    return json_;
  }

  const std::string& json_;
  const std::vector<std::string_view>& texts_;
  Random& random_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string mutate_json(const std::string& json, const std::vector<std::string_view>& texts,
                        Random& random) {
  return Mutator(json, texts, random).mutate();
}

}  // namespace understudy::fuzz
