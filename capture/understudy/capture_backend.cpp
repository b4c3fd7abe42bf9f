// A c10d backend for captures on the CPU. Gloo communicates, and every call is recorded in
// ProcessGroupNCCL's form: a `record_param_comms` node with the message sizes, the splits, the
// group and the sequence number, and an `nccl:*` label below it.
//
// Gloo's own labels begin and end on its worker threads. There, an execution trace observer would
// pop the wrong frame, and operators of the training step would get wrong parents. So Gloo runs
// with recording switched off (it passes that state on to its workers), stays asynchronous, and
// only the calling thread records. Unlike NCCL's, the label also holds the operator of a reduction,
// after the tensors. Two calls are completed before they return, since Gloo lacks them: AVG (a sum,
// then a division) and all_to_all on lists (through one flat buffer).
//
// Under torch's fake group, where the other ranks are not there, every call is over at once.

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using c10d::Backend;
using c10d::OpType;
using c10d::Work;
using WorkPtr = c10::intrusive_ptr<Work>;
using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;
using Splits = std::vector<int64_t>;
using Sequence = std::tuple<int64_t, bool>;  // number, and whether it is point to point
constexpr int kMostYields = 1000;            // another owner of a work may keep it

int64_t element_count(const at::Tensor& tensor) {
  return tensor.numel();
}

template <typename Item>
int64_t element_count(const std::vector<Item>& list) {
  int64_t total = 0;
  for (const auto& item : list) {
    total += element_count(item);
  }
  return total;
}

// Combines several works. A recorded wait has the sequence number of the call that made the work.
class RecordedWork : public Work {
 public:
  // While the call's group is open, wait() returns at once: NCCL would not have begun the work.
  RecordedWork(std::vector<WorkPtr> parts, int rank, OpType type, Sequence sequence,
               std::shared_ptr<const bool> open_group)
      : Work(rank, type),
        parts_(std::move(parts)),
        sequence_(sequence),
        open_group_(std::move(open_group)) {}

  bool isCompleted() override {
    return std::ranges::all_of(parts_, [](const auto& part) { return part->isCompleted(); });
  }

  bool isSuccess() const override {
    return std::ranges::all_of(parts_, [](const auto& part) { return part->isSuccess(); });
  }

  std::exception_ptr exception() const override {
    for (const auto& part : parts_) {
      if (auto error = part->exception()) {
        return error;
      }
    }
    return nullptr;
  }

  bool wait(std::chrono::milliseconds timeout) override {
    if (open_group_ != nullptr && *open_group_) {
      return true;
    }
    const auto no_name = std::make_tuple(std::string(), std::string());
    RECORD_PARAM_COMMS(sequence_, no_name, rank_, std::string("wait"), 0, 0, at::kByte, Splits(),
                       Splits(), -1, -1, 1);
    const at::RecordFunctionGuard silent(/*is_enabled=*/false);
    for (const auto& part : parts_) {
      part->wait(timeout);
      // Gloo's thread holds the tensors a moment longer, on which a step's memory shall not depend.
      for (int i = 0; i < kMostYields && part.use_count() > 1; ++i) {
        std::this_thread::yield();
      }
    }
    return true;
  }

  int sourceRank() const override { return parts_.front()->sourceRank(); }
  Tensors result() override { return parts_.front()->result(); }
  uint64_t getSequencenumber() const override { return std::get<0>(sequence_); }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    if (parts_.size() == 1) {
      return parts_.front()->getFuture();
    }
    c10::List<c10::intrusive_ptr<c10::ivalue::Future>> futures(
        c10::FutureType::create(c10::ListType::create(c10::TensorType::get())));
    for (const auto& part : parts_) {
      futures.push_back(part->getFuture());
    }
    return c10::collectAll(futures);
  }

 private:
  std::vector<WorkPtr> parts_;
  Sequence sequence_;
  std::shared_ptr<const bool> open_group_;
};

// A call of the fake group: over at once. The group's own work has no results, which DDP reads.
class FakeWork : public Work {
 public:
  explicit FakeWork(Tensors results) : results_(std::move(results)) { finish(); }

