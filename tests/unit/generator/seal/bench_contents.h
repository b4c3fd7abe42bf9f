#pragma once

#include <algorithm>
#include <string>

#include "et_schema/base/zip.h"
#include "et_schema/formats/bench/bench.h"

namespace understudy::generator {

inline std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  });
  return text;
}

/// All that the file holds, unpacked, in lower case; the names of its members too.
inline std::string contents_of(const et_schema::Bench& bench) {
  std::string all;
  const std::string bytes =
      et_schema::bench_bytes(bench, "bench.et", et_schema::ManifestNames::kClear);
  for (const auto& [name, data] : et_schema::unzip(bytes, "bench.et", {})) {
    all += name + "\n" + data + "\n";
  }
  return lower(all);
}

}  // namespace understudy::generator
