// The built-in operator map: each row is called on the CPU by the schemas that it knows, and its
// results are compared with what its library's reference computes.
#include "replayer/substitutes/mapped.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "et_schema/base/error.h"
#include "et_schema/facts/schema_text.h"
#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using torch::jit::Stack;
const c10::IValue kNone;

std::string schema_of(const std::string& op, std::size_t number = 0) {
  const auto schemas = et_schema::operator_map().schemas_of(op);
  EXPECT_GT(schemas.size(), number) << op;
  return schemas.size() > number ? std::string(schemas[number]) : "";
}

/// Calls the row of an operator by its schema of this number, below autograd, as a replay does.
Stack call_row(const std::string& op, Stack arguments, std::size_t number = 0) {
  const std::string schema = schema_of(op, number);
  EXPECT_EQ(arguments.size(), et_schema::arguments_of(schema).size()) << schema;
  auto found = find_mapped(schema, c10::kCPU);
  if (auto* const why = std::get_if<std::string>(&found)) {
    ADD_FAILURE() << op << ": " << *why;
    return {};
  }
  const at::AutoDispatchBelowADInplaceOrView below;
  std::get<Substitute>(found).call(arguments);
  return arguments;
}

at::Tensor rms(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return x * at::rsqrt(x.square().mean(-1, true) + epsilon) * weight;
}

at::Tensor integers(std::vector<std::int64_t> numbers, at::ScalarType dtype = at::kLong) {
  return at::tensor(at::ArrayRef<std::int64_t>(numbers)).to(dtype);
}

/// (queries, heads, width) over (keys, heads, width), causal from the last query and key.
at::Tensor attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                    bool causal) {
  const std::int64_t group = q.size(1) / k.size(1);
  const at::Tensor keys = k.repeat_interleave(group, 1).permute({1, 2, 0});
  at::Tensor scores = at::matmul(q.transpose(0, 1), keys) * scale;
  if (causal) {
    const at::Tensor ahead =
        at::ones({q.size(0), k.size(0)}, at::kBool).triu(k.size(0) - q.size(0) + 1);
    scores = scores.masked_fill(ahead, -INFINITY);
  }
  return at::matmul(at::softmax(scores, -1), v.repeat_interleave(group, 1).transpose(0, 1))
      .transpose(0, 1);
}

constexpr double kEpsilon = 1e-5;
constexpr double kScale = 0.3;

TEST(MappedOperators, HaveFunctionsAndKernelsForTheCpu) {
  check_operator_map();
  std::size_t schemas = 0;
  for (const et_schema::MapRow& row : et_schema::operator_map().rows()) {
    for (const std::string& schema : row.schemas) {
      const auto found = find_mapped(schema, c10::kCPU);
      ASSERT_TRUE(std::holds_alternative<Substitute>(found)) << std::get<std::string>(found);
      EXPECT_EQ(std::get<Substitute>(found).by, row.by()) << schema;
      ++schemas;
    }
  }
  EXPECT_GT(schemas, 90U);
}

TEST(MappedOperators, Norms) {
  const at::Tensor x = at::randn({6, 16});
  const at::Tensor weight = at::rand({16}) + 0.5;
  const at::Tensor out = at::empty_like(x);
  EXPECT_TRUE(call_row("_C::rms_norm", {out, x, weight, kEpsilon}).empty());
  expect_close(out, rms(x, weight, kEpsilon));
  call_row("sgl_kernel::gemma_rmsnorm", {out, x, weight, kEpsilon, false});
  expect_close(out, rms(x, weight + 1, kEpsilon));
  expect_close(call_row("vllm::rocm_aiter_rms_norm", {x, weight, kEpsilon}).at(0),
               rms(x, weight, kEpsilon));
  for (const auto& [op, offset] : {std::pair("sgl_kernel::fused_add_rmsnorm", 0),
                                   std::pair("sgl_kernel::gemma_fused_add_rmsnorm", 1)}) {
    const at::Tensor input = x.clone();
    const at::Tensor residual = at::randn({6, 16});
    const at::Tensor sum = residual + x;
    const bool has_pdl = et_schema::arguments_of(schema_of(op)).size() == 5;
    Stack arguments = {input, residual, weight, kEpsilon};
    if (has_pdl) {
      arguments.emplace_back(true);
    }
    call_row(op, arguments);
    expect_close(residual, sum);
    expect_close(input, rms(sum, weight + offset, kEpsilon));
  }
  const Stack both = call_row("vllm::rocm_aiter_rmsnorm2d_fwd_with_add", {x, x, weight, kEpsilon});
  expect_close(both.at(0), rms(2 * x, weight, kEpsilon));
  expect_close(both.at(1), 2 * x);
}

