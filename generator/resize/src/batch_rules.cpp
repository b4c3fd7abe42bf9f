#include "batch_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "batch_views.h"
#include "et_schema/facts/operator_facts.h"
#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace batch {
namespace {

using Rule = std::vector<Dims> (*)(const BatchCall&);

/// Broadcasts the arguments, aligned at their last dimension, to the result.
Dims broadcast_to(const BatchCall& call, const BatchTensor& result) {
  Dims dims = none(result);
  const auto at_each = [&](auto&& visit) {
    for (const BatchTensor& in : call.inputs) {
      if (in.sizes.size() > result.sizes.size()) {
        refuse("arguments that broadcast to " + text_of(result), text_of(in));
      }
      const std::size_t left = result.sizes.size() - in.sizes.size();
      for (std::size_t d = 0; d < in.sizes.size(); ++d) {
        visit(in, d, left + d);
      }
    }
  };
  at_each([&](const BatchTensor& in, std::size_t from, std::size_t to) {
    if (in.sizes[from] != result.sizes[to] && in.sizes[from] != 1) {
      refuse("arguments that broadcast to " + text_of(result), text_of(in));
    }
    dims[to] = dims[to] || in.dims[from];
  });
  at_each([&](const BatchTensor& in, std::size_t from, std::size_t to) {
    if (dims[to] && !in.dims[from] && in.sizes[from] != 1) {
      refuse("arguments that all grow with the batch, or have one element there",
             text_of(in) + ", which does not");
    }
  });
  return dims;
}

std::vector<Dims> broadcast(const BatchCall& call) {
  return each_result(call, [&](const BatchTensor& out) { return broadcast_to(call, out); });
}

/// A sum or mean over all elements, or one loss for each sample.
std::vector<Dims> loss(const BatchCall& call) {
  const bool is_one =
      std::ranges::all_of(call.outputs, [](const BatchTensor& out) { return out.sizes.empty(); });
  return is_one ? all_of(call, {}) : broadcast(call);
}

void check_contraction(bool left, bool right) {
  if (left != right) {
    refuse("factors that grow together where they are summed over", "one that does not");
  }
}

/// Returns the growing dimensions of the matrix products of `a` and `b`, which must have equal
/// rank. Dimensions before the last two number the matrices.
Dims product_of(const BatchCall& call, const BatchTensor& a, const BatchTensor& b) {
  const std::size_t rank = a.sizes.size();
  if (rank < 2 || b.sizes.size() != rank) {
    refuse("factors of as many dimensions", text_of(a) + " and " + text_of(b));
  }
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (a.dims[d] != b.dims[d]) {
      refuse("factors that grow alike", text_of(a) + " and " + text_of(b));
    }
  }
  check_contraction(a.dims[rank - 1], b.dims[rank - 2]);
  if (a.dims[rank - 2] && b.dims[rank - 1] && !call.batch.anywhere) {
    refuse("one side of the product that grows", "both, of " + text_of(a) + " and " + text_of(b));
  }
  Dims dims = a.dims;
  dims[rank - 1] = b.dims[rank - 1];
  return dims;
}

std::vector<Dims> product(const BatchCall& call) {
  const BatchTensor& a = input(call, 0);
  const BatchTensor& b = input(call, 1);
  if (b.sizes.size() == 2 && a.sizes.size() > 2) {  // matmul with a matrix
    check_contraction(a.dims.back(), b.dims[0]);
    if (b.dims[1]) {
      refuse("a matrix that is no batch", text_of(b));
    }
    Dims dims = a.dims;
    dims.back() = false;
    return all_of(call, dims);
  }
  return all_of(call, product_of(call, a, b));
}

std::vector<Dims> product_and_addend(const BatchCall& call) {
  const Dims dims = product_of(call, input(call, 1), input(call, 2));
  const BatchTensor& addend = input(call, 0);
  const std::size_t left = dims.size() - std::min(addend.sizes.size(), dims.size());
  for (std::size_t d = 0; d < addend.sizes.size() && left + d < dims.size(); ++d) {
    if (addend.sizes[d] != 1 && addend.dims[d] != dims[left + d]) {
      refuse("an addend that grows as the product does", text_of(addend));
    }
  }
  return all_of(call, dims);
}

std::vector<Dims> linear(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  if (grows(input(call, 1).dims) || in.dims.empty() || in.dims.back()) {
    refuse("weights and features that do not grow", text_of(input(call, 1)));
  }
  return all_of(call, in.dims);
}

