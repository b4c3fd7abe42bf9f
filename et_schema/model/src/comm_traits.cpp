#include "et_schema/model/comm_traits.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/words.h"

namespace understudy::et_schema {
namespace {

// docs/formats.md lists the names. torchcomms' recorded names, if any, come last; torch 2.15
// records them, too. all_to_allv is the name of an all_to_all with split sizes.
constexpr std::array<CommTraits, kCommKinds> kCommTraits = {
    CommTraits{.kind = CommKind::kAllReduce,
               .type_name = "AllReduce",
               .recorded = {"allreduce", "allreduce_coalesced", "allreduce_sparse", "all_reduce"},
               .c10d = {{{"allreduce", "allreduce", C10dLayout::kInPlace},
                         {"allreduce_coalesced", "allreduce_coalesced", C10dLayout::kInPlace},
                         {"all_reduce", "allreduce", C10dLayout::kInputOnly},
                         {"all_reduce_coalesced", "allreduce_coalesced", C10dLayout::kInputOnly}}},
               .measured = {"allreduce"},
               .sizes = CommSizes::kPairs,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kTwoRings,
               .pattern = CommPattern::kTwoRings,
               .reduces = true,
               .in_step = true},
    CommTraits{.kind = CommKind::kBroadcast,
               .type_name = "Broadcast",
               .recorded = {"broadcast", "_broadcast_oop"},
               .c10d = {{{"broadcast", "broadcast", C10dLayout::kInPlace},
                         {"broadcast", "broadcast", C10dLayout::kInputOnly}}},
               .measured = {"broadcast"},
               .sizes = CommSizes::kPairs,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kTree,
               .has_root = true},
    CommTraits{.kind = CommKind::kReduce,
               .type_name = "Reduce",
               .recorded = {"reduce", "_reduce_oop"},
               .c10d = {{{"reduce", "reduce", C10dLayout::kInPlace}}},
               .measured = {"reduce"},
               .sizes = CommSizes::kPairs,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kTree,
               .reduces = true,
               .has_root = true},
    CommTraits{.kind = CommKind::kAllGather,
               .type_name = "AllGather",
               .recorded = {"all_gather", "all_gatherv", "all_gather_v"},
               .c10d = {{{"allgather", "all_gather", C10dLayout::kOutputInput},
                         {"allgather_coalesced", "all_gather", C10dLayout::kOutputInput}}},
               .measured = {},
               .sizes = CommSizes::kOutputPerRank,
               .bytes = CommBytes::kOutputs,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kRing,
               .in_step = true},
    CommTraits{.kind = CommKind::kAllGatherBase,
               .type_name = "AllGatherBase",
               .recorded = {"_allgather_base", "allgather_into_tensor_coalesced",
                            "all_gather_single", "_all_gather_base"},
               .c10d = {{{"_allgather_base", "_allgather_base", C10dLayout::kOutputInput},
                         {"allgather_into_tensor_coalesced", "allgather_into_tensor_coalesced",
                          C10dLayout::kOutputInput},
                         {"all_gather_into_tensor", "_allgather_base", C10dLayout::kInputOnly},
                         {"all_gather_into_tensor_out", "_allgather_base", C10dLayout::kInputOnly},
                         {"all_gather_into_tensor_coalesced", "allgather_into_tensor_coalesced",
                          C10dLayout::kInputOnly}}},
               .measured = {"allgather", "allgatherbase", "allgatherintotensor"},
               .sizes = CommSizes::kOutputOfAll,
               .bytes = CommBytes::kOutputs,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kRing,
               .in_step = true},
    CommTraits{.kind = CommKind::kReduceScatter,
               .type_name = "ReduceScatter",
               .recorded = {"reduce_scatter", "reduce_scatterv", "reduce_scatter_v"},
               .c10d = {{{"reduce_scatter", "reduce_scatter", C10dLayout::kOutputInput}}},
               .measured = {},
               .sizes = CommSizes::kInputPerRank,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kRing,
               .reduces = true,
               .in_step = true},
    CommTraits{
        .kind = CommKind::kReduceScatterBase,
        .type_name = "ReduceScatterBase",
        .recorded = {"_reduce_scatter_base", "reduce_scatter_tensor_coalesced",
                     "reduce_scatter_single"},
        .c10d = {{{"_reduce_scatter_base", "_reduce_scatter_base", C10dLayout::kOutputInput},
                  {"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor_coalesced",
                   C10dLayout::kOutputInput},
                  {"reduce_scatter_tensor", "_reduce_scatter_base", C10dLayout::kInputOnly},
                  {"reduce_scatter_tensor_coalesced", "reduce_scatter_tensor_coalesced",
                   C10dLayout::kInputOnly},
                  {"reduce_scatter_tensor_out", "_reduce_scatter_base", C10dLayout::kInputOnly}}},
        .measured = {"reducescatter", "reducescatterbase", "reducescattertensor"},
        .sizes = CommSizes::kInputOfAll,
        .bytes = CommBytes::kInputs,
        .bus = BusFactor::kRing,
        .pattern = CommPattern::kRing,
        .reduces = true,
        .in_step = true},
    CommTraits{.kind = CommKind::kGather,
               .type_name = "Gather",
               .recorded = {"gather"},
               .c10d = {{{"gather", "gather", C10dLayout::kOutputInput}}},
               .measured = {"gather"},
               .sizes = CommSizes::kOutputsOfRoot,
               .bytes = CommBytes::kInputsOfAllRanks,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kExchange,
               .has_root = true},
    CommTraits{.kind = CommKind::kScatter,
               .type_name = "Scatter",
               .recorded = {"scatter"},
               .c10d = {{{"scatter", "scatter", C10dLayout::kOutputInput}}},
               .measured = {"scatter"},
               .sizes = CommSizes::kInputsOfRoot,
               .bytes = CommBytes::kOutputsOfAllRanks,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kExchange,
               .has_root = true},
    CommTraits{.kind = CommKind::kAllToAll,
               .type_name = "AllToAll",
               .recorded = {"all_to_all", "all_to_all_single"},
               .c10d = {{{"alltoall", "all_to_all", C10dLayout::kOutputInput},
                         {"alltoall_base", "all_to_all", C10dLayout::kOutputInput},
                         {"all_to_all_single", "all_to_all", C10dLayout::kInputOnly}}},
               .measured = {"alltoall"},
               .sizes = CommSizes::kEqualParts,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kExchange,
               .in_step = true},
    CommTraits{.kind = CommKind::kAllToAllV,
               .type_name = "AllToAllV",
               .recorded = {"all_to_allv", "all_to_all_v_single"},
               .c10d = {{}},
               .measured = {"alltoallbase", "alltoallv"},
               .sizes = CommSizes::kSplits,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kRing,
               .pattern = CommPattern::kExchange},
    CommTraits{.kind = CommKind::kSend,
               .type_name = "Send",
               .recorded = {"send"},
               .c10d = {{{"send", "send", C10dLayout::kInPlace}}},
               .measured = {"sendrecv", "send", "isend"},
               .sizes = CommSizes::kMessage,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kMessage},
    CommTraits{.kind = CommKind::kRecv,
               .type_name = "Recv",
               .recorded = {"recv", "recvAnySource"},
               .c10d = {{{"recv", "recv", C10dLayout::kInPlace},
                         {"recv_any_source", "recv", C10dLayout::kInPlace}}},
               .measured = {"recv", "irecv"},
               .sizes = CommSizes::kMessage,
               .bytes = CommBytes::kOutputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kMessage},
    CommTraits{.kind = CommKind::kBarrier,
               .type_name = "Barrier",
               .recorded = {"barrier"},
               .c10d = {{{"barrier", "barrier", C10dLayout::kNoTensors},
                         {"monitored_barrier", "barrier", C10dLayout::kNoTensors}}},
               .measured = {"barrier"},
               .sizes = CommSizes::kNone,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kNothing,
               .in_step = true},
    CommTraits{.kind = CommKind::kWait,
               .type_name = {},
               .recorded = {"wait"},
               .c10d = {{{"wait_tensor", "wait", C10dLayout::kWaited}}},
               .measured = {},
               .sizes = CommSizes::kNoCommunication,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kNothing},
    CommTraits{.kind = CommKind::kInit,
               .type_name = {},
               .recorded = {"init", "batch_op_issue", "broadcastUniqueNCCLID"},
               .c10d = {{}},
               .measured = {},
               .sizes = CommSizes::kNoCommunication,
               .bytes = CommBytes::kInputs,
               .bus = BusFactor::kOnce,
               .pattern = CommPattern::kNothing}};

constexpr EnumNames<ReduceOp::kBxor> kReduceOpNames("sum", "avg", "product", "min", "max", "band",
                                                    "bor", "bxor");

// Tuning variables of NCCL 2.28 without "NCCL_". capture/understudy/kernels.py has the same
// list.
constexpr std::string_view kNcclTuning =
    "ALGO PROTO NTHREADS MIN_NCHANNELS MAX_NCHANNELS MIN_NRINGS MAX_NRINGS MIN_CTAS MAX_CTAS "
    "CGA_CLUSTER_SIZE NCHANNELS_PER_NET_PEER NCHANNELS_PER_PEER MIN_P2P_NCHANNELS "
    "MAX_P2P_NCHANNELS BUFFSIZE LL_BUFFSIZE LL128_BUFFSIZE P2P_NET_CHUNKSIZE P2P_PCI_CHUNKSIZE "
    "P2P_NVL_CHUNKSIZE NVLS_CHUNKSIZE NVLS_ENABLE NVLS_NCHANNELS CUMEM_ENABLE CUMEM_HOST_ENABLE "
    "LAUNCH_MODE LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL GRAPH_MIXING_SUPPORT GRAPH_REGISTER "
    "LOCAL_REGISTER WORK_FIFO_BYTES WORK_ARGS_BYTES THREAD_THRESHOLDS SINGLE_RING_THRESHOLD "
    "TREE_THRESHOLD PROGRESS_APPENDOP_FREQ RUNTIME_CONNECT CTA_POLICY CHECKS_DISABLE "
    "CHECK_POINTERS CREATE_THREAD_CONTEXT PXN_DISABLE P2P_PXN_LEVEL COLLNET_NODE_THRESHOLD";

/// Returns "all_gather_single" for "allGatherSingleImpl": torch 2.15 records functions' names.
std::string words_of(std::string_view function) {
  constexpr std::string_view kImpl = "Impl";
  function.remove_suffix(function.ends_with(kImpl) ? kImpl.size() : 0);
  std::string words;
  for (const char c : function) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isupper(letter) != 0) {
      words += '_';
    }
    words += static_cast<char>(std::tolower(letter));
  }
  return words;
}

