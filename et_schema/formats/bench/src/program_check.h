#pragma once

#include <cstddef>
#include <string>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// Where a program is from, for the message.
struct ProgramOrigin {
  std::string file;
  int rank = 0;
  std::string hint;
};

/// Checks what a replayer relies on: slots, storages, schemas and groups that exist; sizes, strides
/// and offsets that are not negative, do not overflow and lie within their storage; splits and
/// value rules that can be met; communication where the kind asks for it. Throws Error (bad input)
/// with rank, node and field.
void check_program(const Program& program, std::size_t groups, const ProgramOrigin& origin);

}  // namespace understudy::et_schema
