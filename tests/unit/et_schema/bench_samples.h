#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "et_schema/formats/bench/bench.h"

namespace understudy::et_schema {

/// A benchmark of random content that holds together: every kind of argument, rule and instruction
/// comes up. The same seed gives the same benchmark.
[[nodiscard]] Bench random_bench(std::uint64_t seed, int ranks);

/// One step of a small data-parallel model on `ranks` ranks that behave alike: they differ in node
/// ids, device, root and splits, as ranks of real traces do.
[[nodiscard]] Bench equal_ranks_bench(int ranks, int instructions = 200);

/// The smallest benchmark: one rank, one operator.
[[nodiscard]] Bench tiny_bench();

/// The bytes of bench.et.
[[nodiscard]] std::string packed(const Bench& bench);

/// The bytes of a bench.et whose member `name` went through `change`.
[[nodiscard]] std::string packed_with(const Bench& bench, const std::string& name,
                                      const std::function<std::string(std::string)>& change);

/// `text` with the first `from` replaced; asserts that it is there.
[[nodiscard]] std::string replaced(std::string text, const std::string& from,
                                   const std::string& to);

}  // namespace understudy::et_schema
