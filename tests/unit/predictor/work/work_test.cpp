#include "predictor/work/work.h"

#include <gtest/gtest.h>

#include <cmath>

#include "predictor/work/step_work.h"

namespace understudy::predictor {
namespace {

OperatorCall call(const std::string& name, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
  OperatorCall made{name, "", {}, {}};
  for (const std::string& text : inputs) {
    made.inputs.push_back(*et_schema::parse_tensor_layout(text));
  }
  for (const std::string& text : outputs) {
    made.outputs.push_back(*et_schema::parse_tensor_layout(text));
  }
  return made;
}

TEST(Work, ProductsOfMatrices) {
  const Work linear =
      work_of(call("aten::linear", {"float32[8,16,32]", "float32[64,32]"}, {"float32[8,16,64]"}));
  EXPECT_EQ(linear.product, (Product{1, 128, 64, 32}));
  EXPECT_EQ(linear.flops, 2.0 * 128 * 64 * 32);
  EXPECT_EQ(bytes_of(linear), 4.0 * (128 * 32 + 64 * 32 + 128 * 64));
  const Work mm = work_of(call("aten::mm", {"float32[5,6]", "float32[6,7]"}, {"float32[5,7]"}));
  EXPECT_EQ(mm.product, (Product{1, 5, 7, 6}));
  const Work addmm = work_of(
      call("aten::addmm", {"float32[7]", "float32[5,6]", "float32[6,7]"}, {"float32[5,7]"}));
  EXPECT_EQ(addmm.product, (Product{1, 5, 7, 6}));
  const Work full = work_of(
      call("aten::addmm", {"float32[5,7]", "float32[5,6]", "float32[6,7]"}, {"float32[5,7]"}));
  EXPECT_EQ(full.product, (Product{1, 5, 7, 6}));
  const Work bmm =
      work_of(call("aten::bmm", {"float32[3,5,6]", "float32[3,6,7]"}, {"float32[3,5,7]"}));
  EXPECT_EQ(bmm.product, (Product{3, 5, 7, 6}));
  EXPECT_EQ(bmm.flops, 2.0 * 3 * 5 * 7 * 6);
}

TEST(Work, ConvolutionsAsProducts) {
  const Work forward = work_of(
      call("aten::conv2d", {"float32[2,3,8,8]", "float32[16,3,3,3]"}, {"float32[2,16,8,8]"}));
  EXPECT_EQ(forward.flops, 2.0 * (2 * 16 * 8 * 8) * (3 * 3 * 3));
  EXPECT_EQ(forward.product, (Product{1, 16, 128, 27}));
  const Work backward = work_of(call("aten::convolution_backward",
                                     {"float32[2,16,8,8]", "float32[2,3,8,8]", "float32[16,3,3,3]"},
                                     {"float32[2,3,8,8]", "float32[16,3,3,3]", "float32[16]"}));
  EXPECT_EQ(backward.flops, 2 * forward.flops);
  const Work transposed =
      work_of(call("aten::conv_transpose2d.input", {"float32[2,32,4,4]", "float32[32,16,2,2]"},
                   {"float32[2,16,8,8]"}));
  EXPECT_EQ(transposed.flops, 2.0 * (2 * 32 * 4 * 4) * (16 * 2 * 2));
  const Work twice = work_of(call("aten::_convolution_double_backward",
                                  {"float32[2,3,8,8]", "float32[16,3,3,3]", "float32[2,16,8,8]",
                                   "float32[16,3,3,3]", "float32[2,3,8,8]"},
                                  {"float32[2,16,8,8]", "float32[2,3,8,8]", "float32[16,3,3,3]"}));
  EXPECT_EQ(twice.flops, 4 * forward.flops);
  EXPECT_EQ(twice.product, forward.product);
  const Work of_input = work_of(
      call("aten::_convolution_double_backward",
           {"float32[2,3,8,8]", "float32[2,16,8,8]", "float32[16,3,3,3]", "float32[2,3,8,8]"},
           {"float32[2,16,8,8]", "float32[16,3,3,3]"}));
  EXPECT_EQ(of_input.flops, 2 * forward.flops);
}

TEST(Work, AttentionTakesTwoProducts) {
  OperatorCall full =
      call("aten::scaled_dot_product_attention",
           {"float32[2,4,10,8]", "float32[2,4,20,8]", "float32[2,4,20,8]"}, {"float32[2,4,10,8]"});
  EXPECT_EQ(work_of(full).flops, 2 * 2.0 * (2 * 4) * 10 * 15.5 * 8) << "causal if not told";
  full.is_full = true;
  EXPECT_EQ(work_of(full).flops, 2 * 2.0 * (2 * 4) * 10 * 20 * 8);
}

TEST(Work, AttentionTellsHeadsThatShareKeysAndTheirType) {
  const Work decode = work_of(
      call("aten::scaled_dot_product_attention",
           {"bfloat16[8,48,1,128]", "float8_e4m3fn[8,6,1024,128]", "float8_e4m3fn[8,6,1024,128]"},
           {"bfloat16[8,48,1,128]"}));
  EXPECT_EQ(decode.attention, (Attention{8, 8 * 48, 1, 1024, 128, 8, 1}));
  EXPECT_EQ(decode.flops, 4.0 * 8 * 48 * 128 * 1024) << "one query meets all keys";
  EXPECT_EQ(bytes_of(decode), 2.0 * 8 * 6 * 1024 * 128 + 2 * 2 * 8 * 48 * 128);
}

TEST(Work, AttentionsKernelsTakeSequencesFirst) {
  const std::string flash = "aten::_flash_attention_forward";
  const Work work =
      work_of(call(flash, {"float32[2,10,4,8]", "float32[2,20,4,8]", "float32[2,20,4,8]"},
                   {"float32[2,10,4,8]"}));
  EXPECT_EQ(work.attention, (Attention{2, 2 * 4, 10, 20, 8, 1, 4}));
  const Work packed =
      work_of(call(flash, {"float32[20,4,8]", "float32[40,4,8]", "float32[40,4,8]", "int32[3]"},
                   {"float32[20,4,8]"}));
  EXPECT_EQ(packed.attention, work.attention);
  EXPECT_EQ(packed.flops, work.flops);
}

TEST(Work, ExpertsMultiplyTheTokensThatAreRoutedAndReadTheWeightsThatAreHit) {
  const Work work = work_of(call(
      "vllm::outplace_fused_experts",
      {"bfloat16[3,64]", "bfloat16[8,32,64]", "bfloat16[8,64,16]", "float32[3,2]", "int32[3,2]"},
      {"bfloat16[3,64]"}));
  EXPECT_EQ(work.family, Family::kExperts);
  ASSERT_TRUE(work.experts);
  EXPECT_EQ(work.flops, 3 * 2 * 2.0 * 64 * (32 + 16));
  const double hit = 8 * (1 - std::pow(7.0 / 8, 6));
  EXPECT_NEAR(work.experts->hit, hit, 1e-9);
  EXPECT_NEAR(work.experts->weight_bytes, hit * (32 * 64 + 64 * 16) * 2, 1e-6);
  EXPECT_GT(bytes_of(work), work.experts->weight_bytes);
  EXPECT_LT(bytes_of(work), 8 * (32 * 64 + 64 * 16) * 2) << "two experts in eight are not read";
}

TEST(Work, DecompositionsAreCubic) {
  const Work work = work_of(
      call("aten::linalg_cholesky_ex", {"float32[4,10,10]"}, {"float32[4,10,10]", "int32[4]"}));
  EXPECT_EQ(work.family, Family::kLinalg);
  EXPECT_EQ(to_string(work.family), "linalg");
  EXPECT_EQ(work.flops, 2.0 * 4 * 10 * 10 * 10);
  EXPECT_EQ(work_of(call("aten::linalg_qr", {"float32[20,10]"}, {})).flops, 2.0 * 20 * 10 * 10);
}

TEST(Work, FourierTransformsAreOfTheLastDimension) {
  const Work work = work_of(call("aten::_fft_r2c", {"float32[4,16]"}, {"complex64[4,9]"}));
  EXPECT_EQ(work.family, Family::kFft);
  EXPECT_EQ(to_string(work.family), "fft");
  EXPECT_EQ(work.flops, 5.0 * 4 * 16 * 4);
}

TEST(Work, OfSparseTensorsWhatTheyHold) {
  const Work coalesce =
      work_of(call("aten::coalesce", {"float32[1000,16;0,0;1120]"}, {"float32[1000,16;0,0;800]"}));
  EXPECT_EQ(bytes_of(coalesce), 4.0 * (1120 + 800));
  const Work masked =
      work_of(call("aten::sparse_mask", {"float32[1000,16]", "float32[1000,16;0,0;160]"},
                   {"float32[1000,16;0,0;160]"}));
  EXPECT_EQ(bytes_of(masked), 4.0 * 3 * 160) << "ten rows of the table are read";
}

TEST(Work, LookupsReadRowsAndNotTheTable) {
  const Work work =
      work_of(call("aten::embedding", {"float32[1000000,16]", "int64[10]"}, {"float32[10,16]"}));
  EXPECT_EQ(work.read_bytes, 10.0 * 16 * 4 + 10 * 8);
  const Work small =
      work_of(call("aten::embedding", {"float32[4,16]", "int64[1000]"}, {"float32[1000,16]"}));
  EXPECT_EQ(small.read_bytes, 4.0 * 16 * 4 + 1000 * 8);
}

TEST(Work, UpdatesInPlaceWriteTheRowsThatAreMet) {
  const Work work =
      work_of(call("aten::index_add_", {"float32[1000000,16]", "int64[10]", "float32[10,16]"},
                   {"float32[1000000,16]"}));
  EXPECT_EQ(work.write_bytes, 10.0 * 16 * 4);
  const Work copied =
      work_of(call("aten::index_add", {"float32[1000,16]", "int64[10]", "float32[10,16]"},
                   {"float32[1000,16]"}));
  EXPECT_EQ(copied.write_bytes, 1000.0 * 16 * 4) << "the result is a tensor of its own";
}

TEST(Work, ASparseGradientHasARowForEachIndex) {
  const std::vector<std::string> inputs = {"float32[4,16]", "int64[10]", "int64[4]"};
  const OperatorCall sparse =
      call("aten::_embedding_bag_backward", inputs, {"float32[1000000,16;0,0]"});
  EXPECT_TRUE(has_sparse_result(sparse));
  EXPECT_NEAR(work_of(sparse).write_bytes, 10.0 * 16 * 4, 8) << "and hardly anything of the table";
  const OperatorCall dense = call("aten::_embedding_bag_backward", inputs, {"float32[1000,16]"});
  EXPECT_FALSE(has_sparse_result(dense));
  EXPECT_EQ(work_of(dense).write_bytes, 1000.0 * 16 * 4);
}

TEST(Work, ViewsMoveNothingAndFillsWrite) {
  EXPECT_EQ(bytes_of(work_of(call("aten::view", {"float32[10]"}, {"float32[2,5]"}))), 0);
  EXPECT_EQ(bytes_of(work_of(call("aten::empty", {}, {"float32[10]"}))), 0);
  EXPECT_EQ(bytes_of(work_of(call("aten::zeros", {}, {"float32[10]"}))), 40);
}

TEST(Work, AnUnknownOperatorIsElementwiseByItsBytes) {
  const Work work = work_of(call("mine::thing", {"bfloat16[10,20]"}, {"float32[10,20]"}));
  EXPECT_EQ(work.family, Family::kElementwise);
  EXPECT_EQ(work.read_bytes, 400);
  EXPECT_EQ(work.write_bytes, 800);
  EXPECT_EQ(work.flops, 200);
}

TEST(Work, NothingDividesByZero) {
  for (const char* name :
       {"aten::mm", "aten::conv2d", "aten::bmm", "aten::linear", "aten::sum", "aten::softmax",
        "aten::embedding", "aten::sort", "aten::lstm", "aten::einsum",
        "aten::scaled_dot_product_attention", "aten::linalg_eigh", "aten::_fft_c2c"}) {
    for (const std::vector<std::string>& inputs :
         std::vector<std::vector<std::string>>{{},
                                               {"float32[]"},
                                               {"float32[0,4]", "float32[4,0]"},
                                               {"int64[3]", "float32[2,2]", "float32[0]"}}) {
      const Work work = work_of(call(name, inputs, {}));
      EXPECT_TRUE(work.flops >= 0 && bytes_of(work) >= 0) << name;
    }
  }
}

TEST(MeasuredWork, IsCountedWhereItCan) {
  const OperatorCall mm = call("aten::mm", {"float32[5,6]", "float32[6,7]"}, {"float32[5,7]"});
  const Work computed = work_of(mm);
  EXPECT_EQ(measured_work(mm, {{"minor_faults", 3}}), computed);
  EXPECT_EQ(measured_work(mm, {{"dram_bytes", 0}, {"flop", 0}}), computed);
  const Work counted = measured_work(mm, {{"flop", 10}, {"tensor_flop", 400}, {"dram_bytes", 90}});
  EXPECT_EQ(counted.flops, 410);
  EXPECT_DOUBLE_EQ(bytes_of(counted), 90);
  EXPECT_DOUBLE_EQ(counted.read_bytes / counted.write_bytes,
                   computed.read_bytes / computed.write_bytes);
  EXPECT_TRUE(counted.counted_flops && counted.counted_bytes);
}

TEST(Families, WhatAsksAboutATensorReadsNothingOfIt) {
  for (const char* name : {"aten::is_same_size", "aten::_has_same_storage_numel",
                           "aten::cudnn_is_acceptable", "aten::is_floating_point"}) {
    EXPECT_EQ(family_of(name), Family::kView) << name;
    const TensorLayout large{et_schema::DType::kFloat32, {4096, 4096}};
    EXPECT_EQ(bytes_of(work_of({name, "", {large, large}, {}})), 0) << name;
  }
  EXPECT_EQ(family_of("aten::isnan"), Family::kElementwise);
  EXPECT_NE(family_of("aten::is_nonzero"), Family::kView) << "waits for a value";
}

TEST(StepWork, IsOfAllRanksAndWhatRanAgainIsNoMfu) {
  et_schema::Program program;
  program.storages.resize(1);
  et_schema::Slot& slot = program.slots.emplace_back();
  slot.dtype = DType::kBFloat16;
  slot.sizes = {1000, 1000};
  const et_schema::Argument square{et_schema::Argument::SlotRef{0}};
  et_schema::Instruction product;
  product.name = "aten::mm";
  product.args = {square, square};
  product.results = {square};
  program.instructions.assign(3, product);
  program.instructions[1].recomputed = true;
  program.instructions[2].kind = et_schema::InstructionKind::kKernel;
  et_schema::StepWork work = step_work({&program, &program});
  EXPECT_DOUBLE_EQ(work.gflop, 4 * 2.0);
  EXPECT_DOUBLE_EQ(work.recomputed_gflop, 2 * 2.0);
  EXPECT_DOUBLE_EQ(work.bytes, 4 * 3 * 2e6);
  EXPECT_EQ(work.uncounted, 2U);
  Card card{.name = "card", .flops_by_dtype = {{DType::kBFloat16, 1e12}}};
  set_rates(10, 2, &card, work);
  EXPECT_DOUBLE_EQ(work.tflop_per_s.value(), 0.4);
  EXPECT_DOUBLE_EQ(work.hfu.value(), 0.4);
  EXPECT_DOUBLE_EQ(work.mfu.value(), 0.2);
  EXPECT_EQ(work.peak, "card: bfloat16 1.000 TFLOP/s");
  work.mfu.reset();
  card.flops_by_dtype.clear();
  set_rates(10, 2, &card, work);
  EXPECT_FALSE(work.mfu) << "the card has no peak for the type";
}

}  // namespace
}  // namespace understudy::predictor
