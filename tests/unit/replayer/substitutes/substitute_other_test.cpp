// The table as a whole, and the rows that belong to no family.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "substitute_call.h"

namespace understudy::replayer {
namespace {

using et_schema::DType;
using torch::jit::Stack;

TEST(Substitutes, NoneForAnOperatorThatIsNotInTheTable) {
  EXPECT_FALSE(find_substitute("aten::add.Tensor(Tensor self, Tensor other) -> Tensor", c10::kCPU));
}

TEST(Substitutes, NoneForASchemaThatLacksAnArgument) {
  EXPECT_FALSE(find_substitute("aten::cudnn_grid_sampler(Tensor self) -> Tensor", c10::kCPU));
}

TEST(Substitutes, StandForEveryOverload) {
  EXPECT_TRUE(find_substitute(
      "aten::cudnn_grid_sampler.out(Tensor self, Tensor grid, *, Tensor(a!) out) -> Tensor(a!)",
      c10::kCPU));
}

TEST(Substitutes, TooFewArgumentsOnTheStackThrow) {
  auto substitute =
      find_substitute("aten::cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor", c10::kCPU);
  ASSERT_TRUE(substitute);
  Stack stack{at::ones({1})};
  EXPECT_THROW(substitute->call(stack), c10::Error);
}

TEST(Substitutes, NotApplicableOnTheCpu) {
  EXPECT_EQ(not_applicable_reason("aten::record_stream", c10::DeviceType::CPU),
            "the CPU has no streams");
  for (const std::string op : {"aten::pin_memory", "aten::_pin_memory", "aten::is_pinned"}) {
    EXPECT_EQ(not_applicable_reason(op, c10::DeviceType::CPU),
              "memory is pinned for copies to an accelerator");
  }
  EXPECT_EQ(not_applicable_reason("aten::record_stream", c10::DeviceType::CUDA), std::nullopt);
  EXPECT_EQ(not_applicable_reason("aten::add.Tensor", c10::DeviceType::CPU), std::nullopt);
}

TEST(Substitutes, StubsAreToldApart) {
  const auto rung = [](const std::string& schema) {
    const auto found = find_substitute(schema, c10::kCPU);
    EXPECT_TRUE(found.has_value()) << schema;
    return found ? found->rung : Rung::kSubstituted;
  };
  const std::string reduces = "(Tensor input, str reduce_op, str group_name) -> Tensor";
  EXPECT_EQ(rung("symm_mem::one_shot_all_reduce" + reduces), Rung::kStubbed);
  EXPECT_EQ(rung("symm_mem::two_shot_all_reduce_" + reduces), Rung::kStubbed);
  EXPECT_EQ(rung("symm_mem::multimem_all_reduce_" + reduces), Rung::kStubbed);
  EXPECT_EQ(rung("aten::_cudnn_init_dropout_state(float dropout, bool train, int seed) -> Tensor"),
            Rung::kStubbed);
  EXPECT_EQ(rung("aten::cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor"),
            Rung::kSubstituted);
}

TEST(SubstituteOther, StatesHaveTheRecordedLayout) {
  const et_schema::Slot layout = layout_of({1000}, DType::kUInt8);
  const at::Tensor state =
      call_substitute(
          "aten::_cudnn_init_dropout_state(float dropout, bool train, int dropout_seed, "
          "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
          "pin_memory=False) -> Tensor",
          {0.1, true, 1, c10::IValue(), c10::IValue(), c10::IValue(), c10::IValue()}, {&layout})
          .at(0)
          .toTensor();
  EXPECT_EQ(state.sizes(), at::IntArrayRef({1000}));
  EXPECT_EQ(state.scalar_type(), at::kByte);
}

TEST(SubstituteOther, SpatialTransformer) {
  const at::Tensor theta = at::randn({2, 2, 3});
  const at::Tensor grid = at::affine_grid_generator(theta, {2, 3, 4, 5}, true);
  const at::Tensor input = at::randn({2, 3, 6, 6});
  const auto sample = [](const std::vector<at::Tensor>& in) {
    return at::grid_sampler(in[0], in[1], 0, 0, true);
  };
  const at::Tensor output = sample({input, grid});
  expect_close(
      call_substitute("aten::cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output",
                      {input, grid})
          .at(0),
      output);
  const at::Tensor grad_output = at::randn_like(output);
  const std::vector<at::Tensor> gradients = autograd_gradients(sample, {input, grid}, grad_output);
  const Stack result = call_substitute(
      "aten::cudnn_grid_sampler_backward(Tensor self, Tensor grid, Tensor "
      "grad_output) -> (Tensor grad_self, Tensor grad_grid)",
      {input, grid, grad_output});
  expect_close(result.at(0), gradients[0], 1e-4);
  expect_close(result.at(1), gradients[1], 1e-4);
}

TEST(SubstituteOther, CtcLossComesWithItsGradient) {
  const at::Tensor logits = at::randn({6, 2, 4});
  const at::Tensor targets = at::tensor({1, 2, 3, 1, 1}, at::kLong);
  const std::vector<std::int64_t> input_lengths{6, 5};
  const std::vector<std::int64_t> target_lengths{3, 2};
  const auto loss = [&](const std::vector<at::Tensor>& in) {
    return at::ctc_loss(in[0], targets, input_lengths, target_lengths, 0, at::Reduction::None);
  };
  const at::Tensor log_probs = at::log_softmax(logits, 2);
  const Stack result = call_substitute(
      "aten::_cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
      "target_lengths, int blank, bool deterministic, bool zero_infinity) -> (Tensor, Tensor)",
      {log_probs, targets, input_lengths, target_lengths, 0, true, false});
  expect_close(result.at(0), loss({log_probs}), 1e-4);
  expect_close(result.at(1), autograd_gradients(loss, {log_probs}, at::ones({2}))[0], 1e-4);
}

TEST(SubstituteOther, PinnedMemoryIsACopy) {
  const at::Tensor input = at::randn({3});
  for (const std::string name : {"pin_memory", "_pin_memory"}) {
    const at::Tensor copy =
        call_substitute("aten::" + name + "(Tensor self, Device? device=None) -> Tensor",
                        {input, c10::IValue()})
            .at(0)
            .toTensor();
    EXPECT_TRUE(at::equal(copy, input));
    EXPECT_NE(copy.const_data_ptr(), input.const_data_ptr());
  }
  EXPECT_FALSE(call_substitute("aten::is_pinned(Tensor self, Device? device=None) -> bool",
                               {input, c10::IValue()})
                   .at(0)
                   .toBool());
}

TEST(SubstituteOther, StubbedReductionsKeepTheirInput) {
  const at::Tensor input = at::randn({3});
  const std::string arguments = "(Tensor input, str reduce_op, str group_name) -> Tensor";
  for (const std::string name :
       {"one_shot_all_reduce", "two_shot_all_reduce_", "multimem_all_reduce_"}) {
    const at::Tensor result =
        call_substitute("symm_mem::" + name + arguments, {input, "sum", "0"}).at(0).toTensor();
    EXPECT_TRUE(at::equal(result, input));
    EXPECT_EQ(result.is_same(input), name.back() == '_') << name;
  }
}

TEST(SubstituteOther, CopiesOfShardedDataParallel) {
  const at::Tensor gathered = at::zeros({10});
  const Stack in = call_substitute(
      "fsdp::all_gather_copy_in(Tensor[] all_gather_inputs, Tensor all_gather_output, SymInt[] "
      "inp_split_sizes, SymInt all_gather_input_numel, SymInt rank) -> (Tensor, Tensor)",
      {c10::List<at::Tensor>({at::ones({2}), at::full({3}, 2.0F)}), gathered,
       std::vector<std::int64_t>{2, 3}, 5, 1});
  EXPECT_TRUE(at::equal(gathered, at::tensor({0, 0, 0, 0, 0, 1, 1, 2, 2, 2}, at::kFloat)));
  EXPECT_TRUE(at::equal(in.at(0).toTensor(), gathered.narrow(0, 5, 5)));
  EXPECT_TRUE(in.at(1).toTensor().is_same(gathered));

  const at::Tensor first = at::empty({2, 2});
  const at::Tensor second = at::empty({2, 3});
  EXPECT_TRUE(call_substitute("fsdp::split_with_sizes_copy(Tensor all_gather_output, SymInt[] "
                              "all_gather_input_split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()",
                              {gathered.view({2, 5}), std::vector<std::int64_t>{2, 3}, 1,
                               c10::List<at::Tensor>({first, second})})
                  .empty());
  EXPECT_TRUE(at::equal(first, gathered.view({2, 5}).narrow(1, 0, 2)));
  EXPECT_TRUE(at::equal(second, gathered.view({2, 5}).narrow(1, 2, 3)));

  const at::Tensor chunks = at::empty({2, 3});
  const at::Tensor one = at::arange(4, at::kFloat);
  const at::Tensor two = at::arange(2, at::kFloat) + 10;
  EXPECT_TRUE(call_substitute("fsdp::chunk_cat(Tensor[] tensors, int dim, int num_chunks, *, "
                              "Tensor(a!) out) -> ()",
                              {c10::List<at::Tensor>({one, two}), 0, 2, chunks})
                  .empty());
  EXPECT_TRUE(at::equal(chunks, at::tensor({0, 1, 10, 2, 3, 11}, at::kFloat).view({2, 3})));
}

TEST(ArgumentCheck, OfIntegersThatKernelsTrust) {
  const at::Tensor rows = at::zeros({6, 4});
  const at::Tensor bad = at::tensor({0, -9}, at::kLong);
  const auto problem = [](const char* op, const std::vector<std::string>& names,
                          const Stack& stack) { return argument_check(op, names)(stack); };
  EXPECT_EQ(problem("aten::embedding_bag.padding_idx", {"indices", "offsets"}, {bad, bad}),
            "index -9 is outside of [0, 3)");
  EXPECT_EQ(problem("aten::_pad_packed_sequence", {"data", "batch_sizes"}, {rows, bad}),
            "index -9 is outside of [0, 7)");
  EXPECT_EQ(problem("aten::_embedding_bag_per_sample_weights_backward", {"weight", "indices"},
                    {rows, bad}),
            "index -9 is outside of [0, 6)");
  const std::vector<std::string> names{"log_probs", "targets", "target_lengths"};
  const Stack padded{at::zeros({5, 1, 4}), bad.view({1, 2}), at::ones({1}, at::kLong)};
  EXPECT_EQ(problem("aten::_ctc_loss.Tensor", names, padded), std::nullopt);
  EXPECT_EQ(problem("aten::_ctc_loss", names, {padded[0], bad, c10::List<std::int64_t>({2})}),
            "label -9 is outside of [0, 4)");
}

TEST(TableReach, OfOperatorsThatReadRows) {
  const at::Tensor table = at::zeros({10, 3});
  const at::Tensor indices = at::tensor({4, 4, 9}, at::kLong);
  const auto reach = [&](const std::string& op, const std::vector<std::string>& names,
                         const Stack& stack) { return table_reach(op, names, stack); };
  const auto expect_rows = [&](const std::vector<TableReach>& found) {
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].table.is_same(table));
    EXPECT_EQ(found[0].row_elements, 3);
    EXPECT_EQ(found[0].rows, (std::vector<std::int64_t>{4, 4, 9}));
  };
  expect_rows(reach("aten::embedding", {"weight", "indices"}, {table, indices}));
  expect_rows(
      reach("aten::_embedding_bag", {"weight", "indices", "offsets"}, {table, indices, indices}));
  expect_rows(reach("aten::index_select", {"self", "dim", "index"}, {table, 0, indices}));
  expect_rows(reach("aten::index.Tensor", {"self", "indices"},
                    {table, c10::List<std::optional<at::Tensor>>({indices})}));
  EXPECT_TRUE(reach("aten::index_select", {"self", "dim", "index"}, {table, 1, indices}).empty());
  EXPECT_TRUE(reach("aten::add.Tensor", {"self", "other"}, {table, table}).empty());
  EXPECT_TRUE(reach("aten::index.Tensor", {"self", "indices"},
                    {table, c10::List<std::optional<at::Tensor>>({at::ones({10}, at::kBool)})})
                  .empty());
}

}  // namespace
}  // namespace understudy::replayer
