#pragma once

#include "et_schema/model/program.h"

namespace understudy::replayer {

// Names of the model that most sources of this library use.
using et_schema::Argument;
using et_schema::DType;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;
using et_schema::Slot;
using et_schema::SlotId;
using et_schema::StorageId;
using et_schema::ValueRule;

}  // namespace understudy::replayer
