#include "et_schema/model/operator_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "et_schema/base/error.h"
#include "et_schema/base/words.h"
#include "et_schema/facts/schema_text.h"

namespace understudy::et_schema {
namespace {

/// Verdicts that no rule on schemas can reach. The first matching row decides.
struct Reviewed {
  std::string_view names;  ///< words (words.h) without overloads, or "namespace::*"
  OperatorReach reach;
  std::string_view why;
};

constexpr auto kComputes = OperatorReach::kComputes;
constexpr auto kUnknown = OperatorReach::kUnknown;
constexpr auto kBeyond = OperatorReach::kBeyond;

constexpr Reviewed kReviewed[] = {
    // Checks, which return nothing but throw if a tensor is invalid.
    {"aten::_assert_async aten::_assert_scalar aten::_assert_tensor_metadata "
     "aten::_functional_assert_async aten::_functional_assert_scalar aten::_linalg_check_errors "
     "aten::_validate_compressed_sparse_indices aten::_validate_sparse_bsc_tensor_args "
     "aten::_validate_sparse_bsr_tensor_args aten::_validate_sparse_compressed_tensor_args "
     "aten::_validate_sparse_coo_tensor_args aten::_validate_sparse_csc_tensor_args "
     "aten::_validate_sparse_csr_tensor_args aten::sym_constrain_range "
     "aten::sym_constrain_range_for_size",
     kComputes, ""},
    // Informs the allocator which stream uses a tensor.
    {"aten::record_stream", kComputes, ""},
    {"aten::from_file", kBeyond, "it opens the file that an argument names"},
    {"aten::save", kBeyond, "it writes the file that an argument names"},
    {"aten::_print", kBeyond, "it prints"},
    {"aten::set_data", kBeyond, "it puts other memory under a tensor"},
    {"aten::align_to", kBeyond, "it writes where an index says that nothing checks"},
    {"inductor::_mm_plus_mm inductor::accumulate_grad_", kComputes, ""},
    {"aten::_nested_view_from_buffer aten::_nested_view_from_buffer_copy aten::_reshape_alias_copy "
     "inductor::_alloc_from_pool inductor::_reinterpret_tensor",
     kBeyond, "it shows memory in a layout that nothing checks"},
    {"inductor::resize_storage_bytes_", kBeyond, "it frees memory that tensors show"},
    {"profiler::*", kBeyond, "it takes a tensor's content for an address"},
    {"debugprims::*", kBeyond, "it reads the file that an argument names"},
    {"prim::*", kUnknown, ""},
};

/// Namespaces whose operators compute: PyTorch's own, and those of its sibling libraries, which
/// exist only after a user has loaded them.
constexpr std::string_view kComputing =
    "_quantized aten fbgemm inductor mkl mkldnn mkldnn_prepacked onednn prims quantized "
    "quantization sparse torchvision";

/// Text arguments that select a way to compute.
constexpr std::string_view kOptionNames =
    "UPLO a activation algorithm api_name approximate assert_msg attr b binary_attr binary_post_op "
    "bounds_check_mode dim dim0 dim1 dim2 dims driver end_dim equation indexing interpolation "
    "layout mode names norm ord order out_dim outdim p pad_mode padding padding_side "
    "post_op_algorithm post_op_name reduce rounding_mode side start_dim unary_algorithm unary_attr "
    "unary_post_op unary_post_op_algorithm";

std::string_view namespace_of(std::string_view name) {
  const std::size_t colons = name.find("::");
  return colons == std::string_view::npos ? std::string_view() : name.substr(0, colons);
}

bool names(std::string_view row, std::string_view name) {
  return row.ends_with("::*") ? namespace_of(row) == namespace_of(name) : has_word(row, name);
}

bool is_text(std::string_view type) {
  return type == "str" || type.starts_with("str?") || type.starts_with("str[");
}

/// Returns a text argument that is not such an option; empty if there is none.
std::optional<std::string_view> foreign_text(std::string_view schema) {
  for (const SchemaArgument& argument : arguments_of(schema)) {
    if (is_text(argument.type) && !has_word(kOptionNames, argument.name)) {
      return argument.name;
    }
  }
  return std::nullopt;
}

bool has_effect_on_tensors(std::string_view schema) {
  const std::string_view returned = returns_of(schema);
  if (!returned.empty() && returned != "()") {
    return true;
  }
  const std::vector<SchemaArgument> arguments = arguments_of(schema);
  return std::ranges::any_of(arguments, [](const SchemaArgument& argument) {
    return argument.type.find('!') != std::string_view::npos;
  });
}

[[noreturn]] void refuse(const std::string& why, const std::string& name, ErrorContext context) {
  context.expected = "operators that only compute";
  context.got = fmt::format("{}: {}", name, why);
  context.hint = fmt::format(
      "If you trust whoever made it, --allow-operator {} lets it be called. What is refused and "
      "why: docs/trust.md.",
      without_overload(name));
  throw bad_input("an operator does more than compute", std::move(context));
}

class Refuser {
 public:
  Refuser(const Program& program, int rank, const std::string& file,
          const AllowedOperators& allowed)
      : program_(program),
        rank_(rank),
        file_(file),
        allowed_(allowed),
        of_schema_(program.schemas.size()) {}

