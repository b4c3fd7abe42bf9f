#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "batch_rules.h"

namespace understudy::generator::batch {

/// Helpers for rules.
[[noreturn]] void refuse(const std::string& wanted, const std::string& got);
[[nodiscard]] std::string text_of(const BatchTensor& tensor);
[[nodiscard]] Dims none(const BatchTensor& tensor);
[[nodiscard]] std::int64_t elements(const BatchTensor& tensor);
/// Returns `dims` for each result.
[[nodiscard]] std::vector<Dims> all_of(const BatchCall& call, const Dims& dims);
/// Returns dims_of(result) for each result.
template <typename DimsOf>
[[nodiscard]] std::vector<Dims> each_result(const BatchCall& call, const DimsOf& dims_of) {
  std::vector<Dims> results;
  std::ranges::transform(call.outputs, std::back_inserter(results), dims_of);
  return results;
}
/// Returns the tensor at a position among the arguments; refuses if there are fewer.
[[nodiscard]] const BatchTensor& input(const BatchCall& call, std::size_t at);
/// Returns the numbers of an argument: a list or a single number.
[[nodiscard]] std::vector<std::int64_t> numbers_at(const BatchCall& call, std::size_t argument);
/// For results without inputs: the first dimension grows if it has the batch's size.
[[nodiscard]] Dims made(const BatchTensor& out, std::int64_t batch);

/// Rules of operators that make no new values.
[[nodiscard]] std::vector<Dims> reshape(const BatchCall& call);
[[nodiscard]] std::vector<Dims> transpose(const BatchCall& call);
[[nodiscard]] std::vector<Dims> permute(const BatchCall& call);
[[nodiscard]] std::vector<Dims> expand(const BatchCall& call);
[[nodiscard]] std::vector<Dims> factory(const BatchCall& call);
[[nodiscard]] std::vector<Dims> alias(const BatchCall& call);
[[nodiscard]] std::vector<Dims> concatenate(const BatchCall& call);
[[nodiscard]] std::vector<Dims> stack(const BatchCall& call);
[[nodiscard]] std::vector<Dims> index(const BatchCall& call);
[[nodiscard]] std::vector<Dims> part_along_first(const BatchCall& call);
[[nodiscard]] std::vector<Dims> part_along_second(const BatchCall& call);
[[nodiscard]] std::vector<Dims> part_backward(const BatchCall& call);
[[nodiscard]] std::vector<Dims> complex_of_pairs(const BatchCall& call);
[[nodiscard]] std::vector<Dims> pairs_of_complex(const BatchCall& call);

}  // namespace understudy::generator::batch
