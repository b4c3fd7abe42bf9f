#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "et_schema/base/error.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/formats/pytorch_et/trace_reader.h"
#include "generator/job/generate.h"
#include "properties.h"

namespace understudy::fuzz {
namespace {

using et_schema::Bench;
using et_schema::Error;
using et_schema::Trace;
using generator::GenerateOptions;
using generator::Only;

struct Variant {
  GenerateOptions options;
  int ranks = 1;
};

const Variant& variant_for(std::uint64_t content) {
  static const std::array<Variant, 6> kVariants = {{
      {},
      {{.step = "all"}, 1},
      {{}, 2},
      {{.only = Only::kCompute}, 1},
      {{.only = Only::kComms}, 2},
      {{.step = "all", .exclude = "_$"}, 1},
  }};
  return kVariants[content % kVariants.size()];
}

std::vector<Trace> parse(std::string_view input, int ranks) {
  std::vector<Trace> traces;
  for (int rank = 0; rank < ranks; ++rank) {
    traces.push_back(et_schema::parse_trace(input, "fuzz.json"));
    traces.back().rank = rank;
  }
  return traces;
}

/// What the generator made holds together, and is read as it was written.
void check_round_trip(const Bench& bench) {
  try {
    const std::string bytes = et_schema::bench_bytes(bench);
    const Bench read = et_schema::read_bench_bytes(bytes, "fuzz.et");
    // A benchmark with a NaN in it is not equal to itself: of that one the bytes are compared.
    const bool is_same = bench == bench ? read == bench : et_schema::bench_bytes(read) == bytes;
    if (!is_same) {
      throw std::logic_error("a program that is read otherwise than it was written");
    }
  } catch (const Error& error) {
    throw std::logic_error("the generator's own program was refused: " + to_text(error));
  }
}

}  // namespace

void check_program(std::string_view input) {
  Bench bench;
  try {
    std::vector<Trace> traces = parse(input, 1);
    const Variant& variant = variant_for(traces.front().content_hash);
    if (variant.ranks > 1) {
      traces = parse(input, variant.ranks);
    }
    bench = generator::generate(traces, variant.options);
  } catch (const Error& error) {
    // A filter that leaves nothing is its user's fault.
    const bool leaves_nothing =
        error.kind() == et_schema::ErrorKind::kUsage && error.summary() == "nothing is selected";
    if ((error.kind() != et_schema::ErrorKind::kBadInput && !leaves_nothing) ||
        error.summary().empty()) {
      throw std::logic_error("an input's fault told as another kind: " + to_text(error));
    }
    return;
  }
  check_round_trip(bench);
}

const std::vector<std::string_view>& trace_texts() {
  static const std::vector<std::string_view> kTexts = {
      "aten::_coalesce(Tensor self) -> Tensor",
      "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths) -> Tensor",
      "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets) -> Tensor",
      "aten::_foreach_sqrt(Tensor[] self) -> Tensor[]",
      "aten::_fused_adam_(Tensor[] self, Tensor[] grads, Tensor[] exp_avgs) -> ()",
      "aten::_indices(Tensor(a) self) -> Tensor(a)",
      "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> Tensor",
      "aten::_to_copy(Tensor self) -> Tensor",
      "aten::_unique2(Tensor self) -> (Tensor, Tensor, Tensor)",
      "aten::_values(Tensor(a) self) -> Tensor(a)",
      "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
      "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2) -> Tensor",
      "aten::as_strided(Tensor self, int[] size, int[] stride) -> Tensor",
      "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
      "aten::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)",
      "aten::empty.memory_format(int[] size) -> Tensor",
      "aten::gather(Tensor self, int dim, Tensor index) -> Tensor",
      "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
      "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values) -> Tensor(a!)",
      "aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
      "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
      "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
      "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
      "aten::nll_loss_forward(Tensor self, Tensor target, int ignore_index) -> Tensor",
      "aten::nonzero(Tensor self) -> Tensor",
      "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
      "aten::repeat_interleave.Tensor(Tensor repeats) -> Tensor",
      "aten::sparse_mask(Tensor self, Tensor mask) -> Tensor",
      "aten::sqrt(Tensor self) -> Tensor",
      "aten::where(Tensor condition) -> Tensor[]",
      "c10d::alltoall_base_(Tensor output, Tensor input, int[] out, int[] in) -> Work",
      "fbgemm::asynchronous_complete_cumsum(Tensor t_in) -> Tensor",
      "fbgemm::bounds_check_indices(Tensor rows_per_table, Tensor indices, Tensor offsets) -> ()",
      "fbgemm::permute_2D_sparse_data(Tensor permute, Tensor lengths, Tensor values) -> Tensor[]",
      "fbgemm::split_embedding_codegen_lookup_sgd_function(Tensor dev_weights, "
      "Tensor weights_offsets, Tensor D_offsets, SymInt total_D, Tensor hash_size_cumsum, "
      "Tensor indices, Tensor offsets, Tensor momentum1_dev, Tensor momentum1_offsets) -> Tensor",
      "aten::add",
      "aten::empty",
      "aten::mul_",
      "c10d::alltoall_base_",
      "c10d::allreduce_",
      "record_param_comms",
      "## process_group:init ##",
      "ProfilerStep#1",
      "ProfilerStep#2",
      "torch::autograd::CppNode<Lookup>",
      "LookupBackward",
      "[pytorch|profiler|execution_trace|thread]",
      "all_to_allv",
      "allreduce",
      "reduce_scatter",
      "send",
      "wait",
      "barrier",
      "init",
      "{\\\"0\\\":[0,9]}",
      "{\\\"0\\\":[-1,9223372036854775807]}",
      "[{\\\"pg_name\\\":\\\"0\\\",\\\"ranks\\\":[0,1],\\\"group_size\\\":2}]",
      "[{\\\"pg_name\\\":\\\"0\\\",\\\"ranks\\\":[1152921504606846976],\\\"group_size\\\":1}]",
      "[{\\\"pg_name\\\":\\\"0\\\",\\\"ranks\\\":[],\\\"group_size\\\":9223372036854775807}]",
      "Tensor(float)",
      "Tensor(long int)",
      "Tensor(bool)",
      "Tensor(c10::complex<double>)",
      "Tensor(nullptr (uninitialized))",
      "GenericList[Tensor(float),Tensor(float)]",
      "GenericList[Int,Int]",
      "GenericList[]",
      "Tuple[String,String]",
      "Int",
      "Double",
      "Bool",
      "None",
      "Device",
      "cpu",
      "cuda:0",
      "cuda:99999999999",
      "global_rank_start",
      "global_rank_stride",
      "pg_size",
      "pg_name",
      "in_split_size",
      "op_schema",
      "scope",
      "seq_id",
      "tid",
      "nan",
      "-inf",
      "",
  };
  return kTexts;
}

}  // namespace understudy::fuzz
