#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "et_schema/bench/keys.h"

namespace understudy::et_schema {

/// The member that holds a benchmark's signature.
inline constexpr const char* kSignatureName = "signature.json";

/// A benchmark's bytes with a signature over the names and contents of all its members, in place of
/// one that it had. Ed25519 (RFC 8032) over BLAKE2b; what exactly is signed: docs/formats.md.
/// `file` names it in errors. Throws Error (bad input): no zip.
[[nodiscard]] std::string sign_bench(std::string_view bytes, const std::string& file,
                                     const SecretKey& key);

/// Who signed the benchmark; none: nobody. Throws Error (bad input): a signature that does not fit
/// the members, or is none.
[[nodiscard]] std::optional<PublicKey> find_signer(std::string_view bytes, const std::string& file);

/// Throws Error (bad input) unless this key's owner signed the benchmark as it is.
void require_signature(std::string_view bytes, const std::string& file, const PublicKey& key);

}  // namespace understudy::et_schema
