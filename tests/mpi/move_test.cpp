#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "device_backend.h"
#include "plain_data.h"
#include "replayer/backends/interface/backend.h"

namespace understudy::tests {
namespace {

using backends::Call;
using et_schema::CommKind;
using et_schema::DType;

// For float8 the elements count as bytes, not as numbers. All numbers are below 120, so that each
// dtype holds them.
std::vector<double> numbers_of(int from, int to, std::int64_t count) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<double>((from * 31 + to * 7 + i) % 119));
  }
  return numbers;
}

std::vector<double> zeros(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), 0);
}

std::vector<double> joined(const std::vector<std::vector<double>>& parts) {
  std::vector<double> all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// What each rank holds after it has gathered `count` numbers of all.
std::vector<double> gathered(std::int64_t count) {
  std::vector<std::vector<double>> parts;
  for (int from = 0; from < backend().world_size(); ++from) {
    parts.push_back(numbers_of(from, 0, count));
  }
  return joined(parts);
}

Call make_call(CommKind kind, int root = 0) {
  Call call;
  call.kind = kind;
  call.root_or_peer = root;
  return call;
}

constexpr std::array<std::int64_t, 4> kMovedCounts = {0, 1, 33, 50021};

TEST(Broadcast, EveryRootEveryDType) {
  const int ranks = backend().world_size();
  for (const DType dtype : all_dtypes()) {
    for (int root = 0; root < ranks; ++root) {
      for (const std::int64_t count : kMovedCounts) {
        Data data(dtype, numbers_of(backend().rank(), 0, count));
        Call call = make_call(CommKind::kBroadcast, root);
        call.inputs = call.outputs = {data.buffer()};
        backend().run(call);
        EXPECT_TRUE(data.holds(numbers_of(root, 0, count)));
      }
    }
  }
}

TEST(Broadcast, CoalescedFromAnotherBuffer) {
  const int root = backend().world_size() - 1;
  Data first(DType::kInt16, numbers_of(backend().rank(), 1, 4));
  Data second(DType::kInt16, numbers_of(backend().rank(), 2, 40000));
  Data first_out(DType::kInt16, zeros(4));
  Data second_out(DType::kInt16, zeros(40000));
  Call call = make_call(CommKind::kBroadcast, root);
  call.inputs = {first.buffer(), second.buffer()};
  call.outputs = {first_out.buffer(), second_out.buffer()};
  backend().run(call);
  EXPECT_TRUE(first_out.holds(numbers_of(root, 1, 4)));
  EXPECT_TRUE(second_out.holds(numbers_of(root, 2, 40000)));
}

TEST(AllGather, BaseEveryDType) {
  const int ranks = backend().world_size();
  for (const DType dtype : all_dtypes()) {
    for (const std::int64_t count : kMovedCounts) {
      Data input(dtype, numbers_of(backend().rank(), 0, count));
      Data output(dtype, zeros(count * ranks));
      Call call = make_call(CommKind::kAllGatherBase);
      call.inputs = {input.buffer()};
      call.outputs = {output.buffer()};
      backend().run(call);
      EXPECT_TRUE(output.holds(gathered(count)));
    }
  }
}

TEST(AllGather, BaseInPlace) {
  const int ranks = backend().world_size();
  constexpr std::int64_t kCount = 9;
  std::vector<std::vector<double>> own(static_cast<std::size_t>(ranks), zeros(kCount));
  own[static_cast<std::size_t>(backend().rank())] = numbers_of(backend().rank(), 0, kCount);
  Data output(DType::kFloat32, joined(own));
  Call call = make_call(CommKind::kAllGatherBase);
  call.inputs = {output.part(backend().rank() * kCount, kCount)};
  call.outputs = {output.buffer()};
  backend().run(call);
  EXPECT_TRUE(output.holds(gathered(kCount)));
}

TEST(AllGather, UnevenListsCoalesced) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  std::vector<Data> inputs;
  std::vector<Data> outputs;
  constexpr int kLists = 2;
  for (int list = 0; list < kLists; ++list) {
    inputs.emplace_back(DType::kFloat16, numbers_of(rank, list, rank * 5 + list));
    for (int from = 0; from < ranks; ++from) {
      outputs.emplace_back(DType::kFloat16, zeros(from * 5 + list));
    }
  }
  Call call = make_call(CommKind::kAllGather);
  call.inputs = buffers_of(inputs);
  call.outputs = buffers_of(outputs);
  backend().run(call);
  for (int list = 0; list < kLists; ++list) {
    for (int from = 0; from < ranks; ++from) {
      EXPECT_TRUE(outputs[static_cast<std::size_t>(list * ranks + from)].holds(
          numbers_of(from, list, from * 5 + list)));
    }
  }
}