TEST(MappedOperators, QuackNorms) {
  const at::Tensor x = at::randn({6, 16});
  const at::Tensor weight = at::rand({16}) + 0.5;
  const at::Tensor bias = at::randn({16});
  const at::Tensor out = at::empty_like(x);
  const at::Tensor sum = at::empty_like(x);
  const at::Tensor rstd = at::empty({6});
  const at::Tensor mean = at::empty({6});
  call_row("quack::_rmsnorm_fwd", {x, weight, out, bias, rstd, x, sum, kEpsilon});
  expect_close(out, rms(2 * x, weight, kEpsilon) + bias);
  expect_close(sum, 2 * x);
  expect_close(rstd, at::rsqrt((2 * x).square().mean(-1) + kEpsilon));
  call_row("quack::_rmsnorm_fwd", {x, weight, out, bias, rstd, mean, kNone, kNone, kEpsilon, true},
           1);
  expect_close(out, at::layer_norm(x, {16}, weight, bias, kEpsilon));
  expect_close(mean, x.mean(-1));
  call_row("quack::_softmax_fwd", {x, out});
  expect_close(out, at::softmax(x, -1));
}

TEST(MappedOperators, Activations) {
  const at::Tensor x = at::randn({6, 16});
  const at::Tensor a = x.narrow(1, 0, 8);
  const at::Tensor b = x.narrow(1, 8, 8);
  const at::Tensor out = at::empty({6, 8});
  call_row("_C::silu_and_mul", {out, x});
  expect_close(out, at::silu(a) * b);
  call_row("_C::mul_and_silu", {out, x});
  expect_close(out, a * at::silu(b));
  call_row("sgl_kernel::gelu_and_mul", {out, x});
  expect_close(out, at::gelu(a) * b);
  call_row("_C::gelu_tanh_and_mul", {out, x});
  expect_close(out, at::gelu(a, "tanh") * b);
  call_row("_C::fatrelu_and_mul", {out, x, 0.2});
  expect_close(out, a * (a > 0.2) * b);
  call_row("_C::swigluoai_and_mul", {out, x, 1.7, 1.0});
  const at::Tensor gate = x.slice(1, 0, 16, 2).clamp_max(1);
  expect_close(out, (x.slice(1, 1, 16, 2).clamp(-1, 1) + 1) * gate * at::sigmoid(1.7 * gate));
  const at::Tensor same = at::empty_like(x);
  call_row("_C::gelu_new", {same, x});
  expect_close(same, at::gelu(x, "tanh"));
  call_row("_C::gelu_quick", {same, x});
  expect_close(same, x * at::sigmoid(1.702 * x));
}

/// Eight bits keep about an eighth of a power of two.
void expect_quantized(const at::Tensor& result, const at::Tensor& scale,
                      const at::Tensor& expected) {
  const at::Tensor number = result.to(at::kFloat) * scale;
  EXPECT_TRUE(at::allclose(number, expected, 0.07, 0.02))
      << (number - expected).abs().max().item<double>();
}