constexpr bool is_complete() {
  for (std::size_t i = 0; i < kCommTraits.size(); ++i) {
    const CommTraits& row = kCommTraits[i];
    const bool is_sent = row.sizes != CommSizes::kNoCommunication;
    if (row.kind != static_cast<CommKind>(i) || row.recorded[0].empty() ||
        row.type_name.empty() == is_sent) {
      return false;
    }
  }
  return true;
}
static_assert(is_complete(), "each kind has its row, in the order of CommKind");

}  // namespace

double bus_factor(CommKind kind, int ranks) {
  const double n = std::max(ranks, 1);
  switch (traits(kind).bus) {
    case BusFactor::kOnce:
      return 1;
    case BusFactor::kRing:
      return (n - 1) / n;
    case BusFactor::kTwoRings:
      return 2 * (n - 1) / n;
  }
  return 1;
}

std::int64_t size_of_call(CommKind kind, std::int64_t in_bytes, std::int64_t out_bytes,
                          std::int64_t ranks) {
  const auto of_all = [ranks](std::int64_t bytes) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(bytes, ranks, &product) ? std::numeric_limits<std::int64_t>::max()
                                                          : product;
  };
  switch (traits(kind).bytes) {
    case CommBytes::kInputs:
      return in_bytes;
    case CommBytes::kOutputs:
      return out_bytes;
    case CommBytes::kInputsOfAllRanks:
      return of_all(in_bytes);
    case CommBytes::kOutputsOfAllRanks:
      return of_all(out_bytes);
  }
  return in_bytes;
}

