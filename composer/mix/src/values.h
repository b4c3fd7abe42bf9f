#pragma once

#include "et_schema/model/program.h"

namespace understudy::composer {

/// Finds rules for tensors that are made before the step here though an instruction made them in
/// their origin. What had a rule keeps it.
void make_values(et_schema::Program& program);

}  // namespace understudy::composer
