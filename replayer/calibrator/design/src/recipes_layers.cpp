// Layers: products, convolutions, attention, normalisation, softmax, losses, pooling, embeddings.
#include <array>

#include "recipe_tables.h"

namespace understudy::calibrator {
namespace {

constexpr const char* kProduct = "m:1..8192 k:1..8192 n:1..8192";
constexpr const char* kProductWork = "m*k*n";
constexpr const char* kBatchProduct = "b:1..256 m:1..1024 k:1..1024 n:1..1024";
constexpr const char* kBatchWork = "b*m*k*n";
constexpr const char* kImage = "b:1..32 c:1..512 h:4..128 o:1..512 f:1|3|5|7 s:1|2";
constexpr const char* kImageWork = "b*c*o*f*f*((h+2*(f/2)-f)/s+1)*((h+2*(f/2)-f)/s+1)";
constexpr const char* kImageBackwardWork = "2*b*c*o*f*f*((h+2*(f/2)-f)/s+1)*((h+2*(f/2)-f)/s+1)";
constexpr const char* kSignal = "b:1..32 c:1..512 l:8..4096 o:1..512 f:1|3|5|7|9 s:1|2";
constexpr const char* kSignalWork = "b*c*o*f*((l+2*(f/2)-f)/s+1)";
constexpr const char* kDepthwise = "b:1..32 c:2..512 h:4..128 f:3|5 s:1|2";
constexpr const char* kHeads = "b:1..16 h:1..16 t:16..1024 d:16|32|64|128";
constexpr const char* kHeadsWork = "2*b*h*t*t*d";
constexpr const char* kRows = "r:1..32768 c:2..8192";
constexpr const char* kClasses = "r:1..8192 c:2..32768";
constexpr const char* kChannels = "b:1..64 c:1..512 h:1..128";
constexpr const char* kTable = "v:16..1000000 d:4..512 n:1..65536";
constexpr const char* kBags = "v:16..1000000 d:4..256 n:1..8192 l:1..64";
constexpr int kHeavy = 8;
constexpr int kMedium = 3;

constexpr std::array kLayerRecipes = std::to_array<Recipe>({
    {"aten::mm", kProduct, "{m,k}' {k,n}'", kProductWork, kHeavy, false, "m*n"},
    {"aten::mm.out", kProduct, "{m,k}' {k,n}' {m,n}", kProductWork, kMedium, false, "m*n"},
    {"aten::linear", kProduct, "{m,k} {n,k} {n}", kProductWork, kHeavy, false, "m*n"},
    {"aten::linear", "b:1..64 t:1..1024 k:1..4096 n:1..4096", "{b,t,k} {n,k} {n}", "b*t*k*n",
     kMedium, false, "b*t*n"},
    {"aten::linear", kProduct, "{m,k} {n,k} none", kProductWork, kMedium, false, "m*n"},
    {"aten::addmm", kProduct, "{n} {m,k}' {k,n}'", kProductWork, kMedium, false, "m*n"},
    {"aten::addmm.out", kProduct, "{n} {m,k}' {k,n}' 1 1 {m,n}", kProductWork, kMedium, false,
     "m*n"},
    {"aten::bmm", kBatchProduct, "{b,m,k}' {b,k,n}'", kBatchWork, kHeavy, false, "b*m*n"},
    {"aten::baddbmm", kBatchProduct, "{b,m,n} {b,m,k}' {b,k,n}'", kBatchWork},
    {"aten::matmul", "b:1..16 h:1..16 m:1..512 k:1..512 n:1..512", "{b,h,m,k}' {b,h,k,n}'",
     "b*h*m*k*n", kMedium, false, "b*h*m*n"},
    {"aten::mv", "m:1..16384 k:1..16384", "{m,k}' {k}", "m*k"},
    {"aten::dot", "n:1..4194304", "{n} {n}"},

    {"aten::conv2d", kImage, "{b,c,h,h} {o,c,f,f} none [=s =s] [=f/2 =f/2] [1 1] 1", kImageWork,
     kHeavy, false, "b*o*h*h/s"},
    {"aten::conv2d", kImage, "{b,c,h,h} {o,c,f,f} {o} [=s =s] [=f/2 =f/2] [1 1] 1", kImageWork,
     kMedium, false, "b*o*h*h/s"},
    {"aten::conv2d", kDepthwise, "{b,c,h,h} {c,1,f,f} none [=s =s] [=f/2 =f/2] [1 1] =c"},
    {"aten::conv1d", kSignal, "{b,c,l} {o,c,f} {o} [=s] [=f/2] [1] 1", kSignalWork, kMedium},
    {"aten::convolution_backward", kImage,
     "{b,o,(h+2*(f/2)-f)/s+1,(h+2*(f/2)-f)/s+1} {b,c,h,h} {o,c,f,f} [0] [=s =s] [=f/2 =f/2] [1 1] "
     "false [0 0] 1 [true true false]",
     kImageBackwardWork, 2 * kHeavy},
    {"aten::convolution_backward", kSignal,
     "{b,o,(l+2*(f/2)-f)/s+1} {b,c,l} {o,c,f} [=o] [=s] [=f/2] [1] false [0] 1 [true true true]",
     kSignalWork, kMedium},
    {"aten::convolution_backward", kDepthwise,
     "{b,c,(h+2*(f/2)-f)/s+1,(h+2*(f/2)-f)/s+1} {b,c,h,h} {c,1,f,f} [0] [=s =s] [=f/2 =f/2] [1 1] "
     "false [0 0] =c [true true false]"},

    {"aten::_scaled_dot_product_flash_attention_for_cpu", kHeads,
     "{b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ 0.0 true", kHeadsWork, kMedium},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kHeads,
     "{b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ f{b,h,t} 0.0 true", kHeadsWork,
     kMedium},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", kHeads,
     "{b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ 0.0 false", kHeadsWork},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", kHeads,
     "{b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ {b,h,t,d}^ f{b,h,t} 0.0 false", kHeadsWork},

