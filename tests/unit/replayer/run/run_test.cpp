#include "replayer/run/run.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "fixture.h"
#include "forwarding_backend.h"

namespace understudy::replayer::testing {
namespace {

class RunTest : public ReplayerTest {
 protected:
  void expect_all(SlotId id, double value) {
    EXPECT_TRUE(
        at::allclose(slot(id).to(at::kDouble), at::full(slot(id).sizes(), value, at::kDouble)))
        << slot(id);
  }
};

TEST_F(RunTest, DataFlowsThroughOperatorsViewsAndAliases) {
  const SlotId x = builder_.external(DType::kFloat32, {4, 2}, constant(3));
  const SlotId a = builder_.intermediate(DType::kFloat32, {4, 2});
  const SlotId row = builder_.view(a, {2}, {1}, 2);
  const SlotId b = builder_.intermediate(DType::kFloat32, {2});
  const SlotId out = sink(DType::kFloat32, {2});
  builder_.add_op(kAdd, {ref(x), ref(x), number(2)}, {ref(a)});  // 3 + 2 · 3
  builder_.add_alias(a, row);
  builder_.add_op(kMul, {ref(row), ref(row)}, {ref(b)});
  keep(b, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  expect_all(out, 81);
  iterate();
  expect_all(out, 81);
  EXPECT_FALSE(slot(a).defined());
  EXPECT_FALSE(slot(b).defined());
}

TEST_F(RunTest, ASlotKeepsItsLayoutWhereACallChangesItInPlace) {
  const SlotId x = builder_.external(DType::kFloat32, {4, 2}, constant(3));
  const SlotId turned = builder_.view(x, {2, 4}, {1, 2}, 0);
  const SlotId product = builder_.intermediate(DType::kFloat32, {4, 2});
  const SlotId out = sink(DType::kFloat32, {4, 2});
  builder_.add_op("aten::t_(Tensor(a!) self) -> Tensor(a!)", {ref(x)}, {ref(turned)});
  builder_.add_op(kMul, {ref(x), ref(x)}, {ref(product)});
  keep(product, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  iterate();
  EXPECT_EQ(slot(x).sizes(), (std::vector<std::int64_t>{4, 2}));
}

/// Notes which calls were to complete at once, and which were started with each other.
class NotingBackend : public ForwardingBackend {
 public:
  void run(const backends::Call& call) override {
    completed.push_back(call.kind);
    ForwardingBackend::run(call);
  }
  std::unique_ptr<backends::Work> start(const backends::Call& call) override {
    started.emplace_back(1, call.kind);
    return ForwardingBackend::start(call);
  }
  std::vector<std::unique_ptr<backends::Work>> start_batch(
      std::span<const backends::Call* const> calls) override {
    started.emplace_back();
    std::vector<std::unique_ptr<backends::Work>> works;
    for (const backends::Call* const call : calls) {
      started.back().push_back(call->kind);
      works.push_back(ForwardingBackend::start(*call));
    }
    return works;
  }

  std::vector<et_schema::CommKind> completed;
  std::vector<std::vector<et_schema::CommKind>> started;
};

NotingBackend& noting(std::unique_ptr<backends::Backend>& used) {
  auto owned = std::make_unique<NotingBackend>();
  NotingBackend& backend = *owned;
  used = std::move(owned);
  return backend;
}

TEST_F(RunTest, SendsAndReceivesStayOpenWhereCollectivesAreTimedAlone) {
  using et_schema::CommKind;
  NotingBackend& backend = noting(backend_);
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {4}, constant(2));
  builder_.add_collective(CommKind::kSend, {ref(x)}, {ref(x)});
  builder_.add_collective(CommKind::kRecv, {ref(y)}, {ref(y)});
  builder_.add_collective(CommKind::kAllReduce, {ref(x)}, {ref(x)});
  try_out();
  machine_->set_blocking(true);
  backend.completed.clear();
  iterate();
  EXPECT_EQ(backend.completed, std::vector<CommKind>{CommKind::kAllReduce});
}

TEST_F(RunTest, ABatchStartsWithItsLastMessage) {
  using et_schema::CommKind;
  NotingBackend& backend = noting(backend_);
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {4}, constant(2));
  const auto message = [&](CommKind kind, SlotId slot, bool in_batch, bool joins) {
    et_schema::CommInfo& comm = *builder_.add_collective(kind, {ref(slot)}, {ref(slot)}).comm;
    comm.in_batch = in_batch;
    comm.joins_batch = joins;
  };
  message(CommKind::kSend, x, true, false);
  message(CommKind::kRecv, y, true, true);
  message(CommKind::kSend, x, true, false);
  message(CommKind::kSend, x, false, false);
  try_out();
  backend.started.clear();
  iterate();
  EXPECT_EQ(backend.started,
            (std::vector<std::vector<CommKind>>{
                {CommKind::kSend, CommKind::kRecv}, {CommKind::kSend}, {CommKind::kSend}}));
}

TEST_F(RunTest, ABatchOfSynchronousCollectivesIsDoneWithItsLast) {
  using et_schema::CommKind;
  NotingBackend& backend = noting(backend_);
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {4}, constant(2));
  const auto collective = [&](CommKind kind, SlotId slot, bool joins) {
    et_schema::CommInfo& comm = *builder_.add_collective(kind, {ref(slot)}, {ref(slot)}).comm;
    comm.is_async = false;
    comm.in_batch = true;
    comm.joins_batch = joins;
  };
  collective(CommKind::kBroadcast, x, false);
  collective(CommKind::kAllReduce, y, true);
  builder_.add_op(kAddInPlace, {ref(y), ref(x), number(1)}, {ref(y)});
  try_out();
  backend.started.clear();
  iterate();
  EXPECT_EQ(backend.started,
            (std::vector<std::vector<CommKind>>{{CommKind::kBroadcast, CommKind::kAllReduce}}));
}

TEST_F(RunTest, CollectivesThatAreTimedAloneTakeTurns) {
  using et_schema::CommKind;
  NotingBackend& backend = noting(backend_);
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId y = builder_.external(DType::kFloat32, {4}, constant(2));
  const SlotId z = builder_.external(DType::kFloat32, {4}, constant(0));
  builder_.add_collective(CommKind::kAllReduce, {ref(x)}, {ref(y)});
  const SlotId w = builder_.external(DType::kFloat32, {4}, constant(1));
  builder_.add_collective(CommKind::kBroadcast, {ref(w)}, {ref(z)});
  builder_.add_op(kAddInPlace, {ref(y), ref(x), number(1)}, {ref(y)});
  try_out();
  result_.program = bind_program(*decisions_, groups_, {{1, 0}, {false, false}});
  machine_->set_blocking(true);
  for (int i = 0; i < 2; ++i) {
    backend.completed.clear();
    iterate();
    EXPECT_EQ(backend.completed,
              (std::vector<CommKind>{CommKind::kBroadcast, CommKind::kAllReduce}));
    expect_all(y, 2);
    expect_all(z, 1);
    EXPECT_EQ(result_.program.comms[0].elsewhere_s, result_.program.comms[1].others_s);
  }
}

TEST_F(RunTest, ASendThatIsKeptApartReadsWhatItsTensorHeldThen) {
  using et_schema::CommKind;
  struct LateReader : ForwardingBackend {
    std::unique_ptr<backends::Work> start(const backends::Call& call) override {
      started = call;
      return ForwardingBackend::start(call);
    }
    backends::Ended wait(std::unique_ptr<backends::Work> work) override {
      read.push_back(*static_cast<const float*>(started.inputs[0].data));
      return ForwardingBackend::wait(std::move(work));
    }
    backends::Call started;
    std::vector<float> read;
  };
  auto owned = std::make_unique<LateReader>();
  LateReader& backend = *owned;
  backend_ = std::move(owned);
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(3));
  builder_.add_collective(CommKind::kSend, {ref(x)}, {ref(x)});
  builder_.add_op(kAddInPlace, {ref(x), ref(x), number(1)}, {ref(x)});
  try_out();
  result_.program = bind_program(*decisions_, groups_, {{0}, {true}});
  backend.read.clear();
  iterate();
  EXPECT_EQ(backend.read, std::vector<float>{3});
  expect_all(x, 6);
}

