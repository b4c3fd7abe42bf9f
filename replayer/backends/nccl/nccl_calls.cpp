#include "nccl_calls.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/model/comm_traits.h"
#include "replayer/backends/interface/check_call.h"

namespace understudy::backends {
namespace {

using et_schema::CommKind;
using et_schema::DType;
using Tensors = std::vector<at::Tensor>;

constexpr std::array kReduced = {
    DType::kInt8,     DType::kUInt8,          DType::kBool,           DType::kInt32,
    DType::kInt64,    DType::kFloat16,        DType::kFloat32,        DType::kFloat64,
    DType::kBFloat16, DType::kComplexFloat16, DType::kComplexFloat32, DType::kComplexFloat64};

ReduceOp op_of(const Call& call) {
  return dtype_of(call) == DType::kBool ? of_bools(call.op) : call.op;
}

c10d::ReduceOp reduction_of(const Call& call) {
  if (call.factor != 1) {
    // As makeNCCLPreMulSum(), which has another name from torch 2.15 on.
    c10d::ReduceOp scaled;
    scaled.op_ = c10d::ReduceOp::PREMUL_SUM;
    scaled.supplement_ = c10::make_intrusive<c10d::NCCLPreMulSumSupplement>(call.factor);
    return scaled;
  }
  switch (op_of(call)) {
    case ReduceOp::kAvg:
      return c10d::ReduceOp::AVG;
    case ReduceOp::kProduct:
      return c10d::ReduceOp::PRODUCT;
    case ReduceOp::kMin:
      return c10d::ReduceOp::MIN;
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
    default:
      return c10d::ReduceOp::SUM;
  }
}

class Issue {
 public:
  Issue(const Call& call, c10d::ProcessGroupNCCL& group, c10::Device device, bool asynchronous)
      : call_(call), group_(group), device_(device), asynchronous_(asynchronous) {}

  Works issue() {
    const auto size = static_cast<std::size_t>(group_.getSize());
    const bool is_root = group_.getRank() == call_.root_or_peer;
    switch (call_.kind) {
      case CommKind::kAllReduce:
        all_reduce();
        break;
      case CommKind::kReduce:
        each_pair([&](Tensors from, Tensors to) {
          // Where there is no result the input stands for it: it is only read.
          Tensors result = is_root ? in_place(from, to) : std::move(from);
          return group_.reduce(result, rooted(reducing<c10d::ReduceOptions>()));
        });
        break;
      case CommKind::kBroadcast:
        each_pair([&](Tensors from, Tensors to) {
          Tensors result = is_root ? in_place(from, to) : std::move(to);
          return group_.broadcast(result, rooted(with_async<c10d::BroadcastOptions>()));
        });
        break;
      case CommKind::kAllGather:
        for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
          std::vector<Tensors> to = {tensors(std::span(call_.outputs).subspan(i * size, size))};
          Tensors from = {tensor(call_.inputs[i])};
          add(group_.allgather(to, from, with_async<c10d::AllgatherOptions>()));
        }
        break;
      case CommKind::kAllGatherBase:
        each_pair([&](Tensors from, Tensors to) {
          return group_._allgather_base(to[0], from[0], with_async<c10d::AllgatherOptions>());
        });
        break;
      case CommKind::kReduceScatter:
        for (std::size_t i = 0; i < call_.outputs.size(); ++i) {
          Tensors to = {tensor(call_.outputs[i])};
          std::vector<Tensors> from = {tensors(std::span(call_.inputs).subspan(i * size, size))};
          add(group_.reduce_scatter(to, from, reducing<c10d::ReduceScatterOptions>()));
        }
        break;
      case CommKind::kReduceScatterBase:
        each_pair([&](Tensors from, Tensors to) {
          return group_._reduce_scatter_base(to[0], from[0],
                                             reducing<c10d::ReduceScatterOptions>());
        });
        break;
      case CommKind::kGather: {
        Tensors from = tensors(call_.inputs);
        std::vector<Tensors> to;
        if (is_root) {
          to.push_back(tensors(call_.outputs));
        }
        add(group_.gather(to, from, rooted(with_async<c10d::GatherOptions>())));
        break;
      }
      case CommKind::kScatter: {
        Tensors to = tensors(call_.outputs);
        std::vector<Tensors> from;
        if (is_root) {
          from.push_back(tensors(call_.inputs));
        }
        add(group_.scatter(to, from, rooted(with_async<c10d::ScatterOptions>())));
        break;
      }
      case CommKind::kAllToAll:
      case CommKind::kAllToAllV:
        all_to_all();
        break;
      case CommKind::kSend:
      case CommKind::kRecv:
        messages();
        break;
      case CommKind::kBarrier: {
        auto options = with_async<c10d::BarrierOptions>();
        options.device = device_;
        add(group_.barrier(options));
        break;
      }
      default:
        UNDERSTUDY_ASSERT(false);
    }
    return std::move(works_);
  }

