// Damaged Chakra files, with the whole message.

#include <gtest/gtest.h>

#include "chakra_texts.h"
#include "et_schema/formats/chakra/chakra.h"
#include "et_schema/formats/pytorch_et/chakra_trace.h"
#include "et_schema/formats/pytorch_et/trace_files.h"
#include "reader_texts.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using testing_errors::told;
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
            told("a Chakra message that ends beyond the file", "file: c.et",
                 "field: message 2 at byte 8", "expected: at most 2 bytes, which are left",
                 "got: 100", "hint: copy the file again: it is cut off or damaged"));
}

TEST(ChakraRefusal, TruncatedVarint) {
  EXPECT_EQ(
      parse_error(file({}) + "\x80\x80"),
      told("a Chakra file that is cut off in a message's length", "file: c.et",
           "field: message 2 at byte 8", "expected: a varint of at most 5 bytes",
           "got: the end of the file", "hint: copy the file again: it is cut off or damaged"));
  EXPECT_EQ(parse_error(file({}) + "\x80\x80\x80\x80\x80\x80\x01"),
            told("a Chakra message whose length is damaged", "file: c.et",
                 "field: message 2 at byte 8", "expected: a varint of at most 5 bytes",
                 "got: more bytes", "hint: copy the file again: it is cut off or damaged"));
}

TEST(ChakraRefusal, TruncatedVarintInAMessage) {
  const std::string message = "\x08\x80";
  EXPECT_EQ(parse_error(file({message})),
            told("a Chakra message cannot be read", "file: c.et", "field: message 2 at byte 8",
                 "expected: a ChakraProtoMsg.Node of 2 bytes", "got: bytes that are none",
                 "hint: write the file again: what comes behind is lost with it"));
}

TEST(ChakraRefusal, MetadataThatIsNone) {
  EXPECT_EQ(parse_error("\x02\x0a\x05"),
            told("a Chakra message cannot be read", "file: c.et", "field: message 1 at byte 0",
                 "expected: a ChakraProtoMsg.GlobalMetadata of 2 bytes", "got: bytes that are none",
                 "hint: write the file again: what comes behind is lost with it"));
}

TEST(ChakraRefusal, MessagesInsideEachOther) {
  // Each group of this unknown field opens another one.
  constexpr int kDepth = 1 << 20;
  const std::string open = varint((50U << 3U) | 3U);
  std::string nested;
  for (int i = 0; i < kDepth; ++i) {
    nested += open;
  }
  EXPECT_EQ(parse_error(file({nested})),
            told("a Chakra message cannot be read", "file: c.et", "field: message 2 at byte 8",
                 "expected: a ChakraProtoMsg.Node of 2097152 bytes", "got: bytes that are none",
                 "hint: write the file again: what comes behind is lost with it"));
}

TEST(ChakraRefusal, AHugeMessage) {
  constexpr std::size_t kBytes = (std::size_t{64} << 20U) + 1;
  EXPECT_EQ(parse_error(file({std::string(kBytes, 'x')})),
            told("a Chakra message is too large", "file: c.et", "field: message 2 at byte 8",
                 "expected: at most 67108864 bytes", "got: 67108865"));
}

TEST(ChakraRefusal, ANameThatIsNoText) {
  EXPECT_EQ(parse_error(file({field(1, 3) + field(2, "\xff\xfe")})),
            told("a Chakra message cannot be read", "file: c.et", "field: message 2 at byte 8",
                 "expected: a ChakraProtoMsg.Node of 6 bytes", "got: bytes that are none",
                 "hint: write the file again: what comes behind is lost with it"));
}

TEST(ChakraRefusal, TwoNodesOfOneId) {
  EXPECT_EQ(trace_error({node({.id = 3}), node({.id = 4}), node({.id = 3})}),
            told("two nodes of one id", "file: c.et", "node: 3", "field: id of the node at byte 38",
                 "expected: an id for each node", "got: that of the node at byte 8"));
}

TEST(ChakraRefusal, ANodeThatNeedsItself) {
  EXPECT_EQ(trace_error({node({.id = 3, .data_deps = {3}})}),
            told("a node needs itself", "file: c.et", "node: 3",
                 "field: data_deps of the node at byte 8", "expected: other nodes", "got: node 3"));
}

TEST(ChakraRefusal, NoNodes) {
  EXPECT_EQ(trace_error({}), told("a Chakra trace without nodes", "file: c.et", "field: messages",
                                  "expected: a node behind the metadata", "got: none"));
}

TEST(ChakraRefusal, ArgumentsThatAreNoPython) {
  NodeText broken = host(3, "aten::mm", "aten::mm(Tensor self) -> Tensor", 1);
  broken.inputs = {"[foo]", "[[]]", "['Int']"};
  EXPECT_EQ(trace_error({node(broken)}),
            told("a list in the form of Python's text is damaged", "file: c.et", "node: 3",
                 "field: inputs.values of the node at byte 8",
                 "expected: a number, True, False or None", "got: \"foo]\" at character 1"));
  broken.inputs = {"[1, 2]", "[[]]", "['Int']"};
  EXPECT_EQ(
      trace_error({node(broken)}),
      told("values, shapes and types do not belong together", "file: c.et", "node: 3",
           "field: inputs.values of the node at byte 8",
           "expected: as many values as shapes and types", "got: 2 values, 1 shapes, 1 types"));
}

TEST(ChakraRefusal, CommunicationOutOfRange) {
  EXPECT_EQ(trace_error({node(collective(3, 12, 8))}),
            told("a communication node cannot be read", "file: c.et", "node: 3",
                 "field: comm_type of the node at byte 8", "expected: 0 to 9", "got: 12"));
  EXPECT_EQ(trace_error({node(collective(3, 0, -1))}),
            told("a communication node cannot be read", "file: c.et", "node: 3",
                 "field: comm_size of the node at byte 8", "expected: 0 to 70368744177664 bytes",
                 "got: -1"));
  NodeText send{.id = 3, .type = 5};
  send.attributes = {boolean("is_cpu_op", false), int32("comm_dst", 2), int64("comm_size", 8)};
  EXPECT_EQ(trace_error({node(send)}), told("a communication node cannot be read", "file: c.et",
                                            "node: 3", "field: comm_dst of the node at byte 8",
                                            "expected: a rank from 0 to 1", "got: 2"));
}

TEST(ChakraRefusal, AnIdThatIsTooLarge) {
  EXPECT_EQ(trace_error({node({.id = ~std::uint64_t{0}})}),
            told("an id that is too large", "file: c.et", "node: 18446744073709551615",
                 "field: id of the node at byte 8", "expected: below 2^63 - 2",
                 "got: 18446744073709551615"));
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
