// Damaged Chakra files, with the whole message.

#include <gtest/gtest.h>

#include "chakra_texts.h"
#include "et_schema/chakra/chakra.h"
#include "et_schema/pytorch_et/chakra_trace.h"
#include "et_schema/pytorch_et/trace_files.h"
#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_chakra;  // NOLINT(google-build-using-namespace)
using testing_texts::error_of;
using testing_texts::TemporaryFolder;

std::string parse_error(const std::string& bytes) {
  return error_of([&] { static_cast<void>(parse_chakra(bytes, "c.et")); });
}

std::string trace_error(const std::vector<std::string>& nodes, std::int64_t world_size = 2) {
  return error_of(
      [&] { static_cast<void>(trace_of_chakra(parse_chakra(file(nodes), "c.et"), world_size)); });
}

TEST(ChakraRefusal, LengthBeyondTheFile) {
  EXPECT_EQ(parse_error(file({}) + varint(100) + "ab"),
            "a Chakra message that ends beyond the file\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: at most 2 bytes, which are left\n"
            "  got:      100\n"
            "  hint:     copy the file again: it is cut off or damaged");
}

TEST(ChakraRefusal, TruncatedVarint) {
  EXPECT_EQ(parse_error(file({}) + "\x80\x80"),
            "a Chakra file that is cut off in a message's length\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: a varint of at most 5 bytes\n"
            "  got:      the end of the file\n"
            "  hint:     copy the file again: it is cut off or damaged");
  EXPECT_EQ(parse_error(file({}) + "\x80\x80\x80\x80\x80\x80\x01"),
            "a Chakra message whose length is damaged\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: a varint of at most 5 bytes\n"
            "  got:      more bytes\n"
            "  hint:     copy the file again: it is cut off or damaged");
}

TEST(ChakraRefusal, TruncatedVarintInAMessage) {
  const std::string message = "\x08\x80";
  EXPECT_EQ(parse_error(file({message})),
            "a Chakra message cannot be read\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: a ChakraProtoMsg.Node of 2 bytes\n"
            "  got:      bytes that are none\n"
            "  hint:     write the file again: what comes behind is lost with it");
}

TEST(ChakraRefusal, MetadataThatIsNone) {
  EXPECT_EQ(parse_error("\x02\x0a\x05"),
            "a Chakra message cannot be read\n"
            "  file:     c.et\n"
            "  field:    message 1 at byte 0\n"
            "  expected: a ChakraProtoMsg.GlobalMetadata of 2 bytes\n"
            "  got:      bytes that are none\n"
            "  hint:     write the file again: what comes behind is lost with it");
}

TEST(ChakraRefusal, MessagesInsideEachOther) {
  // Groups of a field that is not known: each opens another one.
  constexpr int kDepth = 1 << 20;
  const std::string open = varint((50U << 3U) | 3U);
  std::string nested;
  for (int i = 0; i < kDepth; ++i) {
    nested += open;
  }
  EXPECT_EQ(parse_error(file({nested})),
            "a Chakra message cannot be read\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: a ChakraProtoMsg.Node of 2097152 bytes\n"
            "  got:      bytes that are none\n"
            "  hint:     write the file again: what comes behind is lost with it");
}

TEST(ChakraRefusal, AHugeMessage) {
  constexpr std::size_t kBytes = (std::size_t{64} << 20U) + 1;
  EXPECT_EQ(parse_error(file({std::string(kBytes, 'x')})),
            "a Chakra message is too large\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: at most 67108864 bytes\n"
            "  got:      67108865");
}

TEST(ChakraRefusal, ANameThatIsNoText) {
  EXPECT_EQ(parse_error(file({field(1, 3) + field(2, "\xff\xfe")})),
            "a Chakra message cannot be read\n"
            "  file:     c.et\n"
            "  field:    message 2 at byte 8\n"
            "  expected: a ChakraProtoMsg.Node of 6 bytes\n"
            "  got:      bytes that are none\n"
            "  hint:     write the file again: what comes behind is lost with it");
}