const CommTraits& traits(CommKind kind) {
  return kCommTraits.at(static_cast<std::size_t>(kind));
}

std::optional<KnownC10d> find_c10d_name(std::string_view node_name) {
  const std::size_t colons = node_name.rfind("::");
  std::string_view name =
      colons == std::string_view::npos ? node_name : node_name.substr(colons + 2);
  const std::string_view scope = node_name.substr(0, node_name.size() - name.size());
  const bool is_functional = scope.find("functional") != std::string_view::npos;
  if (name.ends_with('_')) {
    name.remove_suffix(1);
  }
  for (const CommTraits& row : kCommTraits) {
    for (const C10dName& spelling : row.c10d) {
      // Some names are in both namespaces, with different layouts.
      const bool has_functional_layout =
          spelling.layout == C10dLayout::kInputOnly || spelling.layout == C10dLayout::kWaited;
      if (!name.empty() && spelling.c10d == name &&
          (scope.empty() || has_functional_layout == is_functional)) {
        return KnownC10d{&row, &spelling};
      }
    }
  }
  return std::nullopt;
}

std::optional<CommKind> kind_of_measured_name(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) != 0) {
      letters += static_cast<char>(std::tolower(letter));
    }
  }
  for (const CommTraits& row : kCommTraits) {
    if (!letters.empty() && std::ranges::find(row.measured, letters) != row.measured.end()) {
      return row.kind;
    }
  }
  return std::nullopt;
}

