#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <iterator>
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

/// Buffers of this rank, and what they hold after the call.
using Lists = std::vector<std::vector<double>>;
struct Moved {
  Lists inputs = {};
  Lists outputs = {};
};

/// A call whose rank `from` sends count(from, to) numbers to rank `to`.
Moved moved_by(CommKind kind, int root, const std::function<std::int64_t(int, int)>& count) {
  const int self = backend().rank();
  const bool is_root = self == root;
  const auto part = [&](int from, int to) { return numbers_of(from, to, count(from, to)); };
  Moved moved;
  for (int rank = 0; rank < backend().world_size(); ++rank) {
    switch (kind) {
      case CommKind::kAllGather:
      case CommKind::kAllGatherBase:
        moved.outputs.push_back(part(rank, 0));
        break;
      case CommKind::kGather:
        moved.outputs.resize(is_root ? moved.outputs.size() + 1 : 0, part(rank, 0));
        break;
      case CommKind::kScatter:
        moved.inputs.resize(is_root ? moved.inputs.size() + 1 : 0, part(root, rank));
        break;
      default:
        moved.inputs.push_back(part(self, rank));
        moved.outputs.push_back(part(rank, self));
    }
  }
  if (kind == CommKind::kScatter) {
    moved.outputs = {part(root, self)};
  } else if (moved.inputs.empty()) {
    moved.inputs = {part(self, 0)};
  }
  return moved;
}

Lists joined(const Lists& parts) {
  std::vector<double> all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return {all};
}

std::vector<std::int64_t> sizes_of(const Lists& parts) {
  std::vector<std::int64_t> sizes;
  std::ranges::transform(parts, std::back_inserter(sizes), &std::vector<double>::size);
  return sizes;
}

/// Runs the call, with one buffer in place of a list's if `is_joined`.
void expect_moved(CommKind kind, DType dtype, int root, const Moved& moved, bool is_joined) {
  const Lists sent = is_joined ? joined(moved.inputs) : moved.inputs;
  const Lists expected = is_joined ? joined(moved.outputs) : moved.outputs;
  std::vector<Data> inputs;
  std::vector<Data> outputs;
  std::ranges::for_each(sent, [&](const auto& list) { inputs.emplace_back(dtype, list); });
  std::ranges::for_each(expected, [&](const auto& list) {
    outputs.emplace_back(dtype, zeros(static_cast<std::int64_t>(list.size())));
  });
  Call call{.kind = kind,
            .root_or_peer = root,
            .inputs = buffers_of(inputs),
            .outputs = buffers_of(outputs)};
  if (kind == CommKind::kAllToAllV) {
    call.in_splits = sizes_of(moved.inputs);
    call.out_splits = sizes_of(moved.outputs);
  }
  backend().run(call);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i].holds(expected[i])) << et_schema::to_string(kind) << " output " << i;
  }
}

constexpr std::array<std::int64_t, 4> kMovedCounts = {0, 1, 33, 12007};

TEST(Moved, EvenPartsOfEveryDType) {
  for (const DType dtype : all_dtypes()) {
    for (const std::int64_t count : kMovedCounts) {
      const auto even = [count](int, int) { return count; };
      for (const auto& [kind, is_joined] : {std::pair(CommKind::kAllGatherBase, true),
                                            {CommKind::kAllToAll, true},
                                            {CommKind::kAllToAllV, true},
                                            {CommKind::kAllToAll, false},
                                            {CommKind::kAllGather, false}}) {
        expect_moved(kind, dtype, 0, moved_by(kind, 0, even), is_joined);
      }
    }
  }
}

TEST(Moved, UnevenParts) {
  for (const std::int64_t unit : {0, 1, 7001}) {
    // Some are empty.
    const auto uneven = [unit](int from, int to) { return (from * 3 + to * 5) % 4 * unit; };
    const auto expect = [&](CommKind kind, bool is_joined) {
      expect_moved(kind, DType::kInt16, 0, moved_by(kind, 0, uneven), is_joined);
    };
    expect(CommKind::kAllGather, false);
    expect(CommKind::kAllToAll, false);
    expect(CommKind::kAllToAllV, true);
  }
}

TEST(Moved, FromAndToEveryRoot) {
  // PyTorch's groups for NCCL take parts of one size alone.
  const bool is_even = backend().name() == "nccl";
  const auto count = [is_even](int from, int to) { return is_even ? 2 : (from + to) * 2; };
  for (int root = 0; root < backend().world_size(); ++root) {
    for (const CommKind kind : {CommKind::kGather, CommKind::kScatter}) {
      expect_moved(kind, DType::kInt32, root, moved_by(kind, root, count), false);
    }
  }
}

TEST(Broadcast, EveryRootEveryDType) {
  for (const DType dtype : all_dtypes()) {
    for (int root = 0; root < backend().world_size(); ++root) {
      for (const std::int64_t count : {0, 1, 33, 50021}) {
        Data data(dtype, numbers_of(backend().rank(), 0, count));
        backend().run({.kind = CommKind::kBroadcast,
                       .root_or_peer = root,
                       .inputs = {data.buffer()},
                       .outputs = {data.buffer()}});
        EXPECT_TRUE(data.holds(numbers_of(root, 0, count)));
      }
    }
  }
}

