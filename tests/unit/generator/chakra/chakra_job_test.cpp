// The edges, times and communication of Chakra traces, on small programs.

#include "generator/chakra/chakra_job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generator/flow/model_names.h"
#include "testing/doc_table.h"
#include "testing/made_program.h"

namespace understudy::generator {
namespace {

using et_schema::Bench;
using et_schema::ChakraArm;
using et_schema::ChakraFile;
using et_schema::ChakraNode;
using et_schema::ChakraNodeType;
using et_schema::Timing;

using Ids = std::vector<std::uint64_t>;

/// A program over float tensors of 4 elements, a storage each.
class ProgramText {
 public:
  explicit ProgramText(const std::string& device) : device_(et_schema::parse_device(device)) {}

  SlotId tensor(const std::string& device = "") {
    return testing_programs::add_tensor(program_, {4}, false, et_schema::DType::kFloat32,
                                        device.empty() ? device_ : et_schema::parse_device(device));
  }

  Instruction& op(const std::string& schema, const std::vector<SlotId>& args,
                  const std::vector<SlotId>& results, std::uint64_t thread = 1) {
    Instruction& instruction =
        testing_programs::add_call(program_, schema, references(args), references(results));
    instruction.thread = thread;
    return instruction;
  }

  Instruction& comm(CommKind kind, const std::vector<SlotId>& inputs,
                    const std::vector<SlotId>& outputs, std::int64_t peer = 0,
                    et_schema::GroupId group = 0) {
    Instruction& instruction = program_.instructions.emplace_back();
    instruction.kind = kind == CommKind::kWait       ? InstructionKind::kWait
                       : et_schema::is_message(kind) ? InstructionKind::kP2p
                                                     : InstructionKind::kCollective;
    instruction.name = std::string(to_string(kind));
    instruction.comm = et_schema::CommInfo{};
    instruction.comm->kind = kind;
    instruction.comm->root_or_peer = peer;
    instruction.comm->group = group;
    instruction.args.resize(kind == CommKind::kWait ? 0 : 2);
    if (kind != CommKind::kWait) {
      instruction.args[0].value = references(inputs);
      instruction.args[1].value = references(outputs);
    }
    return instruction;
  }

  [[nodiscard]] const Program& program() const { return program_; }
  Program& program() { return program_; }

 private:
  static Argument::List references(const std::vector<SlotId>& slots) {
    Argument::List list;
    for (const SlotId slot : slots) {
      list.emplace_back().value = Argument::SlotRef{slot};
    }
    return list;
  }

