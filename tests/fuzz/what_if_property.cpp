#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/bench/bench.h"
#include "generator/resize/batch.h"
#include "predictor/what_if/what_if.h"
#include "properties.h"

namespace understudy::fuzz {
namespace {

using et_schema::Argument;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;

constexpr std::array kNames = std::to_array<const char*>({"aten::add.Tensor",
                                                          "aten::mm",
                                                          "aten::bmm",
                                                          "aten::addmm",
                                                          "aten::linear",
                                                          "aten::matmul",
                                                          "aten::t",
                                                          "aten::transpose.int",
                                                          "aten::permute",
                                                          "aten::view",
                                                          "aten::expand",
                                                          "aten::cat",
                                                          "aten::stack",
                                                          "aten::slice.Tensor",
                                                          "aten::split.Tensor",
                                                          "aten::select.int",
                                                          "aten::sum.dim_IntList",
                                                          "aten::mean",
                                                          "aten::embedding",
                                                          "aten::index.Tensor",
                                                          "aten::convolution",
                                                          "aten::convolution_backward",
                                                          "aten::native_layer_norm_backward",
                                                          "aten::mse_loss",
                                                          "aten::new_zeros",
                                                          "aten::empty",
                                                          "aten::fft_rfft",
                                                          "as_strided",
                                                          "aten::_embedding_bag",
                                                          "aten::nll_loss_backward"});
constexpr std::array<std::int64_t, 8> kSizes = {64, 8, 64, 3, 1, 128, 0, 512};
constexpr generator::BatchSize kBatch{64, 96};

/// The input's bytes one after the other; 0 behind them.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  [[nodiscard]] bool empty() const { return at_ >= text_.size(); }
  std::size_t below(std::size_t limit) {
    return empty() ? 0 : static_cast<unsigned char>(text_[at_++]) % limit;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

SlotId add_slot(Bytes& bytes, Program& program, bool external) {
  constexpr std::size_t kMostDims = 5;
  Slot slot;
  std::int64_t elements = 1;
  slot.sizes.resize(bytes.below(kMostDims));
  slot.strides.resize(slot.sizes.size());
  for (std::size_t d = slot.sizes.size(); d-- > 0;) {
    slot.sizes[d] = kSizes[bytes.below(kSizes.size())];
    slot.strides[d] = elements;
    elements *= std::max<std::int64_t>(slot.sizes[d], 1);
  }
  slot.dtype = et_schema::DType::kFloat32;
  slot.external = external;
  slot.storage = static_cast<et_schema::StorageId>(program.storages.size());
  program.storages.push_back({.device = et_schema::parse_device("cpu"), .bytes = 4 * elements});
  program.slots.push_back(std::move(slot));
  return static_cast<SlotId>(program.slots.size() - 1);
}

Argument argument(Bytes& bytes, const Program& program) {
  constexpr std::size_t kKinds = 6;
  const auto slot = [&] {
    return Argument{Argument::SlotRef{static_cast<SlotId>(bytes.below(program.slots.size()))}};
  };
  switch (bytes.below(kKinds)) {
    case 0:
      return {static_cast<std::int64_t>(bytes.below(kSizes.size())) - 3};
    case 1:
      return {Argument::List{slot(), {Argument::None{}}, slot()}};
    case 2:
      return {Argument::List{{std::int64_t{0}}, {std::int64_t{-1}}, {std::int64_t{1}}}};
    default:
      return slot();
  }
}

Program program_of(std::string_view text) {
  constexpr std::size_t kMostCalls = 12;
  Bytes bytes(text);
  Program program;
  for (std::size_t i = 0; i < 3; ++i) {
    add_slot(bytes, program, true);
  }
  while (!bytes.empty() && program.instructions.size() < kMostCalls) {
    Instruction call;
    call.node_id = program.instructions.size() + 1;
    call.name = kNames[bytes.below(kNames.size())];
    call.kind = call.name == "as_strided" ? InstructionKind::kAlias : InstructionKind::kOp;
    for (std::size_t i = bytes.below(5); i > 0; --i) {
      call.args.push_back(argument(bytes, program));
    }
    for (std::size_t i = bytes.below(4); i > 0; --i) {
      call.results.push_back({Argument::Undefined{}});
      if (bytes.below(4) > 0) {
        call.results.back() = {Argument::SlotRef{add_slot(bytes, program, false)}};
      }
    }
    if (call.kind == InstructionKind::kAlias && (call.args.empty() || call.results.empty())) {
      continue;
    }
    if (call.kind == InstructionKind::kOp) {
      call.schema = static_cast<et_schema::SchemaId>(program.schemas.size());
      program.schemas.push_back(
          call.name +
          "(Tensor self, SymInt[] size, SymInt dim, SymInt end, SymInt[] stride) -> Tensor");
    }
    program.instructions.push_back(std::move(call));
  }
  // A part of the data that only has values.
  Slot part = program.slots[bytes.below(3)];
  part.sizes = {static_cast<std::int64_t>(program.storages[part.storage].bytes / 4)};
  part.strides = {1};
  part.value.emplace().kind = et_schema::ValueRule::Mask{.count = 2};
  program.slots.push_back(std::move(part));
  return program;
}

/// What can be written with its own batch size can be with another.
void check_bench(const Program& program) {
  et_schema::Bench bench;
  bench.tool_version = "0";
  bench.sources.resize(1);
  bench.groups.emplace_back().name = "world";
  bench.programs = {program};
  try {
    static_cast<void>(et_schema::bench_bytes(bench));
  } catch (const et_schema::Error&) {
    return;
  }
  const generator::BatchedBench batched = generator::bench_with_batch_size(bench, kBatch);
  static_cast<void>(et_schema::read_bench_bytes(et_schema::bench_bytes(batched.bench), "b.et"));
}

void check_scaled(const Program& program, const generator::ScaledBatch& scaled) {
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& before = program.slots[i];
    const Slot& after = scaled.program.slots[i];
    UNDERSTUDY_ASSERT(before.sizes.size() == after.sizes.size());
    std::int64_t last = 0;
    bool is_empty = false;
    for (std::size_t d = 0; d < before.sizes.size(); ++d) {
      const bool is_kept = after.sizes[d] == before.sizes[d];
      UNDERSTUDY_ASSERT(is_kept || after.sizes[d] * kBatch.from == before.sizes[d] * kBatch.to);
      is_empty = is_empty || after.sizes[d] == 0;
      last += (after.sizes[d] - 1) * after.strides[d];
    }
    UNDERSTUDY_ASSERT(is_empty || 4 * (last + 1) <= scaled.program.storages[after.storage].bytes);
  }
}

}  // namespace

void check_what_if(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const char kind = input.front();
  input.remove_prefix(1);
  try {
    if (kind == 'q') {
      const predictor::WhatIf question = predictor::parse_what_if(input);
      UNDERSTUDY_ASSERT(input.find(question.text) != std::string_view::npos);
      UNDERSTUDY_ASSERT(std::isfinite(question.factor) && question.factor >= 0);
    } else if (kind == 'b') {
      const generator::BatchSize batch = generator::parse_batch_size(input);
      UNDERSTUDY_ASSERT(batch.from >= 2 && batch.to >= 1);
    } else {
      const Program program = program_of(input);
      check_scaled(program, generator::with_batch_size(program, kBatch, 0));
      check_bench(program);
    }
  } catch (const et_schema::Error& error) {
    UNDERSTUDY_ASSERT(error.kind() == et_schema::ErrorKind::kBadInput ||
                      error.kind() == et_schema::ErrorKind::kUsage);
  }
}

}  // namespace understudy::fuzz