TEST(MappedOperators, Quantisation) {
  const at::Tensor x = at::randn({6, 16});
  const at::Tensor wide = at::randn({6, 32});
  const at::Tensor weight = at::rand({16}) + 0.5;
  const at::Tensor fp8 = at::empty({6, 16}, at::kFloat8_e4m3fn);
  const at::Tensor int8 = at::empty({6, 16}, at::kChar);
  const at::Tensor one = at::empty({1});
  const at::Tensor rows = at::empty({6, 1});
  const at::Tensor given = at::full({1}, 0.01);
  call_row("_C::static_scaled_fp8_quant", {fp8, x, given});
  expect_quantized(fp8, given, x.clamp(-4.48, 4.48));
  call_row("_C::dynamic_scaled_fp8_quant", {fp8, x, one});
  expect_close(one, (x.abs().max() / 448).view({1}));
  expect_quantized(fp8, one, x);
  call_row("_C::dynamic_per_token_scaled_fp8_quant", {fp8, x, rows, kNone});
  expect_close(rows, x.abs().amax(-1, true) / 448);
  expect_quantized(fp8, rows, x);
  call_row("_C::static_scaled_int8_quant", {int8, x, given, kNone});
  expect_quantized(int8, given, x.clamp(-1.27, 1.27));
  call_row("_C::dynamic_scaled_int8_quant", {int8, x, rows, kNone});
  expect_quantized(int8, rows, x);
  call_row("sgl_kernel::sgl_per_tensor_quant_fp8", {x, fp8, one, false});
  expect_quantized(fp8, one, x);
  call_row("sgl_kernel::sgl_per_token_quant_fp8", {x, fp8, rows});
  expect_quantized(fp8, rows, x);
  call_row("_C::silu_and_mul_quant", {fp8, wide, given});
  expect_quantized(fp8, given,
                   (at::silu(wide.narrow(1, 0, 16)) * wide.narrow(1, 16, 16)).clamp(-4.48, 4.48));
  call_row("_C::rms_norm_static_fp8_quant", {fp8, x, weight, given, kEpsilon});
  expect_quantized(fp8, given, rms(x, weight, kEpsilon).clamp(-4.48, 4.48));
  const at::Tensor residual = at::zeros_like(x);
  call_row("_C::fused_add_rms_norm_static_fp8_quant", {fp8, x, residual, weight, given, kEpsilon});
  expect_close(residual, x);
  call_row("_C::rms_norm_dynamic_per_token_quant", {fp8, x, weight, rows, kEpsilon, kNone, kNone});
  expect_quantized(fp8, rows, rms(x, weight, kEpsilon));
  EXPECT_THROW(call_row("_C::static_scaled_int8_quant", {int8, x, given, given}), c10::Error);
}

TEST(MappedOperators, QuantisationByGroups) {
  const at::Tensor x = at::randn({6, 16});
  const at::Tensor fp8 = at::empty({6, 16}, at::kFloat8_e4m3fn);
  const at::Tensor scales = at::empty({6, 2});
  Stack arguments = {x, fp8, scales, 8, 1e-10, -448.0, 448.0, false};
  auto found = find_mapped(
      "sgl_kernel::sgl_per_token_group_quant_fp8(Tensor input, Tensor output_q, Tensor output_s, "
      "int "
      "group_size, float eps, float fp8_min, float fp8_max, bool scale_ue8m0) -> ()",
      c10::kCPU);
  std::get<Substitute>(found).call(arguments);
  expect_close(scales, x.view({6, 2, 8}).abs().amax(-1) / 448);
  expect_quantized(fp8, scales.repeat_interleave(8, 1), x);
}

TEST(MappedOperators, Products) {
  const at::Tensor a = at::randn({4, 16}).to(at::kFloat8_e4m3fn);
  const at::Tensor b = at::randn({8, 16}).to(at::kFloat8_e4m3fn).t();
  const at::Tensor bias = at::randn({8});
  const at::Tensor rows = at::rand({4, 1}) + 0.5;
  const at::Tensor columns = at::rand({1, 8}) + 0.5;
  const at::Tensor product = at::mm(a.to(at::kFloat), b.to(at::kFloat)) * rows * columns + bias;
  const at::Tensor out = at::empty({4, 8});
  call_row("_C::cutlass_scaled_mm", {out, a, b, rows, columns, bias});
  expect_close(out, product);
  const Stack result = call_row("sgl_kernel::fp8_scaled_mm",
                                {a, b, rows, columns.view({8, 1}), at::kBFloat16, bias});
  expect_close(result.at(0), product.to(at::kBFloat16), 1e-2);
  const at::Tensor x = at::randn({4, 16});
  const at::Tensor y = at::randn({8, 16});
  call_row("_C::dsv3_fused_a_gemm", {out, x, y.t()});
  expect_close(out, at::mm(x, y.t()));
  call_row("sgl_kernel::dsv3_router_gemm", {out, x, y});
  expect_close(out, at::mm(x, y.t()));
}