TEST(OpenComm, KeepsWhatItWorksOnIfItIsNeverJoined) {
  const at::Tensor input = at::empty({4});
  {
    OpenComm open;
    open.inputs.push_back(input);
    const OpenComm moved(std::move(open));
    EXPECT_EQ(input.use_count(), 2);
  }
  EXPECT_EQ(input.use_count(), 2);
}

TEST_F(RunTest, WritesThroughAViewReachTheTensor) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId half = builder_.view(x, {2}, {1}, 2);
  builder_.add_alias(x, half);
  builder_.add_op("aten::zero_(Tensor(a!) self) -> Tensor(a!)", {ref(half)}, {ref(half)});
  try_out();
  EXPECT_EQ(slot(x)[1].item<float>(), 1.0F);
  EXPECT_EQ(slot(x)[2].item<float>(), 0.0F);
}

TEST_F(RunTest, TensorListsMixExternalsAndIntermediates) {
  const SlotId w = builder_.external(DType::kFloat32, {4}, constant(1));
  const SlotId v = builder_.external(DType::kFloat32, {2}, constant(2));
  const SlotId gw = builder_.intermediate(DType::kFloat32, {4});
  builder_.add_op(kAdd, {ref(w), ref(w), number(1)}, {ref(gw)});
  builder_.add_op(
      "aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
      {list({ref(w), ref(v)}), list({ref(gw), ref(v)}), real(0.5)}, {});
  try_out();
  expect_all(w, 2);  // 1 + 2 / 2
  expect_all(v, 3);
  iterate();
  expect_all(w, 2);
  iterate();
  expect_all(w, 2);
  for (const SlotList& slots : result_.program.lists) {
    EXPECT_FALSE(slots.boxed.toTensorList().get(0).defined() &&
                 slots.boxed.toTensorList().get(0).is_same(slot(gw)));
  }
}

