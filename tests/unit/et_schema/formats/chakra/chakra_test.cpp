// Messages of Chakra files: what stands in them is what is read, whatever arm a writer chose.

#include "et_schema/formats/chakra/chakra.h"

#include <gtest/gtest.h>

#include <utility>

#include "chakra_texts.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/trace_start.h"
#include "testing/error_text.h"

namespace understudy::et_schema {
namespace {

using namespace testing_chakra;  // NOLINT(google-build-using-namespace)

TEST(Chakra, AnyIntegerArm) {
  const std::vector<std::pair<ChakraArm, std::string>> arms = {
      {ChakraArm::kInt32, field(7, 7)},       {ChakraArm::kInt64, field(9, 7)},
      {ChakraArm::kUint32, field(11, 7)},     {ChakraArm::kUint64, field(13, 7)},
      {ChakraArm::kSint32, field(15, 14)},  // zigzag
      {ChakraArm::kSint64, field(17, 14)},    {ChakraArm::kFixed32, fixed32(19, 7)},
      {ChakraArm::kFixed64, fixed64(21, 7)},  {ChakraArm::kSfixed32, fixed32(23, 7)},
      {ChakraArm::kSfixed64, fixed64(25, 7)},
  };
  for (const auto& [arm, value] : arms) {
    const ChakraFile read = parse_chakra(
        file({node({.id = 3, .attributes = {attribute("comm_size", value)}})}), "c.et");
    ASSERT_EQ(read.nodes.size(), 1U);
    EXPECT_EQ(read.nodes[0].find("comm_size")->arm, arm);
    EXPECT_EQ(read.nodes[0].integer("comm_size"), 7);
  }
}

TEST(Chakra, ArmsThatAreNoIntegerBelow2To63) {
  const ChakraFile read =
      parse_chakra(file({node({.id = 3,
                               .attributes = {attribute("double", fixed64(3, 0x4000000000000000)),
                                              text("text", "7"), boolean("bool", true),
                                              attribute("large", field(13, ~std::uint64_t{0})),
                                              attribute("negative", field(9, ~std::uint64_t{0})),
                                              attribute("list", field(14, field(1, "\x07\x08"))),
                                              attribute("nothing", "")}})}),
                   "c.et");
  const ChakraNode& node = read.nodes[0];
  EXPECT_EQ(node.integer("double"), std::nullopt);
  EXPECT_EQ(node.find("double")->real, 2.0);
  EXPECT_EQ(node.integer("text"), std::nullopt);
  EXPECT_EQ(node.text("text"), "7");
  EXPECT_EQ(node.integer("bool"), 1);
  EXPECT_EQ(node.integer("large"), std::nullopt);
  EXPECT_EQ(node.integer("negative"), -1);
  ASSERT_EQ(node.find("list")->list.size(), 2U);
  EXPECT_EQ(node.find("list")->list[1], 8U);
  EXPECT_EQ(node.find("nothing")->arm, ChakraArm::kNone);
  EXPECT_EQ(node.find("absent"), nullptr);
}

TEST(Chakra, AllFieldsOfANodeAndTheByteItStandsAt) {
  const std::string first = node({.id = 9});
  const ChakraFile read = parse_chakra(file({first, node({.id = 8,
                                                          .name = "aten::mm",
                                                          .type = 6,
                                                          .ctrl_deps = {1},
                                                          .data_deps = {9, 7},
                                                          .start_us = 11,
                                                          .duration_us = 12,
                                                          .inputs = {"[1]", "[[]]", "['Int']"},
                                                          .outputs = {"[]", "[]", "[]"}})},
                                            "", {text("schema", "1.0.1")}),
                                       "c.et");
  EXPECT_EQ(read.version, "");
  EXPECT_EQ(read.find("schema")->text, "1.0.1");
  ASSERT_EQ(read.nodes.size(), 2U);
  const ChakraNode& node = read.nodes[1];
  EXPECT_EQ(node.id, 8U);
  EXPECT_EQ(node.name, "aten::mm");
  EXPECT_EQ(node.type, ChakraNodeType::kRecv);
  EXPECT_EQ(std::vector(node.ctrl_deps.begin(), node.ctrl_deps.end()),
            std::vector<std::uint64_t>{1});
  EXPECT_EQ(std::vector(node.data_deps.begin(), node.data_deps.end()),
            (std::vector<std::uint64_t>{9, 7}));
  EXPECT_EQ(node.start_us, 11U);
  EXPECT_EQ(node.duration_us, 12U);
  EXPECT_EQ(node.inputs.types, "['Int']");
  EXPECT_EQ(node.outputs.values, "[]");
  EXPECT_EQ(node.offset, read.nodes[0].offset + 1 + first.size());
}

TEST(Chakra, WhatIsReadIsWrittenAsItWas) {
  const std::string bytes = file({node({.id = 3,
                                        .data_deps = {4, 5},
                                        .duration_us = 6,
                                        .attributes = {boolean("is_cpu_op", true), int32("a", -1),
                                                       int64("b", 2), text("c", "d")}})});
  const ChakraFile read = parse_chakra(bytes, "c.et");
  const std::string written = chakra_bytes(read);
  const ChakraFile again = parse_chakra(written, "c.et");
  EXPECT_EQ(chakra_bytes(again), written);
  EXPECT_EQ(again.nodes[0].integer("a"), -1);
  EXPECT_EQ(again.nodes[0].data_deps.size(), 2U);
  EXPECT_EQ(again.nodes[0].text("c"), "d");
}

TEST(Chakra, TheOldestFilesHaveNoMetadata) {
  const std::string first = node({.name = "layer0", .duration_us = 100});
  const std::string second = node({.id = 1, .name = "layer1", .ctrl_deps = {0}});
  const std::string bytes = varint(first.size()) + first + varint(second.size()) + second;
  EXPECT_TRUE(starts_as_chakra(bytes));
  const ChakraFile read = parse_chakra(bytes, "net.0.et");
  ASSERT_EQ(read.nodes.size(), 2U);
  EXPECT_EQ(read.nodes[0].name, "layer0");
  EXPECT_EQ(read.nodes[0].duration_us, 100U);
  EXPECT_EQ(read.nodes[1].ctrl_deps.size(), 1U);
  const std::string of_2022 = second + field(13, 1) + field(18, 4096);
  EXPECT_EQ(
      testing_errors::error_of(
          ErrorKind::kBadInput,
          [&] { return parse_chakra(varint(of_2022.size()) + of_2022, "net.0.et"); }),
      testing_errors::told("a Chakra graph of 2022", "file: net.0.et", "field: message 1 at byte 0",
                           "expected: the fields of today's nodes", "got: others",
                           "hint: convert what it was made from again, with today's Chakra"));
}

TEST(Chakra, ThePublishedSample) {
  ChakraFile sample;
  read_input_files(UNDERSTUDY_CHAKRA_DATA "/chakra.0.et.gz", {},
                   [&](InputFile&& file) { sample = parse_chakra(file.data, file.name); });
  EXPECT_EQ(sample.nodes.size(), 3664U);
  EXPECT_EQ(sample.find("schema")->text, "1.0.1");
  std::size_t data_deps = 0;
  std::size_t collectives = 0;
  for (const ChakraNode& node : sample.nodes) {
    data_deps += node.data_deps.size();
    collectives += node.type == ChakraNodeType::kCollective ? 1U : 0U;
  }
  EXPECT_EQ(data_deps, 181878U);
  EXPECT_EQ(collectives, 21U);
}

TEST(ChakraStart, TellsChakraFromWhatItIsNot) {
  const std::string whole = file({node({.id = 3})});
  EXPECT_TRUE(starts_as_chakra(whole));
  EXPECT_TRUE(starts_as_chakra(file({node({.id = 3})}, "")));
  for (std::size_t length = 7; length < whole.size(); ++length) {
    EXPECT_TRUE(starts_as_chakra(whole.substr(0, length))) << length;
  }
  for (const std::string_view other :
       {"", "{\"schema\":\"1.0.1\",\"nodes\":[]}", "{\n  \"schemaVersion\": 1}", "PK\x03\x04",
        "\x1f\x8b\x08", "rank 0 started", "[1, 2]"}) {
    EXPECT_FALSE(starts_as_chakra(other)) << other;
  }
  EXPECT_FALSE(starts_as_chakra(std::string(1, '\0')));
  EXPECT_FALSE(starts_as_chakra(std::string(300, '\0')));
}

}  // namespace
}  // namespace understudy::et_schema