/// (tokens, heads, width), turned by complex numbers.
at::Tensor turned(const at::Tensor& x, const at::Tensor& cos_sin, bool halves) {
  const std::int64_t half = cos_sin.size(-1) / 2;
  const at::Tensor pairs = halves ? x.view({x.size(0), x.size(1), 2, half}).transpose(-1, -2)
                                  : x.view({x.size(0), x.size(1), half, 2});
  const at::Tensor angle = at::complex(cos_sin.narrow(-1, 0, half), cos_sin.narrow(-1, half, half));
  const at::Tensor out =
      at::view_as_real(at::view_as_complex(pairs.contiguous()) * angle.unsqueeze(1));
  return (halves ? out.transpose(-1, -2) : out).reshape(x.sizes());
}

TEST(MappedOperators, RotaryEmbedding) {
  const at::Tensor angles = at::rand({32, 4}) * 6;
  const at::Tensor cache = at::cat({angles.cos(), angles.sin()}, -1);
  const at::Tensor positions = integers({3, 0, 31, 7, 7});
  const at::Tensor at_positions = cache.index_select(0, positions);
  for (const bool halves : {true, false}) {
    const at::Tensor query = at::randn({5, 3, 8});
    const at::Tensor key = at::randn({5, 1, 8});
    const at::Tensor q = query.clone().view({5, 24});
    const at::Tensor k = key.clone().view({5, 8});
    call_row("_C::rotary_embedding", {positions, q, k, 8, cache, halves});
    expect_close(q.view({5, 3, 8}), turned(query, at_positions, halves));
    expect_close(k.view({5, 1, 8}), turned(key, at_positions, halves));
    const at::Tensor out = at::empty_like(query);
    const at::Tensor key_out = at::empty_like(key);
    const at::Tensor keys = at::zeros({10, 1, 8});
    const at::Tensor values = at::zeros({10, 1, 8});
    const at::Tensor places = integers({9, 1, 2, 3, 0});
    call_row(
        "sgl_kernel::apply_rope_pos_ids_cos_sin_cache",
        {query, key, out, key_out, cache, positions, !halves, false, 0, key, keys, values, places});
    expect_close(out, turned(query, at_positions, halves));
    expect_close(keys.index_select(0, places), turned(key, at_positions, halves));
    expect_close(values.index_select(0, places), key);
  }
}

struct Pages {
  std::int64_t page = 4;
  at::Tensor keys = at::randn({10, 4, 2, 8});  ///< pages, places, heads, width
  at::Tensor values = at::randn({10, 4, 2, 8});
  at::Tensor table = integers({3, 1, 0, 7, 2, 9, 4, 5, 6}, at::kInt).view({3, 3});
  at::Tensor used = integers({5, 12, 1}, at::kInt);

  [[nodiscard]] at::Tensor of(const at::Tensor& cache, std::int64_t sequence) const {
    return cache.index_select(0, table[sequence])
        .flatten(0, 1)
        .narrow(0, 0, used[sequence].item<int>());
  }
};

TEST(MappedOperators, Caches) {
  const Pages pages;
  const at::Tensor key = at::randn({3, 2, 8});
  const at::Tensor value = at::randn({3, 2, 8});
  const at::Tensor slots = integers({13, 0, 39});
  const at::Tensor one = at::ones({});
  call_row("_C_cache_ops::reshape_and_cache_flash",
           {key, value, pages.keys, pages.values, slots, "auto", one, one});
  expect_close(pages.keys.flatten(0, 1).index_select(0, slots), key);
  expect_close(pages.values.flatten(0, 1).index_select(0, slots), value);
  const at::Tensor split = at::zeros({10, 2, 2, 4, 4});  // heads, width / 4, places, 4
  const at::Tensor values = at::zeros({10, 2, 8, 4});
  call_row("_C_cache_ops::reshape_and_cache", {key, value, split, values, slots, "auto", one, one});
  expect_close(split.permute({0, 3, 1, 2, 4}).reshape({40, 2, 8}).index_select(0, slots), key);
  expect_close(values.permute({0, 3, 1, 2}).reshape({40, 2, 8}).index_select(0, slots), value);
  const at::Tensor latent = at::zeros({10, 4, 12});
  call_row("_C_cache_ops::concat_and_cache_mla",
           {key.select(1, 0), at::ones({3, 1, 4}), latent, slots, "auto", one});
  expect_close(latent.flatten(0, 1).index_select(0, slots),
               at::cat({key.select(1, 0), at::ones({3, 4})}, -1));
}

