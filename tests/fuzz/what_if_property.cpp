#include <cmath>
#include <string>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/model/slot_extent.h"
#include "generator/resize/batch.h"
#include "predictor/what_if/what_if.h"
#include "properties.h"

namespace understudy::fuzz {
namespace {

const generator::BatchSize kBatch{64, 96};

/// A call whose tensors and numbers an answer may change.
et_schema::Program small_program() {
  et_schema::Program program;
  for (et_schema::SlotId id = 0; id < 2; ++id) {
    et_schema::Slot& slot = program.slots.emplace_back();
    slot.sizes = {64, 8};
    slot.strides = {8, 1};
    slot.dtype = et_schema::DType::kFloat32;
    slot.storage = id;
    program.storages.push_back({.device = et_schema::parse_device("cpu"), .bytes = 4 * 64 * 8});
  }
  et_schema::Instruction& call = program.instructions.emplace_back();
  call.name = "aten::view";
  call.args = {{et_schema::Argument::SlotRef{0}},
               {et_schema::Argument::List{{std::int64_t{64}}, {std::int64_t{8}}}}};
  call.results = {{et_schema::Argument::SlotRef{1}}};
  return program;
}

/// Storages hold what an answer says, whatever that is.
void check_answer(std::string_view text) {
  const auto ask = [text](const et_schema::Program&, const generator::BatchSize&) {
    return et_schema::other_sizes_from_text(et_schema::call_results_header() + std::string(text),
                                            "answer");
  };
  const et_schema::Program scaled =
      generator::with_batch_size(small_program(), kBatch, 0, ask).program;
  for (const et_schema::Slot& slot : scaled.slots) {
    UNDERSTUDY_ASSERT(et_schema::extent_bytes(slot) <= scaled.storages[slot.storage].bytes);
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
      check_answer(input);
    }
  } catch (const et_schema::Error& error) {
    UNDERSTUDY_ASSERT(error.kind() == et_schema::ErrorKind::kBadInput ||
                      error.kind() == et_schema::ErrorKind::kUsage);
  }
}

}  // namespace understudy::fuzz
