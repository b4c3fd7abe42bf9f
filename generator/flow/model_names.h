#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

// Names of the model that most sources of this library use.
using et_schema::Argument;
using et_schema::CommKind;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::kNoNode;
using et_schema::Loss;
using et_schema::Node;
using et_schema::NodeIndex;
using et_schema::Program;
using et_schema::Reuse;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::Tensor;
using et_schema::Trace;
using et_schema::Value;
using et_schema::ValueKind;
using et_schema::ValueRule;

}  // namespace understudy::generator