TEST(MappedOperators, FlashAttention) {
  const at::Tensor q = at::randn({2, 6, 4, 8});
  const at::Tensor k = at::randn({2, 6, 2, 8});
  const at::Tensor v = at::randn({2, 6, 2, 8});
  const Stack result = call_row("flash_attn::_flash_attn_forward",
                                {q, k, v, 0.0, kScale, true, -1, -1, 0.0, kNone, false});
  ASSERT_EQ(result.size(), 4U);
  const at::Tensor out = at::stack(
      {attended(q[0], k[0], v[0], kScale, true), attended(q[1], k[1], v[1], kScale, true)});
  expect_close(result[0], out);
  EXPECT_EQ(result[1].toTensor().sizes(), at::IntArrayRef({2, 4, 6}));
  EXPECT_EQ(result[3].toTensor().scalar_type(), at::kLong);
  const at::Tensor grad = at::randn({2, 6, 4, 8});
  const auto gradients = autograd_gradients(
      [](const std::vector<at::Tensor>& in) {
        return at::stack({attended(in[0][0], in[1][0], in[2][0], kScale, true),
                          attended(in[0][1], in[1][1], in[2][1], kScale, true)});
      },
      {q, k, v}, grad);
  const at::Tensor dq = at::empty_like(q);
  const at::Tensor dk = at::empty_like(k);
  const at::Tensor dv = at::empty_like(v);
  const Stack sums = call_row("flash_attn::_flash_attn_backward",
                              {grad, q, k, v, result[0], result[1], dq, dk, dv, 0.0, kScale, true,
                               -1, -1, 0.0, kNone, false, kNone});
  EXPECT_EQ(sums.at(0).toTensor().sizes(), at::IntArrayRef({2, 4, 128}));
  expect_close(dq, gradients[0], 1e-4);
  expect_close(dk, gradients[1], 1e-4);
  expect_close(dv, gradients[2], 1e-4);
}

TEST(MappedOperators, PackedAttention) {
  const at::Tensor q = at::randn({9, 4, 8});
  const at::Tensor starts = integers({0, 2, 9}, at::kInt);
  const Stack result = call_row("flash_attn::_flash_attn_varlen_forward",
                                {q, q, q, starts, starts, 7, 7, 0.0, kScale, true, -1, -1, 0.0,
                                 kNone, false, kNone, kNone, kNone, false});
  ASSERT_EQ(result.size(), 4U);
  const at::Tensor a = q.narrow(0, 0, 2);
  const at::Tensor b = q.narrow(0, 2, 7);
  expect_close(result[0],
               at::cat({attended(a, a, a, kScale, true), attended(b, b, b, kScale, true)}));
  EXPECT_EQ(result[1].toTensor().sizes(), at::IntArrayRef({4, 9}));
  const at::Tensor dq = at::empty_like(q);
  const at::Tensor dk = at::empty_like(q);
  const at::Tensor dv = at::empty_like(q);
  call_row("flash_attn::_flash_attn_varlen_backward",
           {q, q,   q,      q,    result[0], result[1], dq,  dk,    dv,    starts, starts, 7,
            7, 0.0, kScale, true, -1,        -1,        0.0, kNone, false, kNone,  false});
  const auto gradients = autograd_gradients(
      [&](const std::vector<at::Tensor>& in) {
        return attended(in[0], in[1], in[2], kScale, true);
      },
      {b, b, b}, b);
  expect_close(dq.narrow(0, 2, 7), gradients[0], 1e-4);
  expect_close(dv.narrow(0, 2, 7), gradients[2], 1e-4);
  const Stack packed = call_row("xformers_flash::flash_fwd",
                                {q, q, q, starts, starts, 7, 7, 0.0, kScale, true, false});
  expect_close(packed.at(0), result[0].toTensor());
}