    {"aten::native_layer_norm", kRows, "{r,c} [=c] {c} {c} 1e-5", "0", kMedium},
    {"aten::native_layer_norm_backward", kRows,
     "{r,c} {r,c} [=c] f{r,1} f{r,1} {c} {c} [true true true]", "0", kMedium},
    {"aten::_batch_norm_impl_index", kChannels, "{b,c,h,h} {c} {c} {c} {c} true 0.1 1e-5 false",
     "0", kMedium},
    {"aten::native_batch_norm", kChannels, "{b,c,h,h} {c} {c} {c} {c} true 0.1 1e-5"},
    {"aten::native_batch_norm_backward", kChannels,
     "{b,c,h,h} {b,c,h,h} {c} {c} {c} {c} {c} true 1e-5 [true true true]", "0", kMedium},
    {"aten::native_group_norm", "b:1..64 g:1..32 c:1..32 h:1..128",
     "{b,g*c,h,h} {g*c} {g*c} =b =g*c =h*h =g 1e-5"},
    {"aten::native_group_norm_backward", "b:1..64 g:1..32 c:1..32 h:1..128",
     "{b,g*c,h,h} {b,g*c,h,h} {b,g} {b,g} {g*c} =b =g*c =h*h =g [true true true]"},
    {"aten::linalg_vector_norm", kRows, "{r,c}"},

    {"aten::log_softmax.int", kClasses, "{r,c} 1 none"},
    {"aten::_log_softmax_backward_data", kClasses, "{r,c} {r,c} 1 dtype"},
    {"aten::softmax.int", kClasses, "{r,c} 1 none"},
    {"aten::_softmax", kClasses, "{r,c} 1 false"},
    {"aten::_softmax_backward_data", kClasses, "{r,c} {r,c} 1 dtype"},
    {"aten::_safe_softmax", "b:1..64 h:1..16 t:8..1024", "{b,h,t,t} 3 none"},

    {"aten::nll_loss_forward", kClasses, "{r,c} i{r} none 1 -100"},
    {"aten::nll_loss_backward", kClasses, "{} {r,c} i{r} none 1 -100 {}"},
    {"aten::mse_loss", "n:1..4194304", "{n} {n}"},
    {"aten::mse_loss_backward", "n:1..4194304", "{} {n} {n} 1"},

    {"aten::max_pool2d_with_indices", kChannels, "{b,c,h+1,h+1} [3 3] [2 2] [1 1]"},
    {"aten::max_pool2d_with_indices_backward", kChannels,
     "{b,c,h/2+1,h/2+1} {b,c,h+1,h+1} [3 3] [2 2] [1 1] [1 1] false i{b,c,h/2+1,h/2+1}"},
    {"aten::avg_pool2d", kChannels, "{b,c,2*h,2*h} [2 2] [2 2]"},
    {"aten::avg_pool2d_backward", kChannels,
     "{b,c,h,h} {b,c,2*h,2*h} [2 2] [2 2] [0 0] false true none"},
    {"aten::adaptive_avg_pool2d", kChannels, "{b,c,h,h} [1 1]"},
    {"aten::_adaptive_avg_pool2d_backward", kChannels, "{b,c,1,1} {b,c,h,h}"},

    {"aten::embedding", kTable, "{v,d} i{n}", "0", 2, true},
    {"aten::embedding_dense_backward", kTable, "{n,d} i{n} =v -1 false", "0", 2, true, "v*d"},
    {"aten::embedding_backward", kTable, "{n,d} i{n} =v -1 false false", "0", 1, true, "v*d"},
    {"aten::embedding_bag.padding_idx", kBags, "{v,d} i{n*l} i{n} false 0 false none false none",
     "0", kMedium, true},
    {"aten::_embedding_bag", kBags, "{v,d} i{n*l} i{n} false 0 false none false -1", "0", 1, true},
    {"aten::_embedding_bag_backward", kBags,
     "{n,d} i{n*l} i{n} i{n*l} i{n} i{n} =v false 0 false none -1", "0", kMedium, true, "v*d"},
    {"aten::_embedding_bag_backward", kBags,
     "{n,d} i{n*l} i{n} i{n*l} i{n} i{n} =v false 0 true none -1", "0", 1, true},
});

}  // namespace

std::span<const Recipe> layer_recipes() {
  return kLayerRecipes;
}

}  // namespace understudy::calibrator