  bool wait(std::chrono::milliseconds /*timeout*/) override { return true; }
  Tensors result() override { return results_; }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
    future->markCompleted(results_);
    return future;
  }

 private:
  Tensors results_;
};

Tensors tensors_of(const c10::IValue& value) {
  if (value.isTensor()) {
    return {value.toTensor()};
  }
  Tensors all;
  for (const c10::IValue& item : value.toListRef()) {
    const Tensors below = tensors_of(item);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

// Parts of a call that are written into the trace.
struct Call {
  const char* name;
  std::string label;
  OpType type;
  c10::IValue inputs;
  c10::IValue outputs;
  Tensors label_inputs;
  int rank;  // rank of this process in the group, or the call's root or peer
  int64_t in_nelems;
  int64_t out_nelems;
  at::ScalarType dtype;
  Splits in_splits = {};
  Splits out_splits = {};
  std::string reduce_op = {};
};

double factor_of(const c10d::ReduceOp& premultiplied) {
  const auto* sum =
      static_cast<const c10d::NCCLPreMulSumSupplement*>(premultiplied.supplement_.get());
  return sum->tensor_factor.defined() ? sum->tensor_factor.item<double>() : sum->double_factor;
}

// Returns the reduction's name in functional collectives, with the factor of a premultiplied sum.
std::string name_of(const c10d::ReduceOp& op) {
  constexpr std::array<const char*, 9> kNames = {"sum",  "avg", "product", "min",       "max",
                                                 "band", "bor", "bxor",    "premul_sum"};
  const std::string name = op.op_ < kNames.size() ? kNames[op.op_] : "unused";
  return op.op_ == c10d::ReduceOp::PREMUL_SUM ? name + ":" + c10::str(factor_of(op)) : name;
}

class NcclFormBackend : public Backend {
 public:
  NcclFormBackend(c10::intrusive_ptr<Backend> gloo, const std::vector<int64_t>& global_ranks)
      : Backend(gloo->getRank(), gloo->getSize()),
        gloo_(std::move(gloo)),
        is_fake_(gloo_->getBackendName() == "fake") {
    // As NCCL does: stride 0 for a group of one, -1 if the ranks are not evenly spaced.
    if (global_ranks.empty()) {
      return;
    }
    start_ = static_cast<int>(global_ranks[0]);
    stride_ = global_ranks.size() == 1 ? 0 : static_cast<int>(global_ranks[1] - global_ranks[0]);
    for (size_t i = 1; i < global_ranks.size(); ++i) {
      if (global_ranks[i] - global_ranks[i - 1] != stride_) {
        stride_ = -1;
      }
    }
  }

  const std::string getBackendName() const override { return "nccl_form"; }
  bool supportsCoalescing() const override { return true; }
  void setTimeout(std::chrono::milliseconds timeout) override { gloo_->setTimeout(timeout); }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return collectives_; }

  void startCoalescing() override {
    open_group_ = std::make_shared<bool>(true);
    coalesced_.clear();
    bumped_collective_ = bumped_p2p_ = false;
  }

  WorkPtr endCoalescing() override {
    *open_group_ = false;
    open_group_.reset();
    const Sequence sequence(bumped_p2p_ ? p2p_ : collectives_, bumped_p2p_);
    RECORD_USER_SCOPE("nccl:coalesced");
    return c10::make_intrusive<RecordedWork>(std::move(coalesced_), getRank(), OpType::COALESCED,
                                             sequence, nullptr);
  }

  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override {
    return record_reduction(
        opts, in_place("allreduce", "nccl:all_reduce", OpType::ALLREDUCE, tensors, getRank()),
        tensors, [&](const auto& o) { return gloo_->allreduce(tensors, o); });
  }

  WorkPtr allreduce_coalesced(Tensors& tensors,
                              const c10d::AllreduceCoalescedOptions& opts) override {
    return record_reduction(opts,
                            in_place("allreduce_coalesced", "nccl:allreduce_coalesced",
                                     OpType::COALESCED, tensors, getRank()),
                            tensors,
                            [&](const auto& o) { return gloo_->allreduce_coalesced(tensors, o); });
  }

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override {
    return record(in_place("broadcast", "nccl:broadcast", OpType::BROADCAST, tensors,
                           static_cast<int>(opts.rootRank)),
                  [&] { return gloo_->broadcast(tensors, opts); });
  }

  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override {
    return record_reduction(
        opts,
        in_place("reduce", "nccl:reduce", OpType::REDUCE, tensors, static_cast<int>(opts.rootRank)),
        tensors, [&](const auto& o) { return gloo_->reduce(tensors, o); });
  }

  WorkPtr allgather(TensorLists& outputs, Tensors& inputs,
                    const c10d::AllgatherOptions& opts) override {
    return record(call("all_gather", "nccl:all_gather", OpType::ALLGATHER, inputs, outputs, inputs),
                  [&] { return gloo_->allgather(outputs, inputs, opts); });
  }

  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                          const c10d::AllgatherOptions& opts) override {
    return record(call("_allgather_base", "nccl:_all_gather_base", OpType::_ALLGATHER_BASE, input,
                       output, {input}),
                  [&] { return gloo_->_allgather_base(output, input, opts); });
  }

  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& opts) override {
    return record(call("allgather_into_tensor_coalesced", "nccl:all_gather_into_tensor_coalesced",
                       OpType::COALESCED, inputs, outputs, inputs),
                  [&] { return gloo_->allgather_into_tensor_coalesced(outputs, inputs, opts); });
  }

  WorkPtr gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override {
    Call what = call("gather", "nccl:gather", OpType::GATHER, inputs, outputs, inputs);
    what.rank = static_cast<int>(opts.rootRank);
    what.out_nelems = what.in_nelems * getSize();
    return record(what, [&] { return gloo_->gather(outputs, inputs, opts); });
  }

  WorkPtr scatter(Tensors& outputs, TensorLists& inputs,
                  const c10d::ScatterOptions& opts) override {
    Call what = call("scatter", "nccl:scatter", OpType::SCATTER, inputs, outputs, outputs);
    what.rank = static_cast<int>(opts.rootRank);
    what.in_nelems = what.out_nelems * getSize();
    return record(what, [&] { return gloo_->scatter(outputs, inputs, opts); });
  }

  WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs,
                         const c10d::ReduceScatterOptions& opts) override {
    return record_reduction(
        opts,
        call("reduce_scatter", "nccl:reduce_scatter", OpType::REDUCE_SCATTER, inputs, outputs,
             inputs.front()),
        outputs, [&](const auto& o) { return gloo_->reduce_scatter(outputs, inputs, o); });
  }

  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& opts) override {
    return record_reduction(
        opts,
        call("_reduce_scatter_base", "nccl:_reduce_scatter_base", OpType::_REDUCE_SCATTER_BASE,
             input, output, {input}),
        {output}, [&](const auto& o) { return gloo_->_reduce_scatter_base(output, input, o); });
  }

  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& opts) override {
    return record_reduction(
        opts,
        call("reduce_scatter_tensor_coalesced", "nccl:reduce_scatter_tensor_coalesced",
             OpType::COALESCED, inputs, outputs, inputs),
        outputs,
        [&](const auto& o) { return gloo_->reduce_scatter_tensor_coalesced(outputs, inputs, o); });
  }

  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, Splits& out_splits,
                        Splits& in_splits, const c10d::AllToAllOptions& opts) override {
    const bool even = out_splits.empty() && in_splits.empty();
    Call what = call(even ? "all_to_all" : "all_to_allv", "nccl:all_to_all", OpType::ALLTOALL_BASE,
                     input, output, {input});
    what.in_splits = in_splits;
    what.out_splits = out_splits;
    return record(what,
                  [&] { return gloo_->alltoall_base(output, input, out_splits, in_splits, opts); });
  }

  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override {
    Call what = call("all_to_all", "nccl:all_to_all", OpType::ALLTOALL, inputs, outputs, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      what.in_splits.push_back(inputs[i].numel());
      what.out_splits.push_back(outputs[i].numel());
    }
    return record(what, [&] { return flat_alltoall(outputs, inputs, what, opts); });
  }

  WorkPtr send(Tensors& tensors, int peer, int tag) override {
    return record(p2p("send", "nccl:send " + pair("->", peer), OpType::SEND, tensors, peer),
                  [&] { return gloo_->send(tensors, peer, tag); });
  }

  WorkPtr recv(Tensors& tensors, int peer, int tag) override {
    return record(p2p("recv", "nccl:recv " + pair("<-", peer), OpType::RECV, tensors, peer),
                  [&] { return gloo_->recv(tensors, peer, tag); });
  }

  WorkPtr barrier(const c10d::BarrierOptions& opts) override {
    const Sequence sequence = next(/*is_p2p=*/false);
    RECORD_PARAM_COMMS(sequence, group_name(), getRank(), std::string("barrier"), 0, 0, at::kByte,
                       Splits(), Splits(), start_, stride_, getSize());
    return silently(
        "nccl:all_reduce_barrier", {}, [&] { return gloo_->barrier(opts); }, OpType::BARRIER,
        sequence);
  }

 private:
  std::tuple<std::string, std::string> group_name() const {
    return {getGroupUid(), getGroupDesc()};
  }

  std::string pair(const char* arrow, int peer) const {
    return std::to_string(getRank()) + arrow + std::to_string(peer);
  }

  template <typename Inputs, typename Outputs>
  Call call(const char* name, std::string label, OpType type, const Inputs& inputs,
            const Outputs& outputs, const Tensors& label_inputs) const {
    return {name,
            std::move(label),
            type,
            c10::IValue(inputs),
            c10::IValue(outputs),
            label_inputs,
            getRank(),
            element_count(inputs),
            element_count(outputs),
            label_inputs.front().scalar_type()};
  }

  Call in_place(const char* name, std::string label, OpType type, const Tensors& tensors,
                int rank) const {
    Call what = call(name, std::move(label), type, tensors, tensors, tensors);
    what.rank = rank;
    return what;
  }

  Call p2p(const char* name, std::string label, OpType type, const Tensors& tensors,
           int peer) const {
    Call what = call(name, std::move(label), type, tensors.front(), tensors.front(), tensors);
    what.rank = peer;
    return what;
  }

  // Calls of one coalesced group share a number. ProcessGroupNCCL records the next number for all
  // collectives after the first.
  Sequence next(bool is_p2p) {
    uint64_t& counter = is_p2p ? p2p_ : collectives_;
    bool& bumped = is_p2p ? bumped_p2p_ : bumped_collective_;
    if (open_group_ == nullptr || !bumped) {
      ++counter;
      bumped = true;
      return {static_cast<int64_t>(counter), is_p2p};
    }
    return {static_cast<int64_t>(counter) + (is_p2p ? 0 : 1), is_p2p};
  }

  WorkPtr record(const Call& what, const std::function<WorkPtr()>& launch) {
    const Sequence sequence = next(what.type == OpType::SEND || what.type == OpType::RECV);
    RECORD_PARAM_COMMS_DATA(sequence, group_name(), what.inputs, what.outputs, what.rank,
                            std::string(what.name), what.in_nelems, what.out_nelems, what.dtype,
                            what.in_splits, what.out_splits, start_, stride_, getSize());
    std::vector<c10::IValue> values(what.label_inputs.begin(), what.label_inputs.end());
    if (!what.reduce_op.empty()) {
      values.emplace_back(what.reduce_op);
    }
    return silently(
        what.label, values, [&] { return is_fake_ ? received(what) : launch(); }, what.type,
        sequence);
  }

  // Completes a call of the fake group, which leaves most results unwritten. They get what this
  // rank sends, over and over; what it has nothing for is drawn. Operands of reductions stay.
  WorkPtr received(const Call& what) {
    const at::AutoDispatchBelowADInplaceOrView unseen_by_autograd;
    const Tensors results = tensors_of(what.outputs);
    const Tensors sent = what.type == OpType::RECV ? Tensors() : tensors_of(what.inputs);
    const bool is_by_pairs = sent.size() == results.size();
    for (size_t i = 0; i < results.size(); ++i) {
      if (element_count(sent) == 0 || !results[i].is_contiguous()) {
        draw(results[i]);
      } else if (!is_by_pairs) {
        repeat(sent, results[i]);
      } else if (sent[i].data_ptr() != results[i].data_ptr() && sent[i].numel() > 0) {
        repeat({sent[i]}, results[i]);
      }
    }
    return c10::make_intrusive<FakeWork>(results);
  }

  static void repeat(const Tensors& sent, const at::Tensor& result) {
    at::Tensor rest = result.view(-1);
    while (rest.numel() > 0) {
      for (const at::Tensor& part : sent) {
        const int64_t count = std::min(rest.numel(), part.numel());
        rest.narrow(0, 0, count).copy_(part.reshape(-1).narrow(0, 0, count));
        rest = rest.narrow(0, count, rest.numel() - count);
      }
    }
  }

  // Not from the program's own generator, whose numbers stay as they were.
  void draw(const at::Tensor& result) const {
    if (!result.is_complex() && (!result.is_floating_point() || result.element_size() == 1)) {
      result.zero_();
      return;
    }
    at::Generator generator = at::globalContext().defaultGenerator(result.device()).clone();
    generator.set_current_seed(getRank());
    result.normal_(0, 1, generator);
  }

  // Runs the call under its label. Everything below it is unrecorded, also on Gloo's threads.
  WorkPtr silently(const std::string& label, const std::vector<c10::IValue>& values,
                   const std::function<WorkPtr()>& launch, OpType type, Sequence sequence) {
    RECORD_USER_SCOPE_WITH_INPUTS(label, values);
    const at::RecordFunctionGuard silent(/*is_enabled=*/false);
    WorkPtr work = launch();
    if (open_group_ != nullptr) {
      coalesced_.push_back(work);
    }
    return c10::make_intrusive<RecordedWork>(std::vector<WorkPtr>{std::move(work)}, getRank(), type,
                                             sequence, open_group_);
  }

  template <typename Options, typename Launch>
  WorkPtr record_reduction(const Options& opts, Call what, const Tensors& results,
                           const Launch& launch) {
    what.reduce_op = name_of(opts.reduceOp);
    return record(what, [&] { return averaged(opts, results, launch); });
  }

  template <typename Options, typename Launch>
  WorkPtr averaged(const Options& opts, const Tensors& results, const Launch& launch) const {
    const bool is_average = opts.reduceOp.op_ == c10d::ReduceOp::AVG;
    if (!is_average && opts.reduceOp.op_ != c10d::ReduceOp::PREMUL_SUM) {
      return launch(opts);
    }
    Options sum = opts;
    sum.reduceOp = c10d::ReduceOp::SUM;
    WorkPtr work = launch(sum);
    work->wait();
    for (const auto& result : results) {
      is_average ? result.div_(getSize()) : result.mul_(factor_of(opts.reduceOp));
    }
    return work;
  }

  WorkPtr flat_alltoall(const Tensors& outputs, const Tensors& inputs, const Call& what,
                        const c10d::AllToAllOptions& opts) {
    Tensors pieces;
    for (const auto& input : inputs) {
      pieces.push_back(input.reshape(-1));
    }
    at::Tensor sent = at::cat(pieces);
    at::Tensor received = at::empty({what.out_nelems}, sent.options());
    Splits out_splits = what.out_splits;  // copies, because Gloo empties its arguments
    Splits in_splits = what.in_splits;
    WorkPtr work = gloo_->alltoall_base(received, sent, out_splits, in_splits, opts);
    work->wait();
    const Tensors parts = received.split_with_sizes(what.out_splits);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].copy_(parts[i].view_as(outputs[i]));
    }
    return work;
  }

  c10::intrusive_ptr<Backend> gloo_;
  bool is_fake_;
  int start_ = 0;
  int stride_ = 1;
  uint64_t collectives_ = 0;
  uint64_t p2p_ = 0;
  std::shared_ptr<bool> open_group_;  // set while the calls of a group are issued
  bool bumped_collective_ = false;
  bool bumped_p2p_ = false;
  std::vector<WorkPtr> coalesced_;
};

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("create",
        [](const c10::intrusive_ptr<Backend>& gloo,
           const std::vector<int64_t>& global_ranks) -> c10::intrusive_ptr<Backend> {
          return c10::make_intrusive<NcclFormBackend>(gloo, global_ranks);
        });
}