TEST(MappedOperators, PagedAttention) {
  const Pages pages;
  const at::Tensor q = at::randn({3, 4, 8});  // a query for each sequence
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < 3; ++i) {
    parts.push_back(attended(q.narrow(0, i, 1), pages.of(pages.keys, i), pages.of(pages.values, i),
                             kScale, true));
  }
  const at::Tensor expected = at::cat(parts);
  const at::Tensor starts = integers({0, 1, 2, 3}, at::kInt);
  const at::Tensor out = at::empty_like(q);
  const Stack fa2 = call_row("_vllm_fa2_C::varlen_fwd",
                             {q,     pages.keys,  pages.values, out, starts, starts, pages.used,
                              kNone, pages.table, kNone,        1,   12,     0.0,    kScale,
                              false, true,        -1,           -1,  0.0,    false,  0});
  expect_close(out, expected);
  ASSERT_EQ(fa2.size(), 1U);
  EXPECT_EQ(fa2[0].toTensorVector().at(1).sizes(), at::IntArrayRef({4, 3}));
  Stack fa3 = {q,     pages.keys, pages.values, kNone,      kNone, kNone, kNone,       starts,
               kNone, kNone,      kNone,        pages.used, 1,     12,    pages.table, kNone,
               kNone, kNone,      kNone,        kNone,      kNone, kNone, kNone,       kScale,
               true,  -1,         -1,           0.0,        false, kNone, 0,           kNone,
               0};
  expect_close(call_row("sgl_kernel::fwd", fa3, 1).at(0).toTensorVector().at(0), expected);
  fa3.emplace(fa3.begin() + 27, 0);  // attention_chunk
  expect_close(call_row("flash_attn_3::fwd", fa3).at(0), expected);
  const Stack cached =
      call_row("_vllm_fa2_C::fwd_kvcache",
               {q.unsqueeze(1), pages.keys, pages.values, kNone,       kNone, pages.used, kNone,
                kNone,          kNone,      kNone,        pages.table, kNone, kNone,      kScale,
                true,           -1,         -1,           0.0,         false, 0});
  expect_close(cached.at(0).toTensorVector().at(0), expected.unsqueeze(1));
  out.zero_();
  const at::Tensor split = pages.keys.view({10, 4, 2, 2, 4}).permute({0, 2, 3, 1, 4}).contiguous();
  const at::Tensor columns = pages.values.permute({0, 2, 3, 1}).contiguous();
  const at::Tensor one = at::ones({});
  call_row("_C::paged_attention_v1", {out, q, split, columns, 2, kScale, pages.table, pages.used, 4,
                                      12, kNone, "auto", one, one, 0, 0, 0, 0, 0});
  expect_close(out, expected);
}

TEST(MappedOperators, PartsOfAttentionAreMerged) {
  const at::Tensor q = at::randn({3, 2, 8});
  const at::Tensor k = at::randn({7, 2, 8});
  const at::Tensor v = at::randn({7, 2, 8});
  const auto sums = [&](const at::Tensor& keys) {  // (tokens, heads)
    return at::logsumexp(at::einsum("qhd,khd->qhk", {q, keys}) * kScale, -1);
  };
  const auto part = [&](std::int64_t begin, std::int64_t length) {
    return attended(q, k.narrow(0, begin, length), v.narrow(0, begin, length), kScale, false);
  };
  const at::Tensor first = sums(k.narrow(0, 0, 3));
  const at::Tensor second = sums(k.narrow(0, 3, 4));
  const at::Tensor out = at::empty_like(q);
  const at::Tensor all = at::empty({3, 2});
  call_row("sgl_kernel::merge_state_v2", {part(0, 3), first, part(3, 4), second, out, all});
  expect_close(out, attended(q, k, v, kScale, false));
  expect_close(all, sums(k));
  out.zero_();
  const at::Tensor by_heads = at::empty({2, 3});
  call_row("_C::merge_attn_states", {out, by_heads, part(0, 3), first.t(), part(3, 4), second.t()});
  expect_close(out, attended(q, k, v, kScale, false));
  expect_close(by_heads, sums(k).t());
}

TEST(MappedOperators, XformersAttention) {
  const at::Tensor q = at::randn({1, 6, 4, 8});
  const at::Tensor expected = attended(q[0], q[0], q[0], kScale, true).unsqueeze(0);
  const Stack result =
      call_row("xformers::efficient_attention_forward_cutlass",
               {q, q, q, kNone, kNone, kNone, kNone, 0.0, true, 1, kScale, kNone, kNone});
  ASSERT_EQ(result.size(), 4U);
  expect_close(result[0], expected);
  EXPECT_EQ(result[1].toTensor().sizes(), at::IntArrayRef({1, 4, 32}));
  const Stack newer =
      call_row("xformers::efficient_attention_forward_cutlass",
               {q, q, q, kNone, kNone, kNone, kNone, kNone, 0.0, 1, true, kScale, kNone, kNone}, 1);
  ASSERT_EQ(newer.size(), 6U);
  expect_close(newer[0], expected);
}

