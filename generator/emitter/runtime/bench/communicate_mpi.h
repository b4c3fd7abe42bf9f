#pragma once

// The communications of a step by non-blocking MPI.

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <mpi.h>

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "communicate.h"

namespace bench {

/// The MPI requests of one call, and the work that follows when they are complete.
class MpiCall {
 public:
  MpiCall(const Comms& comms, const Call& call)
      : call_(call), communicator_(comms.communicator(call.group)) {
    const auto [rank, size] = comms.place(call.group);
    rank_ = rank;
    size_ = size;
    start();
  }

  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (const auto& step : after_)
      step();
  }

 private:
  MPI_Request* add() {
    requests_.push_back(MPI_REQUEST_NULL);
    return &requests_.back();
  }
  static int count_of(std::size_t elements) {
    TORCH_CHECK(elements <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
                "MPI takes no more than 2^31 - 1 elements a call, not ", elements);
    return static_cast<int>(elements);
  }

  void start() {
    requests_.reserve(2 * (call_.inputs.size() + call_.outputs.size()) + 1);
    switch (call_.kind) {
      case Kind::kAllReduce:
        for (std::size_t i = 0; i < call_.inputs.size(); ++i)
          all_reduce(call_.inputs[i], call_.outputs[i]);
        return;
      case Kind::kBroadcast:
        for (std::size_t i = 0; i < call_.inputs.size(); ++i)
          broadcast(call_.inputs[i], call_.outputs[i]);
        return;
      case Kind::kReduce:
        // Reduces on all ranks: the root's result is the same.
        for (std::size_t i = 0; i < call_.inputs.size(); ++i) {
          all_reduce(call_.inputs[i],
                     rank_ == call_.root_or_peer ? call_.outputs[i] : call_.outputs[i].clone());
        }
        return;
      case Kind::kAllGather:
        for (std::size_t i = 0; i < call_.inputs.size(); ++i)
          all_gather_list(i);
        return;
      case Kind::kAllGatherBase:
        for (std::size_t i = 0; i < call_.outputs.size(); ++i)
          all_gather(call_.inputs[i], call_.outputs[i]);
        return;
      case Kind::kReduceScatter:
        for (std::size_t i = 0; i < call_.outputs.size(); ++i)
          reduce_scatter_list(i);
        return;
      case Kind::kReduceScatterBase:
        for (std::size_t i = 0; i < call_.outputs.size(); ++i)
          reduce_scatter(call_.inputs[i], call_.outputs[i]);
        return;
      case Kind::kGather:
      case Kind::kScatter:
        rooted_lists();
        return;
      case Kind::kAllToAll:
      case Kind::kAllToAllV:
        all_to_all();
        return;
      case Kind::kSend:
        for (const Tensor& tensor : call_.inputs)
          send(bytes_of(tensor), size_of(tensor), call_.root_or_peer);
        return;
      case Kind::kRecv:
        for (const Tensor& tensor : call_.outputs)
          receive(bytes_of(tensor), size_of(tensor), call_.root_or_peer);
        return;
      case Kind::kBarrier:
        MPI_Ibarrier(communicator_, add());
        return;
    }
  }

  void send(const char* data, std::size_t bytes, int to) {
    MPI_Isend(data, count_of(bytes), MPI_BYTE, to, 0, communicator_, add());
  }
  void receive(char* data, std::size_t bytes, int from) {
    MPI_Irecv(data, count_of(bytes), MPI_BYTE, from, 0, communicator_, add());
  }

  [[nodiscard]] MPI_Op op() const {
    static const std::map<std::string, MPI_Op> ops = {
        {"sum", MPI_SUM}, {"avg", MPI_SUM},   {"product", MPI_PROD}, {"min", MPI_MIN},
        {"max", MPI_MAX}, {"band", MPI_BAND}, {"bor", MPI_BOR},      {"bxor", MPI_BXOR}};
    const auto known = ops.find(is_premultiplied() ? "sum" : call_.reduce);
    TORCH_CHECK(known != ops.end(), "no reduction ", call_.reduce);
    return known->second;
  }
  /// MPI has no half floats: they are reduced as floats and rounded once.
  static bool is_narrow(const Tensor& tensor) {
    return tensor.is_floating_point() &&
           tensor.element_size() < static_cast<std::int64_t>(sizeof(float));
  }
  static MPI_Datatype type_of(at::ScalarType dtype) {
    static const std::map<at::ScalarType, MPI_Datatype> types = {
        {at::kFloat, MPI_FLOAT},
        {at::kDouble, MPI_DOUBLE},
        {at::kLong, MPI_INT64_T},
        {at::kInt, MPI_INT32_T},
        {at::kShort, MPI_INT16_T},
        {at::kChar, MPI_INT8_T},
        {at::kByte, MPI_UINT8_T},
        {at::kBool, MPI_UINT8_T},
        {at::kComplexFloat, MPI_C_FLOAT_COMPLEX},
        {at::kComplexDouble, MPI_C_DOUBLE_COMPLEX}};
    const auto known = types.find(dtype);
    TORCH_CHECK(known != types.end(), "no reduction of ", dtype);
    return known->second;
  }

  void all_reduce(const Tensor& input, const Tensor& output) {
    Tensor target = output;
    if (is_narrow(input)) {
      target = input.to(at::kFloat);
      after_.emplace_back([this, target, output] {
        average(target);
        output.copy_(target);
      });
    } else {
      copy_bytes(input, output);
      after_.emplace_back([this, target] { average(target); });
    }
    MPI_Iallreduce(MPI_IN_PLACE, target.data_ptr(),
                   count_of(static_cast<std::size_t>(target.numel())),
                   type_of(target.scalar_type()), op(), communicator_, add());
  }
  void average(const Tensor& tensor) const {
    if (call_.reduce == "avg")
      tensor.div_(size_);
    if (is_premultiplied())
      tensor.mul_(std::stod(call_.reduce.substr(call_.reduce.find(':') + 1)));
  }
  [[nodiscard]] bool is_premultiplied() const { return call_.reduce.rfind("premul_sum:", 0) == 0; }

