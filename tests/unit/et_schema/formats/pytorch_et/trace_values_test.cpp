#include <gtest/gtest.h>

#include <cmath>

#include "reader_texts.h"

namespace understudy::et_schema {
namespace {

using namespace testing_texts;  // NOLINT(google-build-using-namespace)

/// The inputs of a node with these arrays; the trace must outlive them.
Trace parse_inputs(const Arrays& arrays) {
  return parse(trace_of({.id = 3, .parent = 2, .name = "aten::x", .inputs = arrays}));
}

TEST(TraceValues, ScalarsOfEachKind) {
  const Trace trace = parse_inputs(
      {.values = R"([1, true, 0.5, "<None>", "text", "cuda:1", "<Generator>", -3])",
       .shapes = "[[],[],[],[],[],[],[],[]]",
       .types = R"(["Int","Bool","Double","None","String","Device","Generator","Int"])"});
  const auto values = trace.nodes[2].inputs;
  ASSERT_EQ(values.size(), 8U);
  EXPECT_EQ(values[0].as_int(), 1);
  EXPECT_TRUE(values[1].as_bool());
  EXPECT_EQ(values[2].as_double(), 0.5);
  EXPECT_TRUE(values[3].is(ValueKind::kNone));
  EXPECT_TRUE(values[4].is(ValueKind::kString));
  EXPECT_EQ(values[4].text(), "text");
  EXPECT_TRUE(values[5].is(ValueKind::kDevice));
  EXPECT_EQ(values[5].text(), "cuda:1");
  EXPECT_TRUE(values[6].is(ValueKind::kOpaque));
  EXPECT_EQ(values[6].text(), "Generator");
  EXPECT_EQ(values[7].as_int(), -3);
  EXPECT_EQ(trace.losses[Loss::kPlaceholderValues], 1U);
}

TEST(TraceValues, DoublesThatStandInQuotes) {
  const Trace trace = parse_inputs({.values = R"(["inf", "-inf", "nan", 3])",
                                    .shapes = "[[],[],[],[]]",
                                    .types = R"(["Double","Double","Double","Double"])"});
  const auto values = trace.nodes[2].inputs;
  EXPECT_EQ(values[0].as_double(), HUGE_VAL);
  EXPECT_EQ(values[1].as_double(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(values[2].as_double()));
  EXPECT_EQ(values[3].as_double(), 3.0);
}

TEST(TraceValues, PlaceholderTextInAStringStaysAString) {
  const Trace trace =
      parse_inputs({.values = R"(["<None>"])", .shapes = "[[]]", .types = R"(["String"])"});
  EXPECT_TRUE(trace.nodes[2].inputs[0].is(ValueKind::kString));
  EXPECT_EQ(trace.losses[Loss::kPlaceholderValues], 0U);
}

TEST(TraceValues, TensorWithStrides) {
  const Trace trace = parse_inputs({.values = R"([[5, 6, 2, 12, 4, "cuda:0"]])",
                                    .shapes = "[[3,4]]",
                                    .types = R"json(["Tensor(float)"])json",
                                    .strides = "[[4,1]]"});
  const Tensor& tensor = trace.nodes[2].inputs[0].tensor();
  EXPECT_EQ(tensor.tensor_id, 5);
  EXPECT_EQ(tensor.storage_id, 6);
  EXPECT_EQ(tensor.storage_offset, 2);
  EXPECT_EQ(tensor.numel, 12);
  EXPECT_EQ(tensor.item_bytes, 4);
  EXPECT_EQ(tensor.dtype, DType::kFloat32);
  EXPECT_EQ(tensor.device, (Device{DeviceType::kCuda, 0}));
  ASSERT_EQ(tensor.sizes.size(), 2U);
  EXPECT_EQ(tensor.sizes[1], 4);
  ASSERT_TRUE(tensor.has_strides);
  EXPECT_EQ(tensor.strides[0], 4);
}

TEST(TraceValues, ScalarTensorWithStridesHasThem) {
  const Trace trace = parse_inputs({.values = R"([[5, 6, 0, 1, 4, "cpu"]])",
                                    .shapes = "[[]]",
                                    .types = R"json(["Tensor(int)"])json",
                                    .strides = "[[]]"});
  EXPECT_TRUE(trace.nodes[2].inputs[0].tensor().has_strides);
}

TEST(TraceValues, FakeTensorWithoutStridesHasNone) {
  const Trace trace = parse_inputs({.values = R"([[5, 0, 0, 0, 4, "cpu"]])",
                                    .shapes = "[[3]]",
                                    .types = R"json(["Tensor(int)"])json",
                                    .strides = "[[]]"});
  EXPECT_FALSE(trace.nodes[2].inputs[0].tensor().has_strides);
}

TEST(TraceValues, TensorOfTheOldestFormHasNoDevice) {
  const Trace trace = parse_inputs({.values = "[[5, 6, 0, 12, 8]]",
                                    .shapes = "[[12]]",
                                    .types = R"json(["Tensor(long int)"])json"});
  const Tensor& tensor = trace.nodes[2].inputs[0].tensor();
  EXPECT_EQ(tensor.dtype, DType::kInt64);
  EXPECT_EQ(tensor.device, Device{});
  EXPECT_TRUE(tensor.defined());
  EXPECT_FALSE(tensor.has_strides);
}

TEST(TraceValues, UndefinedTensor) {
  const Trace trace = parse_inputs({.values = R"([[9, 0, 0, 0, 0, ""]])",
                                    .shapes = "[[]]",
                                    .types = R"json(["Tensor(nullptr (uninitialized))"])json"});
  const Tensor& tensor = trace.nodes[2].inputs[0].tensor();
  EXPECT_FALSE(tensor.defined());
  EXPECT_FALSE(tensor.has_storage());
  EXPECT_EQ(trace.losses[Loss::kUnknownDtypes], 0U);
}

TEST(TraceValues, UnknownElementTypeIsCounted) {
  const Trace trace = parse_inputs({.values = R"([[9, 8, 0, 2, 1, "cpu"]])",
                                    .shapes = "[[2]]",
                                    .types = R"json(["Tensor(c10::a_type_of_tomorrow)"])json"});
  EXPECT_EQ(trace.nodes[2].inputs[0].tensor().dtype, DType::kUndefined);
  EXPECT_TRUE(trace.nodes[2].inputs[0].tensor().defined());
  EXPECT_EQ(trace.losses[Loss::kUnknownDtypes], 1U);
}

TEST(TraceValues, ListsNestWithOneTypeForEachElement) {
  const Trace trace = parse_inputs(
      {.values =
           R"([[[[1,2,0,4,8,"cpu"],[3,4,0,4,8,"cpu"]],"<None>",[7,0,0,0,0,""]],["0","d"],[]])",
       .shapes = "[[[[4],[4]],[],[]],[[],[]],[]]",
       .types =
           R"(["GenericList[GenericList[Tensor(c10::complex<float>),Tensor(unsigned char)],None,Tensor(nullptr (uninitialized))]","Tuple[String,String]","GenericList[]"])"});
  const auto values = trace.nodes[2].inputs;
  ASSERT_EQ(values.size(), 3U);
  ASSERT_EQ(values[0].items().size(), 3U);
  const auto inner = values[0].items()[0].items();
  EXPECT_EQ(inner[0].tensor().dtype, DType::kComplexFloat32);
  EXPECT_EQ(inner[1].tensor().dtype, DType::kUInt8);
  EXPECT_TRUE(values[0].items()[1].is(ValueKind::kNone));
  EXPECT_FALSE(values[0].items()[2].tensor().defined());
  EXPECT_TRUE(values[1].is(ValueKind::kTuple));
  EXPECT_EQ(values[1].items()[1].text(), "d");
  EXPECT_TRUE(values[2].items().empty());
  std::size_t tensors = 0;
  for_each_tensor(values, [&tensors](const Tensor&) { ++tensors; });
  EXPECT_EQ(tensors, 3U);
}

TEST(TraceValues, ListCutByTheObserverIsCounted) {
  Arrays arrays;
  arrays.values = "[[0";
  arrays.shapes = "[[[]";
  arrays.types = R"(["GenericList[Int)";
  for (int i = 1; i < 4097; ++i) {
    arrays.values += ",0";
    arrays.shapes += ",[]";
    arrays.types += ",Int";
  }
  arrays.values += "]]";
  arrays.shapes += "]]";
  arrays.types += "]\"]";
  const Trace trace = parse_inputs(arrays);
  EXPECT_EQ(trace.nodes[2].inputs[0].items().size(), 4097U);
  EXPECT_EQ(trace.losses[Loss::kTruncatedLists], 1U);
}

TEST(TraceValues, StridesMayBeFewerThanValues) {
  const Trace trace = parse_inputs({.values = R"([[5, 6, 0, 4, 4, "cuda:0"], 94594108284448])",
                                    .shapes = "[[4],[]]",
                                    .types = R"json(["Tensor(float)","Int"])json",
                                    .strides = "[[1]]"});
  EXPECT_TRUE(trace.nodes[2].inputs[0].tensor().has_strides);
  EXPECT_EQ(trace.nodes[2].inputs[1].as_int(), 94594108284448);
}

}  // namespace
}  // namespace understudy::et_schema