TEST(MappedOperators, Experts) {
  const at::Tensor gates = at::randn({5, 8});
  const at::Tensor weights = at::empty({5, 2});
  const at::Tensor experts = at::empty({5, 2}, at::kInt);
  const at::Tensor rows = at::empty({5, 2}, at::kInt);
  call_row("_moe_C::topk_softmax", {weights, experts, rows, gates, true, kNone}, 1);
  const auto [best, places] = at::topk(at::softmax(gates, -1), 2);
  expect_close(weights, best / best.sum(-1, true));
  expect_close(experts, places.to(at::kInt));
  expect_close(rows, at::arange(10, at::kInt).view({2, 5}).t());

  const at::Tensor chosen = integers({2, 0, 2, 2, 5, 0}, at::kInt).view({3, 2});
  const at::Tensor sorted = at::empty({6 + 8 * 3}, at::kInt);
  const at::Tensor of_block = at::full({8}, -1, at::kInt);
  const at::Tensor count = at::empty({1}, at::kInt);
  call_row("_moe_C::moe_align_block_size", {chosen, 8, 4, sorted, of_block, count});
  EXPECT_EQ(count.item<int>(), 12);
  expect_close(sorted.narrow(0, 0, 12), integers({1, 5, 6, 6, 0, 2, 3, 6, 4, 6, 6, 6}, at::kInt));
  expect_close(of_block.narrow(0, 0, 3), integers({0, 2, 5}, at::kInt));

  const at::Tensor parts = at::randn({5, 2, 8});
  const at::Tensor sum = at::empty({5, 8});
  call_row("_moe_C::moe_sum", {parts, sum});
  expect_close(sum, parts.sum(1));
  call_row("_moe_C::shuffle_rows", {gates, integers({4, 0, 0, 1, 2}), sum});
  expect_close(sum, gates.index_select(0, integers({4, 0, 0, 1, 2})));
}

TEST(OperatorMapErrors, ACallThatNoRowFitsSaysWhy) {
  EXPECT_EQ(std::get<std::string>(find_mapped("mine::norm(Tensor x) -> Tensor", c10::kCPU)), "");
  EXPECT_EQ(std::get<std::string>(find_mapped(
                "_C::gelu_quick(Tensor! out, Tensor input, int mode) -> ()", c10::kCPU)),
            "row 15 of the built-in operator map neither takes nor ignores its argument mode");
}

/// The whole message of a row that cannot be used, of a map whose row does `line`.
std::string refusal(const std::string& line) {
  et_schema::OperatorMap map;
  map.add_rows(
      R"({"format": "understudy operator map", "version": 1, "rows": [{"operators": ["mine::f"],
                  "takes": ["Tensor x"], "does": ["y = x + 1", ")" +
          line + R"("]}]})",
      "mine.json");
  try {
    check_operator_map(map);
  } catch (const et_schema::Error& error) {
    return et_schema::to_text(error);
  }
  return "";
}

std::string refused(const std::string& expected, const std::string& got) {
  return "the operator map cannot be used\n  file:     mine.json\n  field:    rows[0].does\n  "
         "expected: " +
         expected + "\n  got:      " + got +
         "\n  hint:     docs/formats.md, \"Operator map\", says what a row holds";
}

TEST(OperatorMapErrors, FunctionsThatDoNotCompileOrDoMore) {
  EXPECT_EQ(refusal("return torch.no_such(y)"),
            refused("lines of TorchScript that LibTorch compiles",
                    "Unknown builtin op: aten::no_such. in 'return torch.no_such(y)'"));
  EXPECT_EQ(refusal("print(y)"), refused("operators that only compute", "prim::Print: it prints"));
  EXPECT_EQ(refusal("return torch.from_file('/etc/passwd')"),
            refused("operators that only compute",
                    "aten::from_file: it opens the file that an argument names"));
}

}  // namespace
}  // namespace understudy::replayer