TEST(GatherAndScatter, EveryRootUneven) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  // PyTorch's groups for NCCL take parts of one size alone.
  const auto count_of = [is_even = backend().name() == "nccl"](int of) {
    return is_even ? 2 : of * 2;
  };
  for (int root = 0; root < ranks; ++root) {
    Data own(DType::kInt32, numbers_of(rank, 3, count_of(rank)));
    std::vector<Data> parts;
    for (int i = 0; i < ranks && rank == root; ++i) {
      parts.emplace_back(DType::kInt32, zeros(count_of(i)));
    }
    Call gather = make_call(CommKind::kGather, root);
    gather.inputs = {own.buffer()};
    gather.outputs = buffers_of(parts);
    backend().run(gather);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int from = static_cast<int>(i);
      EXPECT_TRUE(parts[i].holds(numbers_of(from, 3, count_of(from))));
    }
    Data back(DType::kInt32, zeros(count_of(rank)));
    Call scatter = make_call(CommKind::kScatter, root);
    scatter.inputs = gather.outputs;
    scatter.outputs = {back.buffer()};
    backend().run(scatter);
    EXPECT_TRUE(back.holds(numbers_of(rank, 3, count_of(rank))));
  }
}

TEST(AllToAll, OneBufferEveryDType) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  for (const DType dtype : all_dtypes()) {
    for (const bool in_place : {false, true}) {
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{6}, std::int64_t{12007}}) {
        std::vector<std::vector<double>> sent;
        std::vector<std::vector<double>> expected;
        for (int peer = 0; peer < ranks; ++peer) {
          sent.push_back(numbers_of(rank, peer, count));
          expected.push_back(numbers_of(peer, rank, count));
        }
        Data input(dtype, joined(sent));
        Data output(dtype, zeros(count * ranks));
        Call call = make_call(CommKind::kAllToAll);
        call.inputs = {input.buffer()};
        call.outputs = {in_place ? input.buffer() : output.buffer()};
        backend().run(call);
        EXPECT_TRUE((in_place ? input : output).holds(joined(expected)));
      }
    }
  }
}

TEST(AllToAll, UnevenLists) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  std::vector<Data> inputs;
  std::vector<Data> outputs;
  for (int peer = 0; peer < ranks; ++peer) {
    inputs.emplace_back(DType::kInt64, numbers_of(rank, peer, rank + 2 * peer));
    outputs.emplace_back(DType::kInt64, zeros(peer + 2 * rank));
  }
  Call call = make_call(CommKind::kAllToAll);
  call.inputs = buffers_of(inputs);
  call.outputs = buffers_of(outputs);
  backend().run(call);
  for (int peer = 0; peer < ranks; ++peer) {
    EXPECT_TRUE(
        outputs[static_cast<std::size_t>(peer)].holds(numbers_of(peer, rank, peer + 2 * rank)));
  }
}

/// How much rank `from` sends to rank `to`: uneven amounts, some of them zero.
std::int64_t split(int from, int to, std::int64_t unit) {
  return static_cast<std::int64_t>((from * 3 + to * 5) % 4) * unit;
}

TEST(AllToAllV, UnevenSplitsEveryDType) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  for (const DType dtype : all_dtypes()) {
    for (const std::int64_t unit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7001}}) {
      Call call = make_call(CommKind::kAllToAllV);
      std::vector<std::vector<double>> sent;
      std::vector<std::vector<double>> expected;
      for (int peer = 0; peer < ranks; ++peer) {
        call.in_splits.push_back(split(rank, peer, unit));
        call.out_splits.push_back(split(peer, rank, unit));
        sent.push_back(numbers_of(rank, peer, call.in_splits.back()));
        expected.push_back(numbers_of(peer, rank, call.out_splits.back()));
      }
      Data input(dtype, joined(sent));
      Data output(dtype, zeros(static_cast<std::int64_t>(joined(expected).size())));
      call.inputs = {input.buffer()};
      call.outputs = {output.buffer()};
      backend().run(call);
      EXPECT_TRUE(output.holds(joined(expected)));
    }
  }
}

