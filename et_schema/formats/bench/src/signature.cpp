#include "et_schema/bench/signature.h"

#include <sodium.h>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "et_schema/support/assert.h"
#include "et_schema/support/error.h"
#include "et_schema/support/json_fields.h"
#include "et_schema/support/zip.h"

namespace understudy::et_schema {
namespace {

using Members = std::map<std::string, std::string>;
using Hash = std::array<unsigned char, crypto_generichash_BYTES_MAX>;
using SignatureBytes = std::array<unsigned char, crypto_sign_BYTES>;

constexpr const char* kFormatName = "understudy-signature";
constexpr int kVersion = 1;
constexpr const char* kAlgorithm = "Ed25519";
constexpr const char* kManifest = "manifest.json";  // stands first, so that the file is known by it

class Hasher {
 public:
  Hasher() { crypto_generichash_init(&state_, nullptr, 0, Hash{}.size()); }
  void add(std::string_view bytes) {
    // Lengths in front keep what is in one text from being taken for the end of another.
    std::array<unsigned char, sizeof(std::uint64_t)> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<unsigned char>(bytes.size() >> (8 * i));
    }
    crypto_generichash_update(&state_, length.data(), length.size());
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }
  [[nodiscard]] Hash finish() {
    Hash hash{};
    crypto_generichash_final(&state_, hash.data(), hash.size());
    return hash;
  }

 private:
  crypto_generichash_state state_{};
};

/// Over all members but the signature, by name.
Hash hash_of(const Members& members) {
  UNDERSTUDY_ASSERT(sodium_init() >= 0);
  Hasher hasher;
  hasher.add(std::string(kFormatName) + " " + std::to_string(kVersion));
  for (const auto& [name, data] : members) {
    if (name != kSignatureName) {
      hasher.add(name);
      hasher.add(data);
    }
  }
  return hasher.finish();
}

void read_hex(const JsonField& field, std::span<unsigned char> bytes) {
  if (!from_hex(field.as_text(), bytes)) {
    field.fail(std::to_string(2 * bytes.size()) + " hexadecimal digits");
  }
}

struct Signature {
  PublicKey key;
  SignatureBytes bytes{};
};

Signature parse(const std::string& text, const std::string& file) {
  const JsonSource source{file, "the signature cannot be read", "ask for the file again"};
  const nlohmann::json document = parse_json(text, source);
  const JsonField root(document, source);
  check_format(root, {"signature", kFormatName, kVersion});
  if (root.at("algorithm").as_text() != kAlgorithm) {
    root.at("algorithm").fail(kAlgorithm);
  }
  constexpr std::size_t kKeys = 5;
  if (document.size() != kKeys) {  // what else it said would not be signed
    root.fail("format, version, algorithm, public_key and signature, and nothing else");
  }
  Signature signature;
  read_hex(root.at("public_key"), signature.key.bytes);
  read_hex(root.at("signature"), signature.bytes);
  return signature;
}

}  // namespace

std::string sign_bench(std::string_view bytes, const std::string& file, const SecretKey& key) {
  Members members = unzip(bytes, file, process_limits());
  members.erase(kSignatureName);
  const Hash hash = hash_of(members);
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> unused{};
  crypto_sign_seed_keypair(unused.data(), secret.data(), key.seed().data());
  SignatureBytes signature{};
  crypto_sign_detached(signature.data(), nullptr, hash.data(), hash.size(), secret.data());
  sodium_memzero(secret.data(), secret.size());
  const nlohmann::ordered_json document = {{"format", kFormatName},
                                           {"version", kVersion},
                                           {"algorithm", kAlgorithm},
                                           {"public_key", key.public_key().hex()},
                                           {"signature", to_hex(signature)}};
  std::vector<ZipMember> zipped;
  if (const auto manifest = members.extract(kManifest)) {
    zipped.push_back({manifest.key(), manifest.mapped()});
  }
  for (auto& [name, data] : members) {
    zipped.push_back({name, std::move(data)});
  }
  zipped.push_back({kSignatureName, document.dump() + "\n"});
  return zip_bytes(zipped);
}

std::optional<PublicKey> find_signer(std::string_view bytes, const std::string& file) {
  const Members members = unzip(bytes, file, process_limits());
  const auto found = members.find(kSignatureName);
  if (found == members.end()) {
    return std::nullopt;
  }
  const Signature signature = parse(found->second, file + "/" + kSignatureName);
  const Hash hash = hash_of(members);
  const int wrong = crypto_sign_verify_detached(signature.bytes.data(), hash.data(), hash.size(),
                                                signature.key.bytes.data());
  if (wrong != 0) {
    throw bad_input("the signature does not fit the benchmark",
                    {.file = file,
                     .field = kSignatureName,
                     .expected = "a signature of key " + signature.key.hex() + " over all members",
                     .got = "a member or the signature was changed since",
                     .hint = "do not use this file; ask its author for it again"});
  }
  return signature.key;
}

void require_signature(std::string_view bytes, const std::string& file, const PublicKey& key) {
  const std::optional<PublicKey> signer = find_signer(bytes, file);
  if (signer == key) {
    return;
  }
  throw bad_input(
      signer ? "somebody else signed the benchmark" : "the benchmark is not signed",
      {.file = file,
       .field = kSignatureName,
       .expected = "a signature of key " + key.hex(),
       .got = signer ? "one of key " + signer->hex() : "none",
       .hint = signer ? "ask for its author's public key another way than with the file"
                      : "its author signs it with generate BENCH --sign KEY -o SIGNED"});
}

}  // namespace understudy::et_schema