std::optional<CommKind> kind_of_recorded_name(std::string_view name) {
  const std::string words = name.ends_with("Impl") ? words_of(name) : std::string();
  for (const CommTraits& row : kCommTraits) {
    const auto is_row = [&row](std::string_view each) {
      return !each.empty() && std::ranges::find(row.recorded, each) != row.recorded.end();
    };
    if (is_row(name) || is_row(words)) {
      return row.kind;
    }
  }
  return std::nullopt;
}

std::string_view to_string(CommKind kind) {
  return traits(kind).recorded[0];
}

bool tunes_nccl(std::string_view variable) {
  constexpr std::string_view kPrefix = "NCCL_";
  return variable.starts_with(kPrefix) && has_word(kNcclTuning, variable.substr(kPrefix.size()));
}

std::string_view to_string(ReduceOp op) {
  return kReduceOpNames[op];
}

std::optional<Reduction> parse_reduction(std::string_view text) {
  constexpr std::string_view kPremultiplied = "premul_sum:";
  if (text.starts_with(kPremultiplied)) {
    text.remove_prefix(kPremultiplied.size());
    Reduction reduction;
    const char* const end = text.data() + text.size();
    const auto [read_to, error] = std::from_chars(text.data(), end, reduction.factor);
    const bool is_factor = error == std::errc() && read_to == end &&
                           std::isfinite(reduction.factor) && reduction.factor > 0;
    return is_factor ? std::optional(reduction) : std::nullopt;
  }
  const std::optional<ReduceOp> known = kReduceOpNames.find(text);
  return known ? std::optional(Reduction{*known}) : std::nullopt;
}

}  // namespace understudy::et_schema
