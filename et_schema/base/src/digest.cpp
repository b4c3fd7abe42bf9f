#include "et_schema/base/digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/hmac.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <functional>
#include <random>
#include <system_error>

#include "et_schema/base/error.h"

namespace understudy::et_schema {
namespace {

const std::uint8_t* data_of(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// Returns the hexadecimal digits of the digest that `take` computes.
template <typename Context>
std::string text_of(Context& context, void (*take)(Context*, std::size_t, std::uint8_t*)) {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  take(&context, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace

std::string digest_of(std::string_view bytes) {
  sha256_ctx context{};
  sha256_init(&context);
  sha256_update(&context, bytes.size(), data_of(bytes));
  return text_of(context, sha256_digest);
}

std::string digest_of_file(const std::string& path) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
  std::ifstream file(path, std::ios::binary);
  std::string piece(kPieceBytes, '\0');
  sha256_ctx context{};
  sha256_init(&context);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    sha256_update(&context, static_cast<std::size_t>(file.gcount()), data_of(piece));
  }
  if (!file.eof()) {
    throw bad_input("the file cannot be read",
                    {.file = path, .got = std::generic_category().message(errno)});
  }
  return text_of(context, sha256_digest);
}

std::string keyed_digest(std::string_view key, std::string_view text) {
  hmac_sha256_ctx context{};
  hmac_sha256_set_key(&context, key.size(), data_of(key));
  hmac_sha256_update(&context, text.size(), data_of(text));
  return text_of(context, hmac_sha256_digest);
}

std::string random_digits() {
  std::random_device random;
  std::array<std::uint32_t, SHA256_DIGEST_SIZE / sizeof(std::uint32_t)> words{};
  std::ranges::generate(words, std::ref(random));
  return fmt::format("{:08x}", fmt::join(words, ""));
}

}  // namespace understudy::et_schema