TEST(SendAndReceive, LargeMessagesBothWaysAroundTheRing) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  constexpr std::int64_t kCount = 300007;
  Data sent(DType::kFloat32, numbers_of(rank, right, kCount));
  Data received(DType::kFloat32, zeros(kCount));
  Call send = make_call(CommKind::kSend, right);
  send.inputs = {sent.buffer()};
  Call receive = make_call(CommKind::kRecv, left);
  receive.outputs = {received.buffer()};
  auto sending = backend().start(send);
  auto receiving = backend().start(receive);
  backend().wait(std::move(sending));
  backend().wait(std::move(receiving));
  EXPECT_TRUE(received.holds(numbers_of(left, rank, kCount)));
}

/// Tells a backend of devices what will be started, as each rank does.
void prepare(std::vector<Call> calls) {
  for (Call& call : calls) {
    call.memory = et_schema::DeviceType::kCuda;
  }
  backend().prepare(calls);
}

// Both ways around a ring, sends first: on one connection in turn, each rank would wait for ever.
TEST(SendAndReceive, ABatchGoesTogether) {
  const int ranks = backend().world_size();
  if (ranks == 1) {
    GTEST_SKIP() << "needs two ranks";
  }
  const int rank = backend().rank();
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  constexpr std::int64_t kCount = 300007;
  Data to_right(DType::kFloat32, numbers_of(rank, 1, kCount));
  Data to_left(DType::kFloat32, numbers_of(rank, 2, kCount));
  Data from_left(DType::kFloat32, zeros(kCount));
  Data from_right(DType::kFloat32, zeros(kCount));
  std::array<Call, 4> calls = {make_call(CommKind::kSend, right), make_call(CommKind::kSend, left),
                               make_call(CommKind::kRecv, left), make_call(CommKind::kRecv, right)};
  calls[0].inputs = {to_right.buffer()};
  calls[1].inputs = {to_left.buffer()};
  calls[2].outputs = {from_left.buffer()};
  calls[3].outputs = {from_right.buffer()};
  std::vector<const Call*> batch;
  for (Call& call : calls) {
    call.path = backends::MessagePath::kBatch;
    batch.push_back(&call);
  }
  static_cast<void>(nccl_log());
  for (auto& work : backend().start_batch(batch)) {
    backend().wait(std::move(work));
  }
  EXPECT_TRUE(from_left.holds(numbers_of(left, 1, kCount)));
  EXPECT_TRUE(from_right.holds(numbers_of(right, 2, kCount)));
  if (const std::string log = nccl_log(); !log.empty()) {
    EXPECT_EQ(log, fmt::format("{} of {}: send {} send {} recv {} recv {}\n", rank, ranks, right,
                               left, left, right));
  }
}

TEST(Broadcast, ABatchWithOtherCollectivesGoesTogether) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  const std::int64_t count = 33 * ranks;
  Data moved(DType::kFloat32, numbers_of(rank, 1, count));
  Data sent(DType::kFloat32, numbers_of(rank, 2, count));
  Data received(DType::kFloat32, zeros(count));
  std::array<Call, 2> calls = {make_call(CommKind::kBroadcast, ranks - 1),
                               make_call(CommKind::kAllToAll)};
  calls[0].inputs = calls[0].outputs = {moved.buffer()};
  calls[1].inputs = {sent.buffer()};
  calls[1].outputs = {received.buffer()};
  std::vector<const Call*> batch;
  for (Call& call : calls) {
    call.path = backends::MessagePath::kBatch;
    batch.push_back(&call);
  }
  static_cast<void>(nccl_log());
  for (auto& work : backend().start_batch(batch)) {
    backend().wait(std::move(work));
  }
  EXPECT_TRUE(moved.holds(numbers_of(ranks - 1, 1, count)));
  std::vector<std::vector<double>> parts;
  for (int from = 0; from < ranks; ++from) {
    const std::vector<double> all = numbers_of(from, 2, count);
    parts.emplace_back(all.begin() + 33 * rank, all.begin() + 33 * (rank + 1));
  }
  EXPECT_TRUE(received.holds(joined(parts)));
  if (const std::string log = nccl_log(); !log.empty()) {
    std::string exchange;
    for (int other = 0; other < ranks; ++other) {
      exchange += fmt::format(" send {0} recv {0}", other);
    }
    EXPECT_EQ(log, fmt::format("{} of {}: collective{}\n", rank, ranks, exchange));
  }
}