  et_schema::Device device_;
  Program program_;
};

constexpr const char* kMake = "aten::ones(int[] size) -> Tensor";
constexpr const char* kAdd = "aten::add.Tensor(Tensor self, Tensor other) -> Tensor";
constexpr const char* kAddInPlace =
    "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
constexpr const char* kItem = "aten::item(Tensor self) -> Scalar";

Timing launched(std::int64_t start_ns, std::int64_t host_ns, std::int64_t device_ns,
                std::int64_t stream) {
  Timing timing;
  timing.start_ns = start_ns;
  timing.host_ns = host_ns;
  timing.device_ns = device_ns;
  timing.launches = 1;
  timing.stream = stream;
  return timing;
}

Bench bench_of(const std::vector<Program>& programs) {
  Bench bench;
  et_schema::ProcessGroup world{"world", "", "", {}, static_cast<std::int64_t>(programs.size())};
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    world.ranks.push_back(static_cast<std::int64_t>(rank));
  }
  bench.groups.push_back(world);
  bench.programs = programs;
  return bench;
}

/// The one file of a program on one rank.
ChakraFile file_of(const Program& program) {
  return std::move(chakra_of(bench_of({program}), "c").files.front());
}

Ids data_deps(const ChakraFile& file, std::uint64_t id) {
  const auto node = std::ranges::find(file.nodes, id, &ChakraNode::id);
  return {node->data_deps.begin(), node->data_deps.end()};
}

Ids order_deps(const ChakraFile& file, std::uint64_t id) {
  const auto node = std::ranges::find(file.nodes, id, &ChakraNode::id);
  const et_schema::ChakraAttribute* order = node->find("order_deps");
  return order == nullptr ? Ids{} : Ids(order->list.begin(), order->list.end());
}

TEST(ChakraJob, DataFlowOnTheHost) {
  ProgramText text("cpu");
  const SlotId a = text.tensor();
  const SlotId b = text.tensor();
  const SlotId c = text.tensor();
  text.op(kMake, {}, {a});            // 2
  text.op(kMake, {}, {b}, 9);         // 3, another thread
  text.op(kAdd, {a, b}, {c});         // 4 reads both
  text.op(kAddInPlace, {a, c}, {a});  // 5 writes a behind its reader 4
  text.op(kAdd, {a, b}, {c}, 9);      // 6 writes c behind its reader 5
  const ChakraFile file = file_of(text.program());
  EXPECT_EQ(data_deps(file, 2), Ids{});
  EXPECT_EQ(data_deps(file, 3), Ids{2});
  EXPECT_EQ(order_deps(file, 3), Ids{2});  // after the instruction before it
  EXPECT_EQ(data_deps(file, 4), (Ids{2, 3}));
  EXPECT_EQ(order_deps(file, 4), Ids{});
  EXPECT_EQ(data_deps(file, 5), (Ids{2, 4}));
  EXPECT_EQ(data_deps(file, 6), (Ids{3, 4, 5}));
}

TEST(ChakraJob, ThreadsThatRanBesideEachOtherAreNotBound) {
  ProgramText text("cpu");
  const SlotId a = text.tensor();
  const SlotId b = text.tensor();
  Timing first;
  first.host_ns = 100;
  Timing second;
  second.start_ns = 50;
  second.host_ns = 10;
  text.op(kMake, {}, {a}).timing = first;
  text.op(kMake, {}, {b}, 9).timing = second;
  const ChakraFile file = file_of(text.program());
  EXPECT_EQ(data_deps(file, 3), Ids{});
}

TEST(ChakraJob, DeviceNodesStreamsAndReadingBack) {
  ProgramText text("cuda:0");
  const SlotId a = text.tensor();
  const SlotId b = text.tensor();
  const SlotId c = text.tensor();
  const SlotId d = text.tensor();
  text.op(kMake, {}, {a}).timing = launched(0, 10, 1500, 7);      // 2, device 3
  text.op(kMake, {}, {b}).timing = launched(10, 10, 1500, 20);    // 4, device 5
  text.op(kAdd, {a, b}, {c}).timing = launched(20, 10, 1500, 7);  // 6, device 7
  text.op("aten::view(Tensor(a) self) -> Tensor(a)", {c}, {c});   // 8 looks at it alone
  text.op(kItem, {c}, {}).timing = launched(40, 10, 1500, 7);     // 9, device 10
  text.op(kMake, {}, {d}).timing = launched(50, 10, 1500, 7);     // 11, device 12
  const ChakraFile file = file_of(text.program());
  EXPECT_EQ(data_deps(file, 3), Ids{2});
  EXPECT_EQ(order_deps(file, 3), Ids{2});
  EXPECT_EQ(data_deps(file, 5), Ids{4});  // another stream
  EXPECT_EQ(data_deps(file, 6), (Ids{2, 4}));
  EXPECT_EQ(data_deps(file, 7), (Ids{6, 3, 5}));  // its launch stands first
  EXPECT_EQ(order_deps(file, 7), Ids{6});
  EXPECT_EQ(data_deps(file, 8), Ids{6});  // no data of the device
  EXPECT_EQ(data_deps(file, 10), (Ids{9, 7}));
  EXPECT_EQ(data_deps(file, 11), (Ids{9, 10}));  // the host had the number then
  EXPECT_EQ(order_deps(file, 11), (Ids{9, 10}));
  EXPECT_EQ(data_deps(file, 12), (Ids{11, 10}));
  EXPECT_EQ(order_deps(file, 12), (Ids{10, 11}));
}

TEST(ChakraJob, CallsThatWaitedForTheDevice) {
  ProgramText text("cuda:0");
  const SlotId a = text.tensor();
  const SlotId b = text.tensor();
  const SlotId c = text.tensor();
  text.op(kMake, {}, {a}).timing = launched(0, 10, 1500, 7);    // 2, device 3
  text.op(kMake, {}, {b}).timing = launched(10, 10, 1500, 20);  // 4, device 5
  text.op(kMake, {}, {c}).timing = launched(90, 10, 1500, 7);   // 6, device 7
  text.program().profile.emplace().device_waits = {{30, 20, et_schema::DeviceWait::For::kDevice}};
  EXPECT_EQ(data_deps(file_of(text.program()), 6), (Ids{3, 4, 5}));
  text.program().profile->device_waits[0].waits_for = et_schema::DeviceWait::For::kStream;
  EXPECT_EQ(data_deps(file_of(text.program()), 6), (Ids{4, 5}));
}

TEST(ChakraJob, WorkInNoInstructionHasNodesOfItsOwn) {
  using et_schema::Outside;
  ProgramText text("cuda:0");
  text.op(kMake, {}, {text.tensor()}).timing = launched(0, 10, 1500, 7);   // 2, device 3
  text.op(kMake, {}, {text.tensor()}).timing = launched(90, 10, 1500, 7);  // 5, device 6
  Program& program = text.program();
  program.profile.emplace().outside = {{Outside::kFiltered, "", 0, 700},
                                       {Outside::kGraphLaunch, "", 30, 6000},
                                       {Outside::kUnlinked, "", 0, 2000}};
  const auto work = [](std::int64_t launch_ns, Outside why, std::int64_t ns) {
    return et_schema::DeviceWork{{}, why, 1, launch_ns, 0, launch_ns, ns, 7};
  };
  program.device_work = {{0U},  // an instruction's
                         work(20, Outside::kGraphLaunch, 1000),
                         work(21, Outside::kGraphLaunch, 2000),
                         work(200, Outside::kUnlinked, 1000)};
  const ChakraJob job = chakra_of(bench_of({program}), "c");
  const ChakraFile& file = job.files.front();
  EXPECT_EQ(data_deps(file, 4), (Ids{2, 3}));  // behind the host's last and on its stream
  EXPECT_EQ(data_deps(file, 6), (Ids{5, 4}));
  EXPECT_EQ(data_deps(file, 7), (Ids{5, 6}));
  EXPECT_EQ(file.nodes[2].name, "graph launch");
  EXPECT_EQ(file.nodes[2].integer("launches"), 2);
  EXPECT_EQ(file.nodes[2].integer("device_ns"), 6000)
      << "the step's of 3,000, the account's of all";
  EXPECT_EQ(file.nodes.back().integer("device_ns"), 2000);
  EXPECT_DOUBLE_EQ(job.account.whole.device_ms, 0.0117);
  EXPECT_DOUBLE_EQ(job.account.carried.device_ms, 0.011);
  EXPECT_DOUBLE_EQ(job.account.left.at("left out by a filter").device_ms, 0.0007);
  EXPECT_DOUBLE_EQ(job.account.left.at("graph launch").host_ms, 0.00003);
}

TEST(ChakraJob, WaitsOnADeviceBindItsStreams) {
  ProgramText text("cuda:0");
  const SlotId a = text.tensor();
  const SlotId b = text.tensor();
  text.op(kMake, {}, {a}).timing = launched(0, 10, 1500, 7);  // 2, device 3
  Instruction& call = text.comm(CommKind::kAllReduce, {a}, {a});
  call.timing = launched(10, 10, 2500, 40);  // 4, device 5
  call.comm->seq = 1;
  call.comm->is_async = true;
  text.comm(CommKind::kWait, {}, {}).comm->seq = 1;            // 6
  text.op(kMake, {}, {b}).timing = launched(20, 10, 1500, 7);  // 7, device 8
  const ChakraFile file = file_of(text.program());
  EXPECT_EQ(data_deps(file, 5), (Ids{4, 3}));
  EXPECT_EQ(data_deps(file, 6), Ids{4});          // the host does not wait
  EXPECT_EQ(data_deps(file, 8), (Ids{7, 3, 5}));  // the stream does
  EXPECT_EQ(order_deps(file, 8), (Ids{3, 5, 7}));
}

TEST(ChakraJob, WaitsOnTheHost) {
  ProgramText text("cpu");
  const SlotId a = text.tensor();
  Instruction& call = text.comm(CommKind::kAllReduce, {a}, {a});  // 2, communication 3
  call.comm->seq = 1;
  call.comm->is_async = true;
  text.comm(CommKind::kWait, {}, {}).comm->seq = 1;  // 4
  text.op(kAdd, {a, a}, {text.tensor()});            // 5
  const ChakraFile file = file_of(text.program());
  EXPECT_EQ(data_deps(file, 3), Ids{2});
  EXPECT_EQ(data_deps(file, 4), (Ids{2, 3}));
  EXPECT_EQ(data_deps(file, 5), (Ids{3, 4}));
}

TEST(ChakraJob, ASynchronousCallsRecordedWaitIsTimeOfItsCommunication) {
  ProgramText text("cpu");
  const SlotId a = text.tensor();
  Instruction& call = text.comm(CommKind::kAllToAll, {a}, {a});  // 2, communication 3
  call.comm->seq = 1;
  call.comm->is_async = false;
  call.timing = Timing{.host_ns = 40'000};
  Instruction& wait = text.comm(CommKind::kWait, {}, {});  // 4
  wait.comm->seq = 1;
  wait.timing = Timing{.start_ns = 50'000, .host_ns = 700'000};
  const ChakraFile file = file_of(text.program());
  EXPECT_EQ(file.nodes[0].duration_us, 0U);
  EXPECT_EQ(file.nodes[1].duration_us, 740U);
  EXPECT_EQ(file.nodes[2].duration_us, 0U);
  EXPECT_EQ(file.nodes[2].integer("host_ns"), 700'000);
}

TEST(ChakraJob, TimesAreRoundedSoThatSumsHold) {
  ProgramText text("cuda:0");
  for (int i = 0; i < 1000; ++i) {
    text.op(kMake, {}, {text.tensor()}).timing = launched(0, 2400, 1300, 7);
  }
  const ChakraFile file = file_of(text.program());
  std::uint64_t host_us = 0;
  std::uint64_t device_us = 0;
  for (const ChakraNode& node : file.nodes) {
    (node.integer("is_cpu_op") == 1 ? host_us : device_us) += node.duration_us;
  }
  EXPECT_EQ(host_us, 2400U);
  EXPECT_EQ(device_us, 1300U);
  EXPECT_EQ(file.nodes[1].integer("device_ns"), 1300);
  EXPECT_EQ(file.nodes[0].integer("host_ns"), 2400);
}

TEST(ChakraJob, CommunicationOfEachKind) {
  const std::vector<std::pair<CommKind, std::int64_t>> kinds = {{CommKind::kAllReduce, 0},
                                                                {CommKind::kReduce, 1},
                                                                {CommKind::kAllGather, 2},
                                                                {CommKind::kAllGatherBase, 2},
                                                                {CommKind::kGather, 3},
                                                                {CommKind::kScatter, 4},
                                                                {CommKind::kBroadcast, 5},
                                                                {CommKind::kAllToAll, 6},
                                                                {CommKind::kAllToAllV, 6},
                                                                {CommKind::kReduceScatter, 7},
                                                                {CommKind::kReduceScatterBase, 7},
                                                                {CommKind::kBarrier, 9}};
  for (const auto& [kind, type] : kinds) {
    ProgramText text("cpu");
    const SlotId a = text.tensor();
    text.comm(kind, kind == CommKind::kBarrier ? std::vector<SlotId>{} : std::vector{a, a},
              kind == CommKind::kBarrier ? std::vector<SlotId>{} : std::vector{a, a});
    const ChakraFile file = file_of(text.program());
    ASSERT_EQ(file.nodes.size(), 2U);
    const ChakraNode& node = file.nodes[1];
    EXPECT_EQ(node.type, ChakraNodeType::kCollective);
    EXPECT_EQ(node.find("comm_type")->arm, ChakraArm::kInt64);
    EXPECT_EQ(node.integer("comm_type"), type) << to_string(kind);
    EXPECT_EQ(node.integer("comm_size"), kind == CommKind::kBarrier ? 0 : 32) << to_string(kind);
    EXPECT_EQ(node.text("pg_name"), "0");
    EXPECT_EQ(node.integer("is_cpu_op"), 0);
  }
}

TEST(ChakraJob, MessagesOfTwoRanksFindEachOther) {
  std::vector<Program> programs;
  for (const int rank : {0, 1, 2}) {
    ProgramText text("cpu");
    const SlotId a = text.tensor();
    if (rank == 0) {
      text.comm(CommKind::kSend, {a}, {}, 1);
      text.comm(CommKind::kSend, {a}, {}, 1, 1);
      text.comm(CommKind::kSend, {a}, {}, 1);
    } else if (rank == 1) {
      text.comm(CommKind::kRecv, {}, {a}, 0, 1);
      text.comm(CommKind::kRecv, {}, {a}, 0);
      text.comm(CommKind::kRecv, {}, {a}, 0);
    }
    programs.push_back(text.program());
  }
  Bench bench = bench_of(programs);
  bench.groups.push_back({"pair", "a pair", "gloo", {0, 1}, 2});
  const ChakraJob job = chakra_of(bench, "c");
  std::vector<std::int64_t> tags;
  for (const ChakraNode& node : job.files[1].nodes) {
    if (node.type == ChakraNodeType::kRecv) {
      tags.push_back(*node.integer("comm_tag"));
      EXPECT_EQ(node.find("comm_src")->arm, ChakraArm::kInt32);
      EXPECT_EQ(node.integer("comm_src"), 0);
      EXPECT_EQ(node.integer("comm_dst"), 1);
      EXPECT_EQ(node.integer("comm_size"), 16);
    }
  }
  EXPECT_EQ(tags, (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(job.comm_groups, "{\n  \"1\": [0, 1]\n}\n");
  EXPECT_EQ(job.left_out.at(ChakraLoss::kGroupNames), 1U);
  EXPECT_EQ(job.files[0].nodes[0].inputs.values,
            R"(['[{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "", )"
            R"("ranks": [0, 1, 2], "group_size": 3}, {"pg_name": "1", "pg_desc": "a pair", )"
            R"("backend_config": "gloo", "ranks": [0, 1], "group_size": 2}]'])");
}

TEST(ChakraJob, TheSameBenchmarkGivesTheSameBytes) {
  ProgramText text("cuda:0");
  const SlotId a = text.tensor();
  text.op(kMake, {}, {a}).timing = launched(0, 10, 1500, 7);
  text.op(kAddInPlace, {a, a}, {a}).timing = launched(0, 10, 1500, 7);
  EXPECT_EQ(et_schema::chakra_bytes(file_of(text.program())),
            et_schema::chakra_bytes(file_of(text.program())));
}

// `x - 256`, by which a rank finds its rows of a table: read back, another number is out of range.
TEST(ChakraJob, NumbersOfPythonThatAreKnownAreTold) {
  ProgramText text("cpu");
  const SlotId indices = text.tensor();
  const SlotId number = text.tensor();
  text.op(kAdd, {indices, number}, {text.tensor()});
  et_schema::Slot& slot = text.program().slots[number];
  slot.external = true;
  slot.dtype = et_schema::DType::kInt64;
  slot.sizes = {};
  slot.strides = {};
  slot.value.emplace();
  slot.value->kind = et_schema::ValueRule::ReusedIntegers{.low = 256, .high = 257};
  const ChakraFile file = file_of(text.program());
  const et_schema::ChakraAttribute* range = file.nodes.front().find("tensor_range");
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->text, R"({"1":[256,256]})");
  EXPECT_TRUE(chakra_losses(text.program()).empty());
}

TEST(ChakraJob, LossesHaveNamesAndAreCounted) {
  ProgramText text("cpu");
  Instruction& instruction = text.op(kMake, {}, {text.tensor()});
  instruction.body.resize(2);
  instruction.timing.emplace();
  text.program().heap_blocks[0].resize(3);
  text.program().storages[0].zeros = 0.5;
  text.program().storages[0].held_until = 1;
  text.program().slots[0].value.emplace();
  EXPECT_EQ(chakra_losses(text.program()),
            (std::map<ChakraLoss, std::uint64_t>{{ChakraLoss::kBodies, 2},
                                                 {ChakraLoss::kValueRules, 1},
                                                 {ChakraLoss::kZeros, 1},
                                                 {ChakraLoss::kHeld, 1},
                                                 {ChakraLoss::kHeapBlocks, 3}}));
}

TEST(ChakraDoc, ListsWhatIsLeftOut) {
  testing_docs::Rows expected;
  for (std::size_t i = 0; i < kChakraLosses; ++i) {
    const ChakraLossInfo& loss = info(static_cast<ChakraLoss>(i));
    expected.emplace_back(loss.name, loss.meaning);
  }
  EXPECT_EQ(testing_docs::table("| left out | meaning |"), expected);
}

}  // namespace
}  // namespace understudy::generator