 private:
  void add(c10::intrusive_ptr<c10d::Work> work) {
    if (work != nullptr) {
      works_.push_back(std::move(work));
    }
  }

  template <typename Options>
  [[nodiscard]] Options with_async() const {
    Options options;
    options.asyncOp = asynchronous_;
    return options;
  }
  template <typename Options>
  [[nodiscard]] Options reducing() const {
    auto options = with_async<Options>();
    options.reduceOp = reduction_of(call_);
    return options;
  }

  template <typename Options>
  [[nodiscard]] Options rooted(Options options) const {
    options.rootRank = call_.root_or_peer;
    return options;
  }

  [[nodiscard]] at::Tensor tensor(const Buffer& buffer) const {
    at::ScalarType dtype = at::kByte;
    std::int64_t count = size_bytes(buffer);
    if (et_schema::traits(call_.kind).reduces) {
      dtype = static_cast<at::ScalarType>(buffer.dtype);
      count = buffer.count;
      if (et_schema::is_complex(buffer.dtype)) {  // two numbers each
        dtype = c10::toRealValueType(dtype);
        count *= 2;
      }
    }
    return at::for_blob(buffer.data, {count})
        .options(at::TensorOptions().dtype(dtype).device(device_))
        .target_device(device_)
        .make_tensor();
  }
  [[nodiscard]] Tensors tensors(std::span<const Buffer> buffers) const {
    Tensors all;
    for (const Buffer& buffer : buffers) {
      all.push_back(tensor(buffer));
    }
    return all;
  }

  /// Returns the result's tensors, which hold the inputs from now on.
  [[nodiscard]] static Tensors in_place(const Tensors& from, Tensors to) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].data_ptr() != to[i].data_ptr()) {
        to[i].copy_(from[i], /*non_blocking=*/true);
      }
    }
    return to;
  }

  /// Issues a call for each input and its output; several are coalesced.
  template <typename One>
  void each_pair(const One& one) {
    const bool are_several = call_.inputs.size() > 1;
    if (are_several) {
      group_.startCoalescing();
    }
    for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
      auto work = one(Tensors{tensor(call_.inputs[i])}, Tensors{tensor(call_.outputs[i])});
      if (!are_several) {
        add(std::move(work));
      }
    }
    if (are_several) {
      add(group_.endCoalescing());
    }
  }

  void all_reduce() {
    Tensors all = in_place(tensors(call_.inputs), tensors(call_.outputs));
    if (all.size() == 1) {
      add(group_.allreduce(all, reducing<c10d::AllreduceOptions>()));
    } else if (!all.empty()) {
      add(group_.allreduce_coalesced(all, reducing<c10d::AllreduceCoalescedOptions>()));
    }
  }

  void all_to_all() {
    Tensors from = tensors(call_.inputs);
    Tensors to = tensors(call_.outputs);
    const auto options = with_async<c10d::AllToAllOptions>();
    if (from.size() != 1 || to.size() != 1) {
      add(group_.alltoall(to, from, options));
      return;
    }
    const auto in_bytes = [&](std::vector<std::int64_t> splits) {
      for (std::int64_t& split : splits) {
        split *= et_schema::item_size(dtype_of(call_));
      }
      return splits;
    };
    std::vector<std::int64_t> to_splits = in_bytes(call_.out_splits);  // empty: equal parts
    std::vector<std::int64_t> from_splits = in_bytes(call_.in_splits);
    add(group_.alltoall_base(to[0], from[0], to_splits, from_splits, options));
  }

  void messages() {
    for (const Buffer& buffer : call_.inputs) {
      Tensors sent = {tensor(buffer)};
      add(group_.send(sent, call_.root_or_peer, 0));
    }
    for (const Buffer& buffer : call_.outputs) {
      Tensors received = {tensor(buffer)};
      add(group_.recv(received, call_.root_or_peer, 0));
    }
  }

  const Call& call_;
  c10d::ProcessGroupNCCL& group_;
  c10::Device device_;
  bool asynchronous_;
  Works works_;
};

}  // namespace

bool reduces_on_device(const Call& call) {
  const DType dtype = dtype_of(call);
  const ReduceOp op = op_of(call);
  const bool is_bitwise = op == ReduceOp::kBand || op == ReduceOp::kBor || op == ReduceOp::kBxor;
  return can_reduce(dtype, call.op) && std::ranges::find(kReduced, dtype) != kReduced.end() &&
         !is_bitwise &&
         !(et_schema::is_complex(dtype) && op != ReduceOp::kSum && op != ReduceOp::kAvg);
}

Works issue(const Call& call, c10d::ProcessGroupNCCL& group, c10::Device device,
            bool asynchronous) {
  return Issue(call, group, device, asynchronous).issue();
}

}  // namespace understudy::backends
