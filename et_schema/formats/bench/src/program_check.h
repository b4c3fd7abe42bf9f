#pragma once

#include <cstddef>
#include <string>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Origin of a program, for error messages.
struct ProgramOrigin {
  std::string file;
  int rank = 0;
  std::string hint;
};

/// Checks the assumptions of a replayer: slots, storages, schemas and groups exist; sizes, strides
/// and offsets are not negative, do not overflow and lie within their storage; splits and value
/// rules can be satisfied; communication exists if the kind requires it. Throws Error (bad input)
/// with rank, node and field.
void check_program(const Program& program, std::size_t groups, const ProgramOrigin& origin);

}  // namespace understudy::et_schema