  void broadcast(const Tensor& input, const Tensor& output) {
    if (rank_ == call_.root_or_peer)
      copy_bytes(input, output);
    MPI_Ibcast(output.data_ptr(), count_of(size_of(output)), MPI_BYTE, call_.root_or_peer,
               communicator_, add());
  }

  void all_gather(const Tensor& input, const Tensor& output) {
    const std::size_t bytes = size_of(input);
    const bool in_place =
        bytes_of(input) == bytes_of(output) + static_cast<std::size_t>(rank_) * bytes;
    MPI_Iallgather(in_place ? MPI_IN_PLACE : input.data_ptr(), count_of(bytes), MPI_BYTE,
                   output.data_ptr(), count_of(bytes), MPI_BYTE, communicator_, add());
  }
  void all_gather_list(std::size_t i) {
    const auto ranks = static_cast<std::size_t>(size_);
    for (std::size_t k = 0; k < ranks; ++k) {
      const Tensor& output = call_.outputs[i * ranks + k];
      if (static_cast<int>(k) == rank_) {
        copy_bytes(call_.inputs[i], output);
      } else {
        receive(bytes_of(output), size_of(output), static_cast<int>(k));
        send(bytes_of(call_.inputs[i]), size_of(call_.inputs[i]), static_cast<int>(k));
      }
    }
  }

  void reduce_scatter(const Tensor& input, const Tensor& output) {
    const Tensor whole = is_narrow(input) ? input.to(at::kFloat) : input;
    const Tensor part = is_narrow(input) ? output.to(at::kFloat) : output;
    MPI_Ireduce_scatter_block(whole.data_ptr(), part.data_ptr(),
                              count_of(static_cast<std::size_t>(part.numel())),
                              type_of(part.scalar_type()), op(), communicator_, add());
    after_.emplace_back([this, whole, part, output] {
      average(part);
      if (!part.is_same(output))
        output.copy_(part);
    });
  }
  void reduce_scatter_list(std::size_t i) {
    const auto begin = call_.inputs.begin() + static_cast<std::ptrdiff_t>(i) * size_;
    std::vector<Tensor> parts;
    std::transform(begin, begin + size_, std::back_inserter(parts),
                   [](const Tensor& part) { return part.flatten(); });
    reduce_scatter(at::cat(parts), call_.outputs[i]);
  }

  void rooted_lists() {
    const bool gathers = call_.kind == Kind::kGather;
    if (rank_ != call_.root_or_peer) {
      const Tensor& own = gathers ? call_.inputs[0] : call_.outputs[0];
      gathers ? send(bytes_of(own), size_of(own), call_.root_or_peer)
              : receive(bytes_of(own), size_of(own), call_.root_or_peer);
      return;
    }
    const std::vector<Tensor>& others = gathers ? call_.outputs : call_.inputs;
    for (int k = 0; k < size_; ++k) {
      const Tensor& other = others[static_cast<std::size_t>(k)];
      if (k == rank_) {
        gathers ? copy_bytes(call_.inputs[0], other) : copy_bytes(other, call_.outputs[0]);
      } else {
        gathers ? receive(bytes_of(other), size_of(other), k)
                : send(bytes_of(other), size_of(other), k);
      }
    }
  }

  void all_to_all() {
    if (call_.inputs.size() == 1 && call_.outputs.size() == 1) {
      all_to_all_parts(call_.inputs[0], call_.outputs[0]);
      return;
    }
    for (int k = 0; k < size_; ++k) {
      const Tensor& input = call_.inputs[static_cast<std::size_t>(k)];
      const Tensor& output = call_.outputs[static_cast<std::size_t>(k)];
      if (k == rank_) {
        copy_bytes(input, output);
      } else {
        receive(bytes_of(output), size_of(output), k);
        send(bytes_of(input), size_of(input), k);
      }
    }
  }
  void all_to_all_parts(const Tensor& input, const Tensor& output) {
    const auto bytes = [this](const Tensor& tensor, const std::vector<std::int64_t>& splits) {
      std::vector<int> counts(static_cast<std::size_t>(size_), count_of(size_of(tensor)) / size_);
      for (std::size_t k = 0; k < splits.size(); ++k) {
        counts[k] = count_of(static_cast<std::size_t>(splits[k]) * tensor.element_size());
      }
      return counts;
    };
    struct Plan {
      std::vector<int> in, in_at, out, out_at;
    };
    const auto plan = std::make_shared<Plan>();
    plan->in = bytes(input, call_.in_splits);
    plan->out = bytes(output, call_.out_splits);
    const auto places = [](const std::vector<int>& counts) {
      std::vector<int> at(counts.size());
      std::exclusive_scan(counts.begin(), counts.end(), at.begin(), 0);
      return at;
    };
    plan->in_at = places(plan->in);
    plan->out_at = places(plan->out);
    MPI_Ialltoallv(input.data_ptr(), plan->in.data(), plan->in_at.data(), MPI_BYTE,
                   output.data_ptr(), plan->out.data(), plan->out_at.data(), MPI_BYTE,
                   communicator_, add());
    after_.emplace_back([plan] {});
  }

  const Call& call_;
  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> requests_;
  std::vector<std::function<void()>> after_;
};

inline std::function<void()> start_mpi(const Comms& comms, const Call& call) {
  const auto running = std::make_shared<MpiCall>(comms, call);
  return [running] { running->finish(); };
}

}  // namespace bench
