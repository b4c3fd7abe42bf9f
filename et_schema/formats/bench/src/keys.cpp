#include "et_schema/bench/keys.h"

#include <sodium.h>

#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "et_schema/support/quote.h"

namespace understudy::et_schema {
namespace {

using Bytes = std::array<unsigned char, kKeyBytes>;

constexpr std::string_view kSecretPrefix = "understudy-ed25519-secret:";
constexpr std::string_view kPublicPrefix = "understudy-ed25519-public:";
constexpr std::size_t kDigits = 2 * kKeyBytes;

void start_sodium() {
  UNDERSTUDY_ASSERT(sodium_init() >= 0);
}

/// What is there, but for the digits of a secret.
std::string shown(std::string_view text) {
  if (text.empty()) {
    return "an empty file";
  }
  if (text.starts_with(kSecretPrefix)) {
    return "a secret key";
  }
  return text.starts_with(kPublicPrefix) ? "a public key"
                                         : "\"" + quote(text.substr(0, 16)) + "\" …";
}

[[noreturn]] void refuse(const std::string& file, std::string_view prefix, std::string got) {
  const bool is_secret = prefix == kSecretPrefix;
  throw bad_input(
      is_secret ? "not a secret key" : "not a public key",
      {.file = file,
       .expected = std::string(prefix) + " and " + std::to_string(kDigits) + " hexadecimal digits",
       .got = std::move(got),
       .hint = is_secret ? "generate --new-key FILE makes one"
                         : "it lies beside the secret key that was made with it, as FILE.pub"});
}

Bytes parse(std::string_view text, const std::string& file, std::string_view prefix) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  if (!text.starts_with(prefix)) {
    refuse(file, prefix, shown(text));
  }
  const std::string_view digits = text.substr(prefix.size());
  Bytes bytes{};
  if (!from_hex(digits, bytes)) {
    refuse(file, prefix, std::to_string(digits.size()) + " characters that are no such number");
  }
  return bytes;
}

}  // namespace

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string digits(2 * bytes.size() + 1, '\0');
  sodium_bin2hex(digits.data(), digits.size(), bytes.data(), bytes.size());
  digits.pop_back();
  return digits;
}

bool from_hex(std::string_view text, std::span<unsigned char> bytes) {
  std::size_t count = 0;
  const char* end = nullptr;
  return text.size() == 2 * bytes.size() &&
         sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &count,
                        &end) == 0 &&
         count == bytes.size() && end == text.data() + text.size();
}

std::string PublicKey::hex() const {
  return to_hex(bytes);
}

SecretKey::~SecretKey() {
  sodium_memzero(seed_.data(), seed_.size());
}

PublicKey SecretKey::public_key() const {
  start_sodium();
  PublicKey key;
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
  static_assert(crypto_sign_SEEDBYTES == kKeyBytes && crypto_sign_PUBLICKEYBYTES == kKeyBytes);
  crypto_sign_seed_keypair(key.bytes.data(), secret.data(), seed_.data());
  sodium_memzero(secret.data(), secret.size());
  return key;
}

SecretKey make_key() {
  start_sodium();
  Bytes seed{};
  randombytes_buf(seed.data(), seed.size());
  SecretKey key(seed);
  sodium_memzero(seed.data(), seed.size());
  return key;
}

std::string to_text(const SecretKey& key) {
  return std::string(kSecretPrefix) + to_hex(key.seed()) + "\n";
}

std::string to_text(const PublicKey& key) {
  return std::string(kPublicPrefix) + key.hex() + "\n";
}

SecretKey parse_secret_key(std::string_view text, const std::string& file) {
  return SecretKey(parse(text, file, kSecretPrefix));
}

PublicKey parse_public_key(std::string_view text, const std::string& file) {
  return {parse(text, file, kPublicPrefix)};
}

}  // namespace understudy::et_schema
