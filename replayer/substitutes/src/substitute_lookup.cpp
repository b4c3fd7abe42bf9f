#include "substitute_lookup.h"

#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <set>
#include <utility>

#include "substitute_table.h"

namespace understudy::replayer {
namespace {

/// Converts fbgemm's SparseType numbers.
at::ScalarType type_of(std::int64_t number) {
  constexpr std::int64_t kFp32 = 0;
  constexpr std::int64_t kFp16 = 1;
  constexpr std::int64_t kBf16 = 5;
  TORCH_CHECK(number == kFp32 || number == kFp16 || number == kBf16, "output_dtype ", number,
              " has no substitute: only 0, 1 and 5 have");
  return number == kFp32 ? at::kFloat : number == kFp16 ? at::kHalf : at::kBFloat16;
}

/// Returns the end of a table: the start of the next table, or the end of the tensor.
std::int64_t table_end(const std::set<std::int64_t>& starts, std::int64_t start,
                       std::int64_t elements) {
  const auto next = starts.upper_bound(start);
  return next == starts.end() ? elements : *next;
}

}  // namespace

Lookup Lookup::read(Inputs& in) {
  Lookup lookup;
  lookup.weights = in.tensor();
  for (const Tensor& other : {in.tensor(), in.tensor()}) {
    const bool has_none = !lookup.weights.defined() || lookup.weights.numel() == 0;
    if (has_none && other.defined() && other.numel() > 0) {
      lookup.weights = other;
    }
  }
  TORCH_CHECK(lookup.weights.defined(), "there are no weights");
  const std::vector<std::int64_t> starts = to_host(in.tensor());
  const std::vector<std::int64_t> columns = to_host(in.tensor());
  lookup.total_dim = in.integer(columns.empty() ? 0 : columns.back());  // a backward lacks it
  lookup.indices = in.tensor();
  lookup.offsets = in.tensor();
  lookup.pooling = static_cast<Pooling>(in.integer());
  lookup.indice_weights = in.tensor();
  lookup.output_type = type_of(in.integer());

  const auto features = static_cast<std::int64_t>(starts.size());
  TORCH_CHECK(features > 0 && columns.size() == starts.size() + 1, columns.size(),
              " D_offsets do not fit ", features, " weights_offsets");
  TORCH_CHECK(columns.front() == 0 && columns.back() == lookup.total_dim, "D_offsets go from ",
              columns.front(), " to ", columns.back(), ", not from 0 to ", lookup.total_dim);
  TORCH_CHECK(lookup.offsets.numel() > 0 && (lookup.offsets.numel() - 1) % features == 0,
              lookup.offsets.numel(), " offsets do not fit ", features, " features");
  lookup.batch = (lookup.offsets.numel() - 1) / features;
  const std::vector<std::int64_t> offsets = to_host(lookup.offsets);
  TORCH_CHECK(offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()) &&
                  offsets.back() <= lookup.indices.numel(),
              "offsets do not rise from 0 to at most ", lookup.indices.numel());
  const std::set<std::int64_t> ordered(starts.begin(), starts.end());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t dim = columns[i + 1] - columns[i];
    TORCH_CHECK(dim > 0, "feature ", i, " has ", dim, " columns");
    const std::int64_t end = table_end(ordered, starts[i], lookup.weights.numel());
    TORCH_CHECK(starts[i] >= 0 && end <= lookup.weights.numel(), "the table of feature ", i,
                " begins at element ", starts[i], " and ends at ", end, " of ",
                lookup.weights.numel());
    const std::int64_t first = offsets[i * static_cast<std::size_t>(lookup.batch)];
    const std::int64_t last = offsets[(i + 1) * static_cast<std::size_t>(lookup.batch)];
    lookup.features.push_back({.weights_offset = starts[i],
                               .rows = (end - starts[i]) / dim,
                               .dim = dim,
                               .column = columns[i],
                               .first_index = first,
                               .indices = last - first});
  }
  return lookup;
}

Tensor Lookup::table(const LookupFeature& feature) const {
  return weights.narrow(0, feature.weights_offset, feature.rows * feature.dim)
      .view({feature.rows, feature.dim});
}

Tensor Lookup::feature_indices(const LookupFeature& feature) const {
  return indices.narrow(0, feature.first_index, feature.indices);
}

Tensor Lookup::feature_offsets(std::size_t feature) const {
  return offsets.narrow(0, static_cast<std::int64_t>(feature) * batch, batch + 1) -
         features[feature].first_index;
}

