#include <ATen/ops/_validate_sparse_compressed_tensor_args.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <ATen/ops/all.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <c10/util/accumulate.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "et_schema/base/words.h"
#include "et_schema/facts/operator_facts.h"
#include "et_schema/facts/schema_text.h"
#include "substitute_lookup.h"
#include "substitute_native.h"
#include "substitute_table.h"

namespace understudy::replayer {
namespace {

using torch::jit::Stack;

void check_in_range(const Tensor& indices, std::int64_t size, const char* what) {
  if (indices.numel() == 0) {
    return;
  }
  const auto [least, most] = at::aminmax(indices);
  const auto lowest = least.item<std::int64_t>();
  const auto highest = most.item<std::int64_t>();
  TORCH_CHECK(lowest >= 0 && highest < size, what, " ", lowest < 0 ? lowest : highest,
              " is outside of [0, ", size, ")");
}

void check_permute(const Tensor& permute, const Tensor& lengths, const Tensor& values,
                   const Tensor& weights, std::optional<std::int64_t> permuted) {
  check_in_range(permute, lengths.size(0), "permute index");
  TORCH_CHECK(lengths.numel() == 0 || lengths.min().item<std::int64_t>() >= 0,
              "a length is negative");
  const auto total = lengths.to(at::kLong).sum().item<std::int64_t>();
  TORCH_CHECK(total == values.numel(), "lengths add up to ", total, " but there are ",
              values.numel(), " values");
  TORCH_CHECK(!weights.defined() || weights.numel() == values.numel(), "there are ", values.numel(),
              " values but ", weights.numel(), " weights");
  const auto moved =
      lengths.to(at::kLong).index_select(0, permute.to(at::kLong)).sum().item<std::int64_t>();
  TORCH_CHECK(permuted.value_or(-1) < 0 || permuted == moved, "permuted lengths add up to ", moved,
              ", not to ", *permuted);
}

void check_lookup(const Lookup& lookup) {
  for (const LookupFeature& feature : lookup.features) {
    check_in_range(lookup.feature_indices(feature), feature.rows, "index");
  }
}

void check_bounds(const Tensor& rows_per_table, const Tensor& offsets) {
  const std::int64_t tables = rows_per_table.numel();
  TORCH_CHECK(tables > 0 && offsets.numel() > 0 && (offsets.numel() - 1) % tables == 0,
              offsets.numel(), " offsets do not fit ", tables, " tables");
}

void check_indices(const Tensor& indices, std::int64_t size) {
  check_in_range(indices, size, "index");
}

/// Checks numbers of rows of a tensor, or with `kMore` where its rows begin or end.
template <int kMore>
void check_rows(const Tensor& rows, const Tensor& of) {
  check_in_range(rows, of.size(0) + kMore, "index");
}

void check_classes(const Tensor& scores, const Tensor& classes, std::int64_t ignored) {
  const Tensor counted = classes.masked_fill(classes.eq(ignored), 0);
  check_in_range(counted, scores.size(scores.dim() > 1 ? 1 : 0), "class");
}

/// Checks CTC's labels. What pads a row of them is not read.
void check_labels(const Tensor& scores, Tensor labels, const std::vector<std::int64_t>& lengths) {
  if (labels.dim() > 1) {
    const Tensor places = at::arange(labels.size(-1), labels.options());
    labels = labels.masked_select(places.lt(at::tensor(lengths, labels.options()).unsqueeze(1)));
  }
  check_in_range(labels, scores.size(-1), "label");
}

void check_csr_to_coo(const Tensor& rows, const Tensor& columns) {
  check_in_range(rows, columns.numel() + 1, "beginning of a row");
  TORCH_CHECK(rows.dim() != 1 || rows.numel() < 2 ||
                  at::all(at::ge(rows.slice(0, 1), rows.slice(0, 0, -1))).item<bool>(),
              "a row ends before it begins");
}

/// Does the checks of the safe constructors of sparse tensors.
void check_coo(const Tensor& indices, const Tensor& values, const std::vector<std::int64_t>& size) {
  at::_validate_sparse_coo_tensor_args(indices, values, size);
}

void check_compressed(const Tensor& begins, const Tensor& indices, const Tensor& values,
                      const std::vector<std::int64_t>& size, std::int64_t layout) {
  at::_validate_sparse_compressed_tensor_args(begins, indices, values, size,
                                              static_cast<c10::Layout>(layout));
}

/// Checks the indices of max pooling over the last `kDims` dimensions: the backward writes
/// gradients at the indices of the maxima.
template <int kDims>
void check_plane(const Tensor& input, const Tensor& indices) {
  const auto first = static_cast<std::size_t>(input.dim() - kDims);
  const std::int64_t plane = c10::multiply_integers(input.sizes().slice(first));
  check_in_range(indices, plane, "index");
}

/// Checks segments, which are consecutive along the last dimension of their bounds.
void check_segments(const Tensor& data, const Tensor& lengths, const Tensor& offsets,
                    const Tensor& grad, const Tensor& output) {
  const Tensor ends = lengths.defined() ? lengths.cumsum(-1) : offsets;
  TORCH_CHECK(ends.defined() && ends.dim() > 0 && ends.dim() <= data.dim(), "segments lack bounds");
  const auto axis = static_cast<std::size_t>(ends.dim() - 1);
  TORCH_CHECK(ends.sizes().slice(0, axis) == data.sizes().slice(0, axis) &&
                  ends.diff().lt(0).sum().item<std::int64_t>() == 0,
              "segments do not lie one behind the other");
  check_in_range(ends, data.size(ends.dim() - 1) + 1, "end of a segment");
  std::vector<std::int64_t> sizes = data.sizes().vec();
  sizes[axis] = ends.size(-1) - (lengths.defined() ? 0 : 1);
  TORCH_CHECK(
      !grad.defined() || (grad.sizes() == at::IntArrayRef(sizes) && output.sizes() == grad.sizes()),
      "gradients of ", grad.sizes(), " for segments of ", ends.sizes());
}

template <c10::Layout kLayout>
void check_compressed_as(const Tensor& begins, const Tensor& indices, const Tensor& values,
                         const std::vector<std::int64_t>& size) {
  at::_validate_sparse_compressed_tensor_args(begins, indices, values, size, kLayout);
}

struct Check {
  std::string_view op;  ///< as SubstituteRow::op
  std::string_view arguments;
  void (*run)(Inputs&);
};

constexpr std::array kChecks = {
    Check{"fbgemm::permute_2D_sparse_data fbgemm::permute_1D_sparse_data "
          "fbgemm::permute_sparse_data",
          "permute lengths values weights? permuted_lengths_sum?", unpacked<check_permute>},
    Check{"fbgemm::dense_embedding_codegen_lookup_function "
          "fbgemm::split_embedding_codegen_lookup_*",
          Lookup::kArguments, unpacked<check_lookup>},
    // Their kernels count indices in memory of their own.
    Check{"aten::embedding_dense_backward aten::_embedding_bag_dense_backward "
          "aten::_embedding_bag_backward aten::_convert_indices_from_coo_to_csr",
          "self|indices size|num_weights", unpacked<check_indices>},
    Check{"aten::_embedding_bag_dense_backward aten::_embedding_bag_backward "
          "aten::_embedding_bag_per_sample_weights_backward",
          "offset2bag grad", unpacked<check_rows<0>>},
    Check{"aten::_embedding_bag_per_sample_weights_backward", "indices weight",
          unpacked<check_rows<0>>},
    Check{"aten::embedding_bag aten::_embedding_bag aten::_embedding_bag_forward_only "
          "aten::_pad_packed_sequence",
          "offsets|batch_sizes indices|data", unpacked<check_rows<1>>},
    Check{"aten::nll_loss_backward aten::nll_loss2d_backward", "self target ignore_index",
          unpacked<check_classes>},
    Check{"aten::ctc_loss aten::_ctc_loss aten::_ctc_loss_backward",
          "log_probs targets target_lengths", unpacked<check_labels>},
    Check{"aten::_convert_indices_from_csr_to_coo", "crow_indices col_indices",
          unpacked<check_csr_to_coo>},
    Check{"aten::_sparse_coo_tensor_unsafe", "indices values size", unpacked<check_coo>},
    Check{"aten::_sparse_compressed_tensor_unsafe",
          "compressed_indices plain_indices values size layout", unpacked<check_compressed>},
    Check{"aten::_sparse_csr_tensor_unsafe", "crow_indices col_indices values size",
          unpacked<check_compressed_as<c10::kSparseCsr>>},
    Check{"aten::_sparse_csc_tensor_unsafe", "ccol_indices row_indices values size",
          unpacked<check_compressed_as<c10::kSparseCsc>>},
    Check{"aten::_sparse_bsr_tensor_unsafe", "crow_indices col_indices values size",
          unpacked<check_compressed_as<c10::kSparseBsr>>},
    Check{"aten::_sparse_bsc_tensor_unsafe", "ccol_indices row_indices values size",
          unpacked<check_compressed_as<c10::kSparseBsc>>},
    Check{"aten::max_pool2d_with_indices_backward aten::adaptive_max_pool2d_backward "
          "aten::fractional_max_pool2d_backward",
          "self indices", unpacked<check_plane<2>>},
    Check{"aten::max_pool3d_with_indices_backward aten::adaptive_max_pool3d_backward "
          "aten::fractional_max_pool3d_backward",
          "self indices", unpacked<check_plane<3>>},
    Check{"aten::segment_reduce aten::_segment_reduce_backward",
          "data lengths? offsets? grad? output?", unpacked<check_segments>},
    Check{"fbgemm::bounds_check_indices", "rows_per_table offsets", unpacked<check_bounds>},
};

}  // namespace

bool names_operator(std::string_view names, std::string_view op) {
  return et_schema::any_word(names, [op](std::string_view name) {
    return name.ends_with('*') ? op.starts_with(name.substr(0, name.size() - 1))
                               : name == op || name == et_schema::without_overload(op);
  });
}

ArgumentCheck argument_check(std::string_view op, std::span<const std::string> arguments) {
  std::vector<std::pair<const Check*, ArgumentPlaces>> checks;
  for (const Check& check : kChecks) {
    if (names_operator(check.op, op)) {
      if (auto places = ArgumentPlaces::find(check.arguments, arguments)) {
        checks.emplace_back(&check, *std::move(places));
      }
    }
  }
  if (checks.empty()) {
    return {};
  }
  return [checks = std::move(checks),
          count = arguments.size()](const Stack& stack) -> std::optional<std::string> {
    try {
      for (const auto& [check, places] : checks) {
        if (stack.size() >= count) {
          Inputs in(stack, stack.size() - count, places);
          check->run(in);
        }
      }
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::nullopt;
  };
}

std::vector<TableReach> table_reach(std::string_view op, std::span<const std::string> arguments,
                                    const Stack& stack) {
  if (stack.size() < arguments.size()) {
    return {};
  }
  if (op.find("_codegen_lookup_") != std::string_view::npos) {
    return lookup_reach(arguments, stack);
  }
  const et_schema::OperatorFacts& facts = et_schema::operator_facts(op);
  if (!facts.reads_rows && op != "aten::index.Tensor") {
    return {};
  }
  const auto* const indices = std::ranges::find_if(facts.arguments, [](const auto& fact) {
    return fact.meaning == et_schema::Meaning::kIndex ||
           fact.meaning == et_schema::Meaning::kIndexList;
  });
  const bool has_dim = indices->dim == et_schema::kByDim;
  const std::optional<ArgumentPlaces> places = ArgumentPlaces::find(
      fmt::format("{} {}{}", indices->of, indices->name, has_dim ? " dim" : ""), arguments);
  if (!places) {
    return {};
  }
  Inputs in(stack, stack.size() - arguments.size(), *places);
  const Tensor table = in.tensor();
  const std::vector<Tensor> rows = in.tensors();
  const bool is_first_dim = !has_dim || in.integer() == 0;
  // A list with one tensor is of the first dimension.
  if (table.dim() == 0 || table.numel() == 0 || table.is_meta() || !is_first_dim ||
      rows.size() != 1 || !rows[0].defined() ||
      !at::isIntegralType(rows[0].scalar_type(), /*includeBool=*/false)) {
    return {};
  }
  return {{table, table.numel() / table.size(0), to_host(rows[0])}};
}

}  // namespace understudy::replayer