TEST(Broadcast, CoalescedFromAnotherBuffer) {
  const int root = backend().world_size() - 1;
  std::vector<Data> inputs;
  std::vector<Data> outputs;
  constexpr std::array<std::int64_t, 2> kCounts = {4, 40000};
  for (const std::int64_t count : kCounts) {
    inputs.emplace_back(DType::kInt16, numbers_of(backend().rank(), 1, count));
    outputs.emplace_back(DType::kInt16, zeros(count));
  }
  backend().run({.kind = CommKind::kBroadcast,
                 .root_or_peer = root,
                 .inputs = buffers_of(inputs),
                 .outputs = buffers_of(outputs)});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_TRUE(outputs[i].holds(numbers_of(root, 1, kCounts[i])));
  }
}

TEST(Moved, InPlace) {
  const auto nine = [](int, int) { return std::int64_t{9}; };
  const int rank = backend().rank();
  const Moved gathered = moved_by(CommKind::kAllGatherBase, 0, nine);
  Lists own(gathered.outputs.size(), zeros(9));
  own[static_cast<std::size_t>(rank)] = gathered.inputs[0];
  Data whole(DType::kFloat32, joined(own)[0]);
  backend().run({.kind = CommKind::kAllGatherBase,
                 .inputs = {whole.part(rank * 9, 9)},
                 .outputs = {whole.buffer()}});
  EXPECT_TRUE(whole.holds(joined(gathered.outputs)[0]));
  const Moved exchanged = moved_by(CommKind::kAllToAll, 0, nine);
  Data data(DType::kInt8, joined(exchanged.inputs)[0]);
  backend().run(
      {.kind = CommKind::kAllToAll, .inputs = {data.buffer()}, .outputs = {data.buffer()}});
  EXPECT_TRUE(data.holds(joined(exchanged.outputs)[0]));
}

Call send(int peer, Data& data) {
  return {.kind = CommKind::kSend, .root_or_peer = peer, .inputs = {data.buffer()}};
}
Call receive(int peer, Data& data) {
  return {.kind = CommKind::kRecv, .root_or_peer = peer, .outputs = {data.buffer()}};
}

TEST(SendAndReceive, LargeMessagesBothWaysAroundTheRing) {
  const int ranks = backend().world_size();
  const int rank = backend().rank();
  const int right = (rank + 1) % ranks;
  const int left = (rank + ranks - 1) % ranks;
  constexpr std::int64_t kCount = 300007;
  Data sent(DType::kFloat32, numbers_of(rank, right, kCount));
  Data received(DType::kFloat32, zeros(kCount));
  auto sending = backend().start(send(right, sent));
  auto receiving = backend().start(receive(left, received));
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

/// Runs the calls as a batch; returns what NCCL was asked for, if it was.
std::string log_of_batch(std::vector<Call> calls) {
  std::vector<const Call*> batch;
  for (Call& call : calls) {
    call.path = backends::MessagePath::kBatch;
    batch.push_back(&call);
  }
  static_cast<void>(nccl_log());
  for (auto& work : backend().start_batch(batch)) {
    backend().wait(std::move(work));
  }
  return nccl_log();
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
  const std::string log = log_of_batch({send(right, to_right), send(left, to_left),
                                        receive(left, from_left), receive(right, from_right)});
  EXPECT_TRUE(from_left.holds(numbers_of(left, 1, kCount)));
  EXPECT_TRUE(from_right.holds(numbers_of(right, 2, kCount)));
  if (!log.empty()) {
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
  const std::string log = log_of_batch(
      {{.kind = CommKind::kBroadcast,
        .root_or_peer = ranks - 1,
        .inputs = {moved.buffer()},
        .outputs = {moved.buffer()}},
       {.kind = CommKind::kAllToAll, .inputs = {sent.buffer()}, .outputs = {received.buffer()}}});
  EXPECT_TRUE(moved.holds(numbers_of(ranks - 1, 1, count)));
  Lists parts;
  for (int from = 0; from < ranks; ++from) {
    const std::vector<double> all = numbers_of(from, 2, count);
    parts.emplace_back(all.begin() + 33 * rank, all.begin() + 33 * (rank + 1));
  }
  EXPECT_TRUE(received.holds(joined(parts)[0]));
  if (!log.empty()) {
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
    calls = {send(1 - rank, rank == 0 ? there : back), receive(1 - rank, back)};
    calls[0].path = calls[1].path = backends::MessagePath::kPair;
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
    Call call = send(right, sent[static_cast<std::size_t>(tag)]);
    call.tag = tag;
    works.push_back(backend().start(call));
  }
  for (int tag = kTags - 1; tag >= 0; --tag) {
    Call call = receive(left, received[static_cast<std::size_t>(tag)]);
    call.tag = tag;
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
  Data nothing(DType::kFloat32, {});
  Data sent(DType::kFloat32, numbers_of(rank, 0, 3));
  Data received(DType::kFloat32, zeros(3));
  std::vector<std::unique_ptr<backends::Work>> sending;
  for (Data* const data : {&nothing, &sent}) {
    sending.push_back(backend().start(send((rank + 1) % ranks, *data)));
  }
  for (Data* const data : {&nothing, &received}) {
    backend().run(receive(from, *data));
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
    backend().run({.kind = CommKind::kBarrier});
    const std::int64_t left = now();
    const backends::Buffer last{&came, 1, DType::kInt64};
    backend().run({.kind = CommKind::kAllReduce,
                   .op = backends::ReduceOp::kMax,
                   .inputs = {last},
                   .outputs = {last}});
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