Tensor Lookup::feature_weights(std::size_t feature) const {
  Tensor scale;
  if (indice_weights.defined()) {
    scale = indice_weights.narrow(0, features[feature].first_index, features[feature].indices);
  }
  if (pooling == Pooling::kMean) {
    const Tensor lengths = feature_offsets(feature).diff();
    const Tensor inverse = 1 / lengths.to(at::kFloat);
    const Tensor mean = at::repeat_interleave(inverse, lengths, 0);
    scale = scale.defined() ? scale * mean : mean;
  }
  return scale;
}

Tensor look_up(const Lookup& lookup) {
  const at::TensorOptions options = lookup.weights.options().dtype(lookup.output_type);
  if (lookup.pooling == Pooling::kNone) {
    std::vector<Tensor> parts;
    for (const LookupFeature& feature : lookup.features) {
      parts.push_back(at::embedding(lookup.table(feature), lookup.feature_indices(feature)));
    }
    return at::cat(parts).to(lookup.output_type);
  }
  const Tensor output = at::empty({lookup.batch, lookup.total_dim}, options);
  for (std::size_t i = 0; i < lookup.features.size(); ++i) {
    const LookupFeature& feature = lookup.features[i];
    const Tensor scale = lookup.feature_weights(i);
    const Tensor table = lookup.table(feature);
    constexpr std::int64_t kSum = 0;
    const Tensor bags = std::get<0>(at::_embedding_bag(
        table, lookup.feature_indices(feature), lookup.feature_offsets(i),
        /*scale_grad_by_freq=*/false, kSum, /*sparse=*/false,
        scale.defined() ? std::optional(scale.to(table.scalar_type())) : std::nullopt,
        /*include_last_offset=*/true));
    output.narrow(1, feature.column, feature.dim).copy_(bags);
  }
  return output;
}

std::vector<RowGradients> row_gradients(const Lookup& lookup, const Tensor& grad_output) {
  // Features that share a table are updated together, so that each row is updated once.
  std::vector<std::vector<std::size_t>> tables;
  for (std::size_t i = 0; i < lookup.features.size(); ++i) {
    const auto same = std::find_if(tables.begin(), tables.end(), [&](const auto& table) {
      return lookup.features[table.front()].weights_offset == lookup.features[i].weights_offset;
    });
    if (same == tables.end()) {
      tables.push_back({i});
    } else {
      same->push_back(i);
    }
  }
  std::vector<RowGradients> result;
  for (const std::vector<std::size_t>& table : tables) {
    std::vector<Tensor> indices;
    std::vector<Tensor> gradients;
    for (const std::size_t i : table) {
      const LookupFeature& feature = lookup.features[i];
      indices.push_back(lookup.feature_indices(feature));
      Tensor each;
      if (lookup.pooling == Pooling::kNone) {
        each = grad_output.narrow(0, feature.first_index, feature.indices).to(at::kFloat);
      } else {
        const Tensor bags = at::repeat_interleave(lookup.feature_offsets(i).diff());
        each =
            grad_output.narrow(1, feature.column, feature.dim).index_select(0, bags).to(at::kFloat);
      }
      const Tensor scale = lookup.feature_weights(i);
      gradients.push_back(scale.defined() ? each * scale.unsqueeze(1) : each);
    }
    auto [rows, inverse, counts] =
        at::_unique2(at::cat(indices), /*sorted=*/true, /*return_inverse=*/true);
    const Tensor sums =
        at::zeros({rows.numel(), lookup.features[table.front()].dim}, gradients.front().options());
    sums.index_add_(0, inverse, at::cat(gradients));
    result.push_back({.feature = table.front(), .rows = std::move(rows), .gradients = sums});
  }
  return result;
}

namespace {

Results forward(const Lookup& lookup) {
  return {look_up(lookup)};
}

constexpr SubstituteRow kRows[] = {
    {"fbgemm::dense_embedding_codegen_lookup_function fbgemm::split_embedding_codegen_lookup_* "
     "fbgemm::split_embedding_codegen_forward_cpu "
     "fbgemm::split_embedding_codegen_forward_unweighted_pt2_wrapper "
     "fbgemm::split_embedding_codegen_forward_weighted_pt2_wrapper",
     "aten::_embedding_bag over each table", Lookup::kArguments, unpacked<forward>},
};

}  // namespace

std::span<const SubstituteRow> lookup_rows() {
  return kRows;
}

}  // namespace understudy::replayer