TEST(ChakraRefusal, TwoNodesOfOneId) {
  EXPECT_EQ(trace_error({node({.id = 3}), node({.id = 4}), node({.id = 3})}),
            "two nodes of one id\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    id of the node at byte 38\n"
            "  expected: an id for each node\n"
            "  got:      that of the node at byte 8");
}

TEST(ChakraRefusal, ANodeThatNeedsItself) {
  EXPECT_EQ(trace_error({node({.id = 3, .data_deps = {3}})}),
            "a node needs itself\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    data_deps of the node at byte 8\n"
            "  expected: other nodes\n"
            "  got:      node 3");
}

TEST(ChakraRefusal, NoNodes) {
  EXPECT_EQ(trace_error({}),
            "a Chakra trace without nodes\n"
            "  file:     c.et\n"
            "  field:    messages\n"
            "  expected: a node behind the metadata\n"
            "  got:      none");
}

TEST(ChakraRefusal, ArgumentsThatAreNoPython) {
  NodeText broken = host(3, "aten::mm", "aten::mm(Tensor self) -> Tensor", 1);
  broken.inputs = {"[foo]", "[[]]", "['Int']"};
  EXPECT_EQ(trace_error({node(broken)}),
            "a list in the form of Python's text is damaged\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    inputs.values of the node at byte 8\n"
            "  expected: a number, True, False or None\n"
            "  got:      \"foo]\" at character 1");
  broken.inputs = {"[1, 2]", "[[]]", "['Int']"};
  EXPECT_EQ(trace_error({node(broken)}),
            "values, shapes and types do not belong together\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    inputs.values of the node at byte 8\n"
            "  expected: as many values as shapes and types\n"
            "  got:      2 values, 1 shapes, 1 types");
}

TEST(ChakraRefusal, CommunicationOutOfRange) {
  EXPECT_EQ(trace_error({node(collective(3, 12, 8))}),
            "a communication node cannot be read\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    comm_type of the node at byte 8\n"
            "  expected: 0 to 9\n"
            "  got:      12");
  EXPECT_EQ(trace_error({node(collective(3, 0, -1))}),
            "a communication node cannot be read\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    comm_size of the node at byte 8\n"
            "  expected: 0 to 70368744177664 bytes\n"
            "  got:      -1");
  NodeText send{.id = 3, .type = 5};
  send.attributes = {boolean("is_cpu_op", false), int32("comm_dst", 2), int64("comm_size", 8)};
  EXPECT_EQ(trace_error({node(send)}),
            "a communication node cannot be read\n"
            "  file:     c.et\n"
            "  node:     3\n"
            "  field:    comm_dst of the node at byte 8\n"
            "  expected: a rank from 0 to 1\n"
            "  got:      2");
}

TEST(ChakraRefusal, AnIdThatIsTooLarge) {
  EXPECT_EQ(trace_error({node({.id = ~std::uint64_t{0}})}),
            "an id that is too large\n"
            "  file:     c.et\n"
            "  node:     18446744073709551615\n"
            "  field:    id of the node at byte 8\n"
            "  expected: below 2^63 - 2\n"
            "  got:      18446744073709551615");
}

TEST(ChakraRefusal, TwoFormatsInOneFolder) {
  const TemporaryFolder folder;
  folder.write("rank-0.json", testing_texts::trace_of({.id = 3, .parent = 2}));
  folder.write("chakra.0.et", file({node({.id = 3})}));
  EXPECT_EQ(error_of([&] { static_cast<void>(read_traces({folder.path()})); }),
            "two formats in one input\n"
            "  file:     " +
                folder.path() +
                "/chakra.0.et\n"
                "  expected: a PyTorch execution trace, as " +
                folder.path() +
                "/rank-0.json\n"
                "  got:      a Chakra trace\n"
                "  hint:     give the files of one of the formats");
}

}  // namespace
}  // namespace understudy::et_schema