std::vector<Dims> reduce(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  const BatchTensor& out = call.outputs.at(0);
  if (out.sizes.empty()) {
    return all_of(call, {});
  }
  const std::vector<std::int64_t> over = numbers_at(call, 1);
  const bool is_kept = out.sizes.size() == in.sizes.size();
  Dims dims;
  for (std::size_t d = 0; d < in.sizes.size(); ++d) {
    const auto number = static_cast<std::int64_t>(d);
    const auto rank = static_cast<std::int64_t>(in.sizes.size());
    const bool is_summed = std::ranges::find(over, number) != over.end() ||
                           std::ranges::find(over, number - rank) != over.end();
    if (!is_summed || is_kept) {
      dims.push_back(!is_summed && in.dims[d]);
    }
  }
  if (over.empty() || dims.size() != out.sizes.size()) {
    refuse("dimensions to reduce among the arguments", text_of(out));
  }
  return all_of(call, dims);
}

/// Marks every dimension of a result that has the size of a growing dimension.
std::vector<Dims> as_long(const BatchCall& call) {
  std::set<std::int64_t> lengths;
  for (const BatchTensor& in : call.inputs) {
    for (std::size_t d = 0; d < in.dims.size(); ++d) {
      if (in.dims[d]) {
        lengths.insert(in.sizes[d]);
      }
    }
  }
  return each_result(call, [&](const BatchTensor& out) {
    Dims dims;
    for (const std::int64_t size : out.sizes) {
      dims.push_back(lengths.contains(size));
    }
    return dims;
  });
}

/// Works sample by sample: the batch is the first dimension of arguments and results.
std::vector<Dims> leading(const BatchCall& call) {
  if (call.batch.anywhere) {
    return as_long(call);
  }
  std::int64_t rows = 0;
  for (const BatchTensor& in : call.inputs) {
    if (grows(in.dims)) {
      if (std::ranges::count(in.dims, true) != 1 || !in.dims[0]) {
        refuse("the batch in front", text_of(in));
      }
      rows = in.sizes[0];
    }
  }
  return each_result(call, [&](const BatchTensor& out) { return made(out, rows); });
}

/// The i-th result grows as the input `inputs[i]`; further results do not grow.
std::vector<Dims> like(const BatchCall& call, const std::vector<int>& inputs) {
  std::vector<Dims> results;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const int from = i < inputs.size() ? inputs[i] : -1;
    const BatchTensor& out = call.outputs[i];
    const bool is_made = from >= 0 && elements(out) > 0 && !out.sizes.empty();
    if (is_made && input(call, static_cast<std::size_t>(from)).sizes != out.sizes) {
      refuse("a result shaped as its argument", text_of(out));
    }
    results.push_back(is_made ? call.inputs[static_cast<std::size_t>(from)].dims : none(out));
  }
  return results;
}

std::vector<Dims> no_batch(const BatchCall& call) {
  return like(call, {});
}

std::vector<Dims> embedding(const BatchCall& call) {
  if (grows(input(call, 0).dims)) {
    refuse("a table that does not grow", text_of(input(call, 0)));
  }
  Dims dims = input(call, 1).dims;
  dims.push_back(false);
  return all_of(call, dims);
}

/// Rule of operators that select rows by an index. The tensor keeps its size; the number of rows
/// grows with the index.
std::vector<Dims> selected_rows(const BatchCall& call) {
  const BatchTensor& in = input(call, 0);
  const std::vector<std::int64_t> at = numbers_at(call, 1);
  const std::int64_t rank = static_cast<std::int64_t>(in.sizes.size());
  const std::int64_t dim = at.size() == 1 ? (at[0] < 0 ? at[0] + rank : at[0]) : rank;
  if (dim >= rank || dim < 0 || in.dims[static_cast<std::size_t>(dim)]) {
    refuse("a dimension that does not grow", text_of(in));
  }
  Dims dims = in.dims;
  dims[static_cast<std::size_t>(dim)] = grows(input(call, 1).dims);
  return all_of(call, dims);
}

