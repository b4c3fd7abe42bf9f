// Reductions, copies, indices, sorts, allocations, and what costs only the host: views.
#include <array>

#include "recipe_tables.h"

namespace understudy::calibrator {
namespace {

constexpr const char* kSome = "m:1..512 n:1..512";
constexpr const char* kRow = "v:16..262144 d:1..1024 n:1..32768";

constexpr std::array kMemoryRecipes = std::to_array<Recipe>({
    {"aten::sum", kElements, "{n}"},
    {"aten::sum.dim_IntList", kMatrix, "{r,c}' [0] false", "0", 2},
    {"aten::sum.dim_IntList", kMatrix, "{r,c}' [1] false", "0", 2},
    {"aten::sum.dim_IntList", "b:1..64 t:1..512 c:1..4096", "{b,t,c} [0 1] true"},
    {"aten::sum.dim_IntList", "b:1..64 c:1..512 h:1..64", "{b,c,h,h} [0 2 3] false"},
    {"aten::mean", kElements, "{n}"},
    {"aten::mean.dim", kMatrix, "{r,c} [1] false"},
    {"aten::max", kElements, "{n}"},
    {"aten::max.dim", kMatrix, "{r,c} 1 false"},
    {"aten::amax", kMatrix, "{r,c} [1] false"},
    {"aten::argmax", kMatrix, "{r,c} 1 false"},
    {"aten::cumsum", kMatrix, "{r,c} 1"},
    // Correction 0: for rows of one element, torch would warn that no degrees of freedom are left.
    {"aten::var_mean.correction", kMatrix, "{r,c} [1] 0"},
    {"aten::any", kElements, "b{n}"},
    {"aten::all", kElements, "b{n}"},

    {"aten::copy_", kElements, "{n} {n}"},
    {"aten::copy_", kMatrix, "{r,c}' {r,c}'"},
    {"aten::clone", kElements, "{n}"},
    {"aten::clone", kMatrix, "{r,c}' 0"},
    {"aten::contiguous", "b:1..16 h:1..16 t:1..512 d:16|32|64", "{b,h,t,d}^"},
    {"aten::reshape", "b:1..16 h:1..16 t:1..512 d:16|32|64", "{b,h,t,d}^ [=b*h =t*d]"},
    {"aten::to.dtype", kElements, "{n} 15"},
    {"aten::_to_copy", kElements, "{n} 15"},
    {"aten::cat", "t:2..32 r:1..4096 c:1..1024", "[t*{r,c}] 0"},
    {"aten::cat", "t:2..32 r:1..4096 c:1..1024", "[t*{r,c}] 1"},
    {"aten::stack", "t:2..32 r:1..4096 c:1..1024", "[t*{r,c}] 1"},
    {"aten::stack", "t:2..200", "[t*{}] 0"},
    {"aten::select_backward", "r:1..8 b:1..64 t:1..512 c:1..256", "{b,t,c} [=r =b =t =c] 0 0"},
    {"aten::slice_backward", kMatrix, "{r,c} [=2*r =c] 0 0 =r 1"},

    {"aten::index_select", kRow, "{v,d} 0 i{n}", "0", 1, true},
    {"aten::index.Tensor", kRow, "{v,d} [i{n}]", "0", 1, true},
    {"aten::_index_put_impl_", kRow, "{v,d} [i{n}] {n,d} true false", "0", 1, true},
    {"aten::index_put_", kRow, "{v,d} [i{n}] {n,d} true", "0", 1, true},
    {"aten::index_add_", kRow, "{v,d} 0 i{n} {n,d}", "0", 1, true},
    {"aten::add_.Tensor", "v:16..1048576 d:1..256 n:1..262144", "{v,d} s{v,d}@n -0.1", "0", 2,
     false, "n*d"},
    {"aten::coalesce", kRow, "s{v,d}@n", "n*16", 1, false, "n*d"},
    {"aten::sparse_mask", kRow, "{v,d} s{v,d}@n", "0", 1, false, "n*d"},
    {"aten::gather", kMatrix, "{r,c} 1 i{r,c}"},
    {"aten::scatter_add_", kMatrix, "{r,c} 1 i{r,c} {r,c}"},
    {"aten::masked_fill.Scalar", kElements, "{n} b{n} 0.0"},
    {"aten::masked_fill_.Scalar", kElements, "{n} b{n} 0.0"},
    {"aten::masked_select", kElements, "{n} b{n}"},
    {"aten::nonzero", kElements, "b{n}"},
    {"aten::tril", kMatrix, "{r,c}"},
    {"aten::triu", kMatrix, "{r,c}"},

    {"aten::sort", kMatrix, "{r,c} 1 false", "r*c*16"},
    {"aten::argsort", kMatrix, "{r,c} 1 false", "r*c*16"},
    {"aten::topk", "r:1..4096 c:16..8192 k:1..16", "{r,c} =k 1 true true"},

    {"aten::empty.memory_format", kElements, "[=n] 6", "0", 1, false, "n"},
    {"aten::empty_like", kElements, "{n}"},
    {"aten::zeros", kElements, "[=n] 6", "0", 1, false, "n"},
    {"aten::zeros_like", kElements, "{n}"},
    {"aten::ones_like", kElements, "{n}"},
    {"aten::new_zeros", kElements, "{1} [=n]", "0", 1, false, "n"},
    {"aten::full", kElements, "[=n] 0.5 6", "0", 1, false, "n"},
    {"aten::arange", "n:1..1048576", "=n"},
    {"aten::arange.start_step", "n:1..1048576", "0 =n 1"},

    {"aten::view", kSome, "{m,n} [=m*n]"},
    {"aten::_unsafe_view", kSome, "{m,n} [=m*n]"},
    {"aten::reshape", kSome, "{m,n} [=m*n]"},
    {"aten::t", kSome, "{m,n}"},
    {"aten::transpose.int", kSome, "{m,n} 0 1"},
    {"aten::permute", kSome, "{m,n,2} [2 0 1]"},
    {"aten::expand", kSome, "{1,n} [=m =n] false"},
    {"aten::unsqueeze", kSome, "{m,n} 0"},
    {"aten::squeeze.dim", kSome, "{1,m,n} 0"},
    {"aten::select.int", kSome, "{m,n} 0 0"},
    {"aten::slice.Tensor", kSome, "{m,n} 0 0 =m 1"},
    {"aten::narrow", kSome, "{m,n} 0 0 =m"},
    {"aten::split.Tensor", kSome, "{3*m,n} =m 0"},
    {"aten::chunk", kSome, "{3*m,n} 3 0"},
    {"aten::unbind.int", "m:1..64 n:1..512", "{m,n} 0"},
    {"aten::flatten.using_ints", kSome, "{m,n,2} 0 1"},
    {"aten::unflatten.int", kSome, "{m*n} 0 [=m =n]"},
    {"aten::as_strided", kSome, "{m,n} [=m =n] [=n 1] 0"},
    {"aten::detach", kSome, "{m,n}"},
    {"aten::alias", kSome, "{m,n}"},
    {"aten::lift_fresh", kSome, "{m,n}"},
    {"aten::item", "n:1..1024", "{}"},
    {"aten::contiguous", kSome, "{m,n}"},
    {"aten::to.dtype", "n:1..512", "f{n} 6"},
});

}  // namespace

std::span<const Recipe> memory_recipes() {
  return kMemoryRecipes;
}

}  // namespace understudy::calibrator
