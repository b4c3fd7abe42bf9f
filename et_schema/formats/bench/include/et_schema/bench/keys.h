#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace understudy::et_schema {

inline constexpr std::size_t kKeyBytes = 32;

/// Others check a signature with it.
struct PublicKey {
  std::array<unsigned char, kKeyBytes> bytes{};
  /// 64 hexadecimal digits.
  [[nodiscard]] std::string hex() const;
  bool operator==(const PublicKey&) const = default;
};

/// Signatures are made with it: Ed25519's seed. It is wiped when it goes.
class SecretKey {
 public:
  explicit SecretKey(const std::array<unsigned char, kKeyBytes>& seed) : seed_(seed) {}
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  [[nodiscard]] const std::array<unsigned char, kKeyBytes>& seed() const { return seed_; }
  [[nodiscard]] PublicKey public_key() const;

 private:
  std::array<unsigned char, kKeyBytes> seed_;
};

/// A new key, of the system's random numbers.
[[nodiscard]] SecretKey make_key();

/// The text of a key's file: one line, "understudy-ed25519-secret:" or "understudy-ed25519-public:"
/// and 64 hexadecimal digits.
[[nodiscard]] std::string to_text(const SecretKey& key);
[[nodiscard]] std::string to_text(const PublicKey& key);

/// The keys of such texts; `file` names it in errors. Throws Error (bad input): another text, a
/// secret key where a public one belongs or the other way round.
[[nodiscard]] SecretKey parse_secret_key(std::string_view text, const std::string& file);
[[nodiscard]] PublicKey parse_public_key(std::string_view text, const std::string& file);

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);

/// Whether the text is two hexadecimal digits a byte, and nothing else; fills `bytes` if so.
[[nodiscard]] bool from_hex(std::string_view text, std::span<unsigned char> bytes);

}  // namespace understudy::et_schema