/// Embedding bags: indices, offsets and results grow with the batch; the table must not.
std::vector<Dims> bags(const BatchCall& call) {
  if (grows(input(call, 0).dims) || !grows(input(call, 1).dims)) {
    refuse("indices that grow with their bags", text_of(input(call, 1)) + ", which do not");
  }
  constexpr std::size_t kOffsets = 2;
  const BatchTensor& offsets = input(call, kOffsets);
  if (offsets.dims.empty() || !offsets.dims[0]) {
    refuse("offsets that grow with their bags", text_of(offsets) + ", which do not");
  }
  return each_result(call, [&](const BatchTensor& out) {
    const bool is_by_index = !out.sizes.empty() && out.sizes[0] == input(call, 1).sizes[0];
    return made(out, is_by_index ? out.sizes[0] : offsets.sizes[0]);
  });
}

/// Indices of a sparse tensor: if it has more elements in a larger batch, each has a column.
std::vector<Dims> sparse_indices(const BatchCall& call) {
  return input(call, 0).holds_more ? all_of(call, {false, true}) : no_batch(call);
}
std::vector<Dims> sparse_values(const BatchCall& call) {
  Dims dims = none(call.outputs.at(0));
  if (!dims.empty()) {
    dims[0] = input(call, 0).holds_more;
  }
  return all_of(call, dims);
}

struct RuleRow {
  et_schema::BatchRule kind;
  Rule rule;
};

using enum et_schema::BatchRule;

constexpr std::array<RuleRow, et_schema::kBatchRuleCount> kRules = {{
    {kNoRule, nullptr},
    {kBroadcast, broadcast},
    {kLoss, loss},
    {kByIndices, index},
    {kLikeFirst, [](const BatchCall& call) { return like(call, {0}); }},
    {kLikeFirstTwice,
     [](const BatchCall& call) {
       return like(call, {0, 0});
     }},
    {kLikeSecond, [](const BatchCall& call) { return like(call, {1}); }},
    {kLikeNextThree,
     [](const BatchCall& call) {
       return like(call, {1, 2, 3});
     }},
    {kSelectedRows, selected_rows},
    {kPartBackward, part_backward},
    {kComplexOfPairs, complex_of_pairs},
    {kPairsOfComplex, pairs_of_complex},
    {kReshape, reshape},
    {kTranspose, transpose},
    {kPermute, permute},
    {kExpand, expand},
    {kFactory, factory},
    {kProduct, product},
    {kProductAndAddend, product_and_addend},
    {kLinear, linear},
    {kReduce, reduce},
    {kLeading, leading},
    {kConstant, no_batch},
    {kLookup, embedding},
    {kSparseIndices, sparse_indices},
    {kSparseValues, sparse_values},
    {kBags, bags},
    {kConcatenate, concatenate},
    {kStack, stack},
    {kPartAlongFirst, part_along_first},
    {kPartAlongSecond, part_along_second},
}};

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].kind) != i) {
      return false;
    }
  }
  return true;
}
static_assert(are_in_order());

Rule rule_of(std::string_view name) {
  return kRules[static_cast<std::size_t>(et_schema::operator_facts(name).batch)].rule;
}

}  // namespace
}  // namespace batch

bool has_rule(const et_schema::Instruction& instruction) {
  return instruction.kind != InstructionKind::kOp || batch::rule_of(instruction.name) != nullptr;
}

bool is_bag(std::string_view name) {
  return batch::rule_of(name) == batch::bags;
}

bool grows(const Dims& dims) {
  return std::ranges::find(dims, true) != dims.end();
}

std::vector<Dims> batch_of_results(const BatchCall& call) {
  const bool meets_batch = std::ranges::any_of(
      call.inputs, [](const BatchTensor& in) { return grows(in.dims) || in.holds_more; });
  if (meets_batch && et_schema::operator_facts(call.instruction.name).name == "aten::coalesce") {
    batch::refuse("sparse tensors that need not be coalesced", call.instruction.name);
  }
  const bool is_alias = call.instruction.kind == InstructionKind::kAlias;
  const batch::Rule rule = batch::rule_of(call.instruction.name);
  if (meets_batch && !is_alias &&
      (call.instruction.kind != InstructionKind::kOp || rule == nullptr)) {
    batch::refuse("an operator whose rule is known", call.instruction.name);
  }
  if (call.outputs.empty()) {
    return {};
  }
  if (is_alias) {
    return batch::alias(call);
  }
  if (meets_batch || (rule == batch::expand && !call.inputs.empty())) {
    return rule(call);
  }
  return call.inputs.empty() || rule == batch::factory ? batch::factory(call)
                                                       : batch::no_batch(call);
}

}  // namespace understudy::generator