TEST_F(RunTest, OptionalTensorListsTakeHolesAndIndices) {
  const SlotId x = builder_.external(DType::kFloat32, {4, 3}, constant(5));
  const SlotId rows = builder_.external(DType::kInt64, {2}, constant(1));
  const SlotId y = builder_.intermediate(DType::kFloat32, {4, 2});
  const SlotId out = sink(DType::kFloat32, {4, 2});
  builder_.add_op("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
                  {ref(x), list({none(), ref(rows)})}, {ref(y)});
  keep(y, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  expect_all(out, 5);
}

TEST_F(RunTest, ListsOfResultsGoToTheirSlots) {
  const SlotId x = builder_.external(DType::kFloat32, {4, 2}, constant(2));
  const SlotId top = builder_.view(x, {1, 2}, {2, 1}, 0);
  const SlotId rest = builder_.view(x, {3, 2}, {2, 1}, 2);
  const SlotId sum = builder_.intermediate(DType::kFloat32, {3, 2});
  const SlotId out = sink(DType::kFloat32, {3, 2});
  builder_.add_op(
      "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> "
      "Tensor(a)[]",
      {ref(x), numbers({1, 3}), number(0)}, {list({ref(top), ref(rest)})});
  builder_.add_op(kAdd, {ref(rest), ref(top), number(1)}, {ref(sum)});
  keep(sum, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  EXPECT_EQ(result_.outputs_checked, 4U);
  expect_all(out, 4);
}

TEST_F(RunTest, WrappedNumbersDoNotPromote) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(3));
  const SlotId half = builder_.external(DType::kFloat64, {}, constant(0.5));
  builder_.slot(half).wrapped_number = true;
  const SlotId y = builder_.intermediate(DType::kFloat32, {4});
  const SlotId out = sink(DType::kFloat32, {4});
  builder_.add_op(kMul, {ref(x), ref(half)}, {ref(y)});
  keep(y, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  expect_all(out, 1.5);
}

TEST_F(RunTest, PinnedResultsHaveTheRecordedShape) {
  const SlotId x = builder_.external(DType::kFloat32, {4}, constant(0));  // nothing is nonzero
  const SlotId found = builder_.intermediate(DType::kInt64, {3, 1});
  builder_.slot(found).value = constant(2);
  const SlotId out = sink(DType::kInt64, {3, 1});
  builder_.add_op(kNonzero, {ref(x)}, {ref(found)}).pinned = true;
  keep(found, out);
  EXPECT_EQ(try_out().output_mismatches, 0U);
  expect_all(out, 2);
  iterate();
  expect_all(out, 2);
  const et_schema::Coverage coverage = decisions_->coverage();
  ASSERT_EQ(coverage.pinned_outputs.size(), 1U);
  EXPECT_EQ(coverage.pinned_outputs[0].name, "aten::nonzero");
}

TEST_F(RunTest, CollectivesRunOnTensorsWithStridesAndAreJoined) {
  const SlotId x = builder_.external(DType::kFloat32, {2, 2}, constant(7));
  builder_.slot(x).strides = {1, 2};
  const SlotId y = builder_.external(DType::kFloat32, {2, 2}, constant(0));
  builder_.slot(y).strides = {1, 2};
  const SlotId z = builder_.intermediate(DType::kFloat32, {2, 2});
  const SlotId out = sink(DType::kFloat32, {2, 2});
  builder_.add_collective(et_schema::CommKind::kAllReduce, {ref(x)}, {ref(y)});
  builder_.add_op(kAdd, {ref(y), ref(y), number(1)}, {ref(z)});
  keep(z, out);
  try_out();
  expect_all(out, 14);
  iterate();
  expect_all(out, 14);
  EXPECT_TRUE(result_.program.comms[0].open.inputs.empty());
}

TEST_F(RunTest, SlotsMadeTwiceHaveTwoLives) {
  const SlotId w = builder_.external(DType::kFloat32, {2, 3}, constant(2));
  const SlotId t = builder_.view(w, {3, 2}, {1, 3}, 0);
  const SlotId a = builder_.intermediate(DType::kFloat32, {3, 2});
  const SlotId b = builder_.intermediate(DType::kFloat32, {3, 2});
  const SlotId out = sink(DType::kFloat32, {3, 2});
  const char* transpose = "aten::t(Tensor(a) self) -> Tensor(a)";
  builder_.add_op(transpose, {ref(w)}, {ref(t)});
  builder_.add_op(kMul, {ref(t), ref(t)}, {ref(a)});
  builder_.add_op(transpose, {ref(w)}, {ref(t)});
  builder_.add_op(kMul, {ref(t), ref(a)}, {ref(b)});
  keep(b, out);
  try_out();
  expect_all(out, 8);
  // After its first life t stands twice on a stack.
  EXPECT_EQ(result_.program.dropped, std::vector<SlotId>{t});
}

}  // namespace
}  // namespace understudy::replayer::testing
