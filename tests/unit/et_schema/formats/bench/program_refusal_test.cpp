// What read_bench must refuse of a program, each with its whole message.

#include <gtest/gtest.h>

#include "bench_refusals.h"
#include "bench_samples.h"

namespace understudy::et_schema {
namespace {

// ---- a program's text

TEST(ProgramRefusal, ALineThatIsNotJson) {
  EXPECT_EQ(
      refused_program("{\"slot\":1", "{slot:1"),
      damaged("line 6", "{\"slot\":1,…}",
              "no JSON: {slot:1,\"storage\":1,\"dtype\":\"float32\",\"sizes\":[2,32],\"stride…"));
  EXPECT_EQ(
      refused_program("{\"slot\":1", "[\"slot\",1"),
      damaged("line 6", "{\"slot\":1,…}",
              "no JSON: [\"slot\",1,\"storage\":1,\"dtype\":\"float32\",\"sizes\":[2,32],\"stri…"));
}

TEST(ProgramRefusal, NamesWithControlCharacters) {
  EXPECT_EQ(refused_program("aten::add.Tensor\",\"node", "aten::\\u001b[2Jadd\",\"node"),
            damaged("line 7, op", "a name without control characters", "aten::\\u001b[2Jadd"));
}

TEST(ProgramRefusal, AProgramCutOff) {
  const auto cut_at = [](const std::string& mark) {
    return refusal(packed_with(tiny_bench(), kProgram, [&mark](const std::string& text) {
      return text.substr(0, text.find(mark));
    }));
  };
  EXPECT_EQ(cut_at("{\"i\":1"), damaged("line 9", "one of 3 instructions", "the end of the file"));
  EXPECT_EQ(cut_at("{\"schemas\""),
            damaged("line 1", "the header {\"schemas\":…}", "the end of the file"));
}

TEST(ProgramRefusal, ALineTooMany) {
  EXPECT_EQ(refusal(packed_with(tiny_bench(), kProgram,
                                [](const std::string& text) { return text + "{}\n"; })),
            damaged("line 10", "the end: the header announces 3 instructions", "another line"));
}

TEST(ProgramRefusal, LinesOutOfOrder) {
  EXPECT_EQ(refused_program("{\"slot\":1", "{\"slot\":3"),
            damaged("line 6", "{\"slot\":1,…}",
                    "{\"slot\":3,\"storage\":1,\"dtype\":\"float32\",\"sizes\":[2,32],\"stri…"));
  EXPECT_EQ(refused_program("{\"i\":1", "{\"i\":2"), damaged("line 9, i", "1", "2"));
  EXPECT_EQ(refused_program("{\"body\":1", "{\"body\":2"),
            damaged("line 8, body", "a depth of at most 1, one below the line before", "2"));
  EXPECT_EQ(refused_program("{\"body\":1", "{\"body\":201"),
            damaged("line 8, body", "a depth of at most 200", "201"));
}

TEST(ProgramRefusal, AClaimOfMoreThanThereIs) {
  EXPECT_EQ(refused_program("\"slots\":2", "\"slots\":18446744073709551615"),
            damaged("line 7", "{\"slot\":2,…}",
                    "{\"i\":0,\"op\":\"aten::add.Tensor\",\"node\":13,\"schema\":0,\"args\":[…"));
  EXPECT_EQ(refused_program("\"slots\":2", "\"slots\":-2"),
            damaged("line 1, slots", "a non-negative integer of 64 bits", "-2"));
}

TEST(ProgramRefusal, UnknownNames) {
  EXPECT_EQ(refused_program("\"float32\"", "\"float33\""),
            damaged("line 5, dtype", "the name of a dtype", "\"float33\""));
  EXPECT_EQ(refused_program("\"op\":", "\"opp\":"),
            damaged("line 7", "an instruction: {\"i\":…,\"op\":…}",
                    "{\"i\":0,\"opp\":\"aten::add.Tensor\",\"node\":13,\"schema\":0,\"args\":…"));
  EXPECT_EQ(refused_program("\"kind\":\"all_to_allv\"", "\"kind\":\"all_to_allw\""),
            damaged("line 9, comm.kind", "the name of a collective", "\"all_to_allw\""));
  EXPECT_EQ(refused_program("\"external\":true}\n{\"slot\":1",
                            "\"value\":{\"rule\":\"unifrom\"}}\n{\"slot\":1"),
            damaged("line 5, value.rule", "the name of a value rule", "\"unifrom\""));
}

TEST(ProgramRefusal, ArgumentsThatMeanNothing) {
  EXPECT_EQ(refused_program("\"%0\"", "\"0\""),
            damaged("line 7, args",
                    "a slot \"%N\", a text \"'…\", a device \"@…\", an opaque \"#…\", "
                    "\"undefined\", \"inf\", \"-inf\" or \"nan\"",
                    "\"0\""));
  EXPECT_EQ(refused_program("\"%0\"", "\"\""),
            damaged("line 7, args",
                    "a slot \"%N\", a text \"'…\", a device \"@…\", an opaque \"#…\", "
                    "\"undefined\", \"inf\", \"-inf\" or \"nan\"",
                    "\"\""));
  EXPECT_EQ(refused_program("\"%0\"", "\"%\""), damaged("line 7, args", "a slot \"%N\"", "\"%\""));
  EXPECT_EQ(refused_program("\"%0\"", "\"%4294967296\""),
            damaged("line 7, args", "a slot \"%N\"", "\"%4294967296\""));
  EXPECT_EQ(refused_program("\"%0\"", "\"%-1\""),
            damaged("line 7, args", "a slot \"%N\"", "\"%-1\""));
  EXPECT_EQ(refused_program("\"%0\"", "{\"slot\":0}"),
            damaged("line 7, args", "an argument", "{\"slot\":0}"));
  EXPECT_EQ(refused_program("\"%0\"", "18446744073709551615"),
            damaged("line 7, args", "an argument", "18446744073709551615"));
  EXPECT_EQ(refused_program("\"%0\"", std::string(61, '[') + std::string(61, ']')),
            damaged("line 7, args", "lists nested at most 60 deep", "a deeper one"));
}

TEST(ProgramRefusal, FieldsOfAnotherType) {
  EXPECT_EQ(refused_program("\"node\":13", "\"node\":-13"),
            damaged("line 7, node", "a non-negative integer of 64 bits", "-13"));
  EXPECT_EQ(refused_program("\"bytes\":4096", "\"bytes\":4096.5"),
            damaged("line 3, bytes", "an integer of 64 bits", "4096.5"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":32"),
            damaged("line 5, sizes", "a list", "32"));
  EXPECT_EQ(refused_program("\"strides_recorded\":true", "\"strides_recorded\":1"),
            damaged("line 5, strides_recorded", "true or false", "1"));
  EXPECT_EQ(refused_program("\"storage\":0,\"dtype\"", "\"dtype\""),
            damaged("line 5, storage", "this key", "none"));
  EXPECT_EQ(refused_program("\"schema\":0,\"args\"", "\"schema\":4294967296,\"args\""),
            damaged("line 7, schema", "a number below 2^32", "4294967296"));
}

// ---- a program that does not hold together

TEST(ProgramRefusal, ReferencesOutOfRange) {
  EXPECT_EQ(refused_program("\"%0\"", "\"%2\""),
            unsound("args", "a number below 2, the number of slots", "%2", "13"));
  EXPECT_EQ(refused_program("\"results\":[\"%1\"]", "\"results\":[[\"%9\"]]"),
            unsound("results", "a number below 2, the number of slots", "%9", "13"));
  EXPECT_EQ(refused_program("\"schema\":0,\"args\"", "\"schema\":1,\"args\""),
            unsound("schema", "a number below 1, the number of schemas", "1", "13"));
  EXPECT_EQ(refused_program("\"storage\":1,\"dtype\"", "\"storage\":2,\"dtype\""),
            unsound("slot 1, storage", "a number below 2, the number of storages", "2"));
  EXPECT_EQ(refused_program("\"group\":0", "\"group\":1"),
            unsound("comm.group", "a number below 1, the number of process groups", "1", "20"));
}

TEST(ProgramRefusal, ACommunicationInABody) {
  EXPECT_EQ(refused_program("\"i\":1,\"collective\"", "\"body\":1,\"collective\""),
            unsound("comm", "no communication in a body", "one", "20"));
}

TEST(ProgramRefusal, LayoutsThatCannotBe) {
  EXPECT_EQ(refused_program("\"bytes\":4096", "\"bytes\":-1"),
            unsound("storage 0, bytes", "a size that is not negative", "-1"));
  EXPECT_EQ(refused_program("\"bytes\":4096}", "\"bytes\":4096,\"held_until\":9}"),
            unsound("storage 1, held_until", "at most 2, the number of instructions", "9"));
  EXPECT_EQ(refused_program("\"external\":true}", "\"external\":true,\"held_until\":1}"),
            unsound("storage 0, held_until", "nothing for an external storage", "1"));
  EXPECT_EQ(refused_program("\"bytes\":4096}", "\"bytes\":4096,\"zeros\":1.5}"),
            unsound("storage 1, zeros", "a share from 0 to 1", "1.500000"));
  EXPECT_EQ(refused_program("\"external\":true}", "\"external\":true,\"zeros\":-0.5}"),
            unsound("storage 0, zeros", "a share from 0 to 1", "-0.500000"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[1,-32]"),
            unsound("slot 0, sizes", "sizes that are not negative", "-32"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[1,32],\"strides\":[1]"),
            unsound("slot 0, strides", "2 strides, one a dimension", "1"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[1,32],\"strides\":[32,-1]"),
            unsound("slot 0, strides", "strides that are not negative", "-1"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[1,32],\"offset\":-1"),
            unsound("slot 0, offset", "an offset that is not negative", "-1"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[33,32]"),
            unsound("slot 0", "an extent within its storage of 4096 bytes", "4224 bytes"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[1,32],\"offset\":993"),
            unsound("slot 0", "an extent within its storage of 4096 bytes", "4100 bytes"));
}

TEST(ProgramRefusal, LayoutsThatOverflow) {
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[4294967296,4294967296]"),
            damaged("line 5, sizes", "fewer than 2^63 elements", "[4294967296,4294967296]"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[2,2305843009213693952]"),
            unsound("slot 0, sizes", "an extent below 2^63 bytes", "more"));
  EXPECT_EQ(
      refused_program("\"sizes\":[1,32]", "\"sizes\":[3,32],\"strides\":[9223372036854775807,1]"),
      unsound("slot 0, sizes", "an extent below 2^63 bytes", "more"));
  EXPECT_EQ(refused_program("\"sizes\":[1,32]", "\"sizes\":[1,32],\"offset\":9223372036854775807"),
            unsound("slot 0, sizes", "an extent below 2^63 bytes", "more"));
}

TEST(ProgramRefusal, RulesThatCannotBeMet) {
  const auto rule = [](const std::string& text) {
    return refused_program("\"external\":true}\n{\"slot\":1",
                           "\"value\":" + text + "}\n{\"slot\":1");
  };
  EXPECT_EQ(rule(R"({"rule":"lengths","segments":[[-1,2]]})"),
            unsound("slot 0, value.segments", "counts and sums that are not negative", "[-1,2]"));
  EXPECT_EQ(rule(R"({"rule":"lengths","segments":[[1]]})"),
            damaged("line 5, value.segments", "a list of [count, sum]", "[1]"));
  EXPECT_EQ(rule(R"({"rule":"bernoulli","a":1.5})"),
            unsound("slot 0, value.a", "a probability from 0 to 1", "1.500000"));
  EXPECT_EQ(rule(R"({"rule":"targets","a":"nan"})"),
            unsound("slot 0, value.a", "a probability from 0 to 1", "nan"));
  EXPECT_EQ(rule(R"({"rule":"uniform","a":"large"})"),
            damaged("line 5, value.a", "a number, \"inf\", \"-inf\" or \"nan\"", "\"large\""));
  for (const std::string distinct : {"2.5", "-1", "1e+300", "\"nan\""}) {
    EXPECT_EQ(rule(R"({"rule":"integers","a":)" + distinct + "}"),
              damaged("line 5, value.a", "a whole number from 0 to 2^53", distinct));
  }
  EXPECT_EQ(rule(R"({"rule":"integers","low":5,"high":4})"),
            unsound("slot 0, value.high", "at least `low`, 5", "4"));
  EXPECT_EQ(rule(R"({"rule":"dominant"})"), unsound("slot 0, value.high", "at least one row", "0"));
  EXPECT_EQ(rule(R"({"rule":"reuse","reuse":[[0,9,1]]})"),
            damaged("line 5, value.reuse", "a list of [low, high, times, numbers, …]", "[0,9,1]"));
  EXPECT_EQ(rule(R"({"rule":"reuse"})"),
            unsound("slot 0, value.reuse", "at least one draw", "none"));
  EXPECT_EQ(rule(R"({"rule":"reuse","reuse":[[0,9,1,1]],"run":0})"),
            unsound("slot 0, value.run", "at least 1", "0"));
  EXPECT_EQ(rule(R"({"rule":"reuse","reuse":[[0,9,1,1],[8,10,1,1]]})"),
            unsound("slot 0, value.reuse", "bins that ascend, from 9 on", "[8,10)"));
  EXPECT_EQ(
      rule(R"({"rule":"reuse","reuse":[[0,9,0,1]]})"),
      unsound("slot 0, value.reuse", "numbers that occur at least once", "1 numbers 0 times"));
  EXPECT_EQ(rule(R"({"rule":"reuse","reuse":[[0,9,1,5,2,5]]})"),
            unsound("slot 0, value.reuse", "at most 9 numbers in [0,9)", "10"));
  EXPECT_EQ(rule(R"({"rule":"reuse","reuse":[[0,9,4611686018427387904,2]]})"),
            unsound("slot 0, value.reuse", "fewer than 2^62 draws", "more"));
}

TEST(ProgramRefusal, AParameterOfAnotherKindOfRuleIsPassedOver) {
  Bench bench = tiny_bench();
  bench.programs.edit(0).slots[0].value = ValueRule{ValueRule::Mask{.count = 3}, "aten::where"};
  const std::string bytes = packed_with(bench, kProgram, [](std::string text) {
    const std::string own = "\"high\":3";
    const std::size_t at = text.find(own);
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, own.size(), R"("a":0.5,"low":9,"high":3,"segments":[[1,2]],"run":2)");
  });
  EXPECT_EQ(read_bench_bytes(bytes, "bench.et"), bench);
}

TEST(ProgramRefusal, CommunicationThatDoesNotFit) {
  EXPECT_EQ(refused_program("\"in_splits\":[1]", "\"in_splits\":[-1]"),
            unsound("comm.in_splits", "splits that are not negative", "-1", "20"));
  EXPECT_EQ(refused_program("\"collective\":", "\"op\":"),
            unsound("comm", "no communication", "kind \"op\" with it", "20"));
  EXPECT_EQ(refused_program("\"op\":", "\"wait\":"),
            unsound("comm", "what is communicated", "kind \"wait\" without it", "13"));
  EXPECT_EQ(refused_program("\"op\":", "\"alias\":"),
            unsound("alias", "one slot as argument and one as result", "other arguments or results",
                    "13"));
}

}  // namespace
}  // namespace understudy::et_schema
