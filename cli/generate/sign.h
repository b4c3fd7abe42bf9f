#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace understudy::cli {

/// Whether and with which key to sign, or that a key is to be made.
struct SignChoice {
  std::string key_path;      ///< empty: unsigned
  std::string new_key_path;  ///< empty: none is made
};

void add_sign_options(CLI::App& app, SignChoice& choice);

/// Makes a key: the secret one in the file, which its owner alone may read, and the public one
/// beside it, FILE.pub. Throws Error (failed) if one is there already.
void write_new_key(const SignChoice& choice, bool quiet);

/// A benchmark's bytes, signed as chosen. Throws Error (bad input): no secret key.
[[nodiscard]] std::string signed_as(const SignChoice& choice, std::string bytes,
                                    const std::string& file);

}  // namespace understudy::cli