  void refuse_any(const std::vector<Instruction>& instructions, const std::string& place) {
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Instruction& instruction = instructions[i];
      if (instruction.kind == InstructionKind::kOp) {
        refuse_one(instruction, place, i);
      }
      if (!instruction.body.empty()) {
        refuse_any(instruction.body, fmt::format("{} {}, body instruction", place, i));
      }
    }
  }

 private:
  void refuse_one(const Instruction& instruction, const std::string& place, std::size_t position) {
    OperatorTrust trust = trust_of(instruction.name);
    if (trust.reach == OperatorReach::kComputes && instruction.schema) {
      std::optional<OperatorTrust>& known = of_schema_[*instruction.schema];
      if (!known) {
        known = trust_of(program_.schemas[*instruction.schema]);
      }
      trust = *known;
    }
    if (trust.reach == OperatorReach::kBeyond && !allows(allowed_, instruction.name)) {
      ErrorContext context;
      context.file = file_;
      context.rank = rank_;
      context.node = instruction.node_id;
      context.field = fmt::format("{} {}", place, position);
      refuse(trust.why, instruction.name, std::move(context));
    }
  }

  const Program& program_;
  int rank_;
  const std::string& file_;
  const AllowedOperators& allowed_;
  std::vector<std::optional<OperatorTrust>> of_schema_;
};

}  // namespace

OperatorTrust trust_of(std::string_view schema) {
  const std::string_view name = without_overload(operator_name(schema));
  const Reviewed* const row = std::ranges::find_if(
      kReviewed, [&](const Reviewed& candidate) { return names(candidate.names, name); });
  if (row != std::end(kReviewed)) {
    return {row->reach, std::string(row->why)};
  }
  if (!has_word(kComputing, namespace_of(name))) {
    return {kUnknown, "it is of no namespace that is known to compute"};
  }
  if (schema.find('(') == std::string_view::npos) {
    return {};  // `schema` is only a name
  }
  if (const auto text = foreign_text(schema)) {
    return {kBeyond, fmt::format("its text argument '{}' chooses no way to compute", *text)};
  }
  if (!has_effect_on_tensors(schema)) {
    return {kBeyond, "it returns nothing and writes to no tensor"};
  }
  return {};
}

bool allows(const AllowedOperators& allowed, std::string_view name) {
  return !allowed.empty() && (allowed.contains("*") || allowed.contains(name) ||
                              allowed.contains(without_overload(name)));
}

void refuse_operators(const Program& program, int rank, const std::string& file,
                      const AllowedOperators& allowed) {
  Refuser(program, rank, file, allowed).refuse_any(program.instructions, "instruction");
}

void refuse_operator(std::string_view schema, const Instruction& instruction,
                     const AllowedOperators& allowed) {
  const OperatorTrust trust = trust_of(schema);
  if (trust.reach == OperatorReach::kBeyond && !allows(allowed, instruction.name)) {
    ErrorContext context;
    context.node = instruction.node_id;
    refuse(trust.why, std::string(operator_name(schema)), std::move(context));
  }
}

}  // namespace understudy::et_schema