TEST(SendAndReceive, SingleOnesOfAPairShareItsCommunicator) {
  if (backend().world_size() == 1) {
    GTEST_SKIP() << "needs two ranks";
  }
  const int rank = backend().rank();
  std::vector<Call> calls;
  Data there(DType::kFloat32, numbers_of(0, 1, 5));
  Data back(DType::kFloat32, zeros(5));
  if (rank < 2) {
    for (const CommKind kind : {CommKind::kSend, CommKind::kRecv}) {
      calls.push_back(make_call(kind, 1 - rank));
      calls.back().path = backends::MessagePath::kPair;
    }
    calls[0].inputs = {rank == 0 ? there.buffer() : back.buffer()};
    calls[1].outputs = {back.buffer()};
    if (rank == 1) {
      std::swap(calls[0], calls[1]);
    }
  }
  static_cast<void>(nccl_log());
  prepare(calls);
  for (const Call& call : calls) {
    backend().run(call);
  }
  EXPECT_TRUE(back.holds(rank < 2 ? numbers_of(0, 1, 5) : zeros(5)));
  if (const std::string log = nccl_log(); !log.empty()) {
    const char* const used =
        rank == 0 ? "0 of 2: send 1\n0 of 2: recv 1\n" : "1 of 2: recv 0\n1 of 2: send 0\n";
    EXPECT_EQ(log, used);  // connected, with the messages of each direction upwards
  }
}

TEST(SendAndReceive, TagsTellMessagesApart) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  constexpr int kTags = 3;
  std::vector<Data> sent;
  std::vector<Data> received;
  std::vector<std::unique_ptr<backends::Work>> works;
  for (int tag = 0; tag < kTags; ++tag) {
    sent.emplace_back(DType::kInt32, numbers_of(rank, tag, 5));
    received.emplace_back(DType::kInt32, zeros(5));
  }
  for (int tag = 0; tag < kTags; ++tag) {
    Call call = make_call(CommKind::kSend, right);
    call.tag = tag;
    call.inputs = {sent[static_cast<std::size_t>(tag)].buffer()};
    works.push_back(backend().start(call));
  }
  for (int tag = kTags - 1; tag >= 0; --tag) {
    Call call = make_call(CommKind::kRecv, left);
    call.tag = tag;
    call.outputs = {received[static_cast<std::size_t>(tag)].buffer()};
    backend().run(call);
  }
  for (auto& work : works) {
    backend().wait(std::move(work));
  }
  for (int tag = 0; tag < kTags; ++tag) {
    EXPECT_TRUE(received[static_cast<std::size_t>(tag)].holds(numbers_of(left, tag, 5)));
  }
}

TEST(SendAndReceive, AnEmptyMessageComesBeforeTheNext) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  const int from = (rank + ranks - 1) % ranks;
  Data sent(DType::kFloat32, numbers_of(rank, 0, 3));
  Data received(DType::kFloat32, zeros(3));
  Call send = make_call(CommKind::kSend, (rank + 1) % ranks);
  Call receive = make_call(CommKind::kRecv, from);
  std::vector<std::unique_ptr<backends::Work>> sending;
  for (const bool is_empty : {true, false}) {
    send.inputs = {is_empty ? backends::Buffer{nullptr, 0, DType::kFloat32} : sent.buffer()};
    sending.push_back(backend().start(send));
  }
  for (const bool is_empty : {true, false}) {
    receive.outputs = {is_empty ? backends::Buffer{nullptr, 0, DType::kFloat32}
                                : received.buffer()};
    backend().run(receive);
  }
  for (auto& work : sending) {
    backend().wait(std::move(work));
  }
  EXPECT_TRUE(received.holds(numbers_of(from, 0, 3)));
}

TEST(Barrier, NobodyLeavesBeforeTheLastCame) {
  const int ranks = backend().world_size();
  // All processes of a host share this clock.
  const auto now = [] {
    return static_cast<std::int64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  for (int late = 0; late < ranks; ++late) {
    if (backend().rank() == late) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    std::int64_t came = now();
    backend().run(make_call(CommKind::kBarrier));
    const std::int64_t left = now();
    Call last = make_call(CommKind::kAllReduce);
    last.op = backends::ReduceOp::kMax;
    last.inputs = last.outputs = {{&came, 1, DType::kInt64}};
    backend().run(last);
    EXPECT_LE(came, left);
  }
}

TEST(Texts, EachRankHasAllOfThem) {
  const int ranks = backend().world_size();
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank * 1000), static_cast<char>('a' + rank)) +
           "é\n";
  };
  const std::vector<std::string> texts = backend().all_gather_text(text_of(backend().rank()));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text_of(rank));
  }
}

}  // namespace
}  // namespace understudy::tests
