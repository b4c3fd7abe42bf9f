#pragma once

#include "et_schema/model/trace.h"

namespace understudy::generator {

/// Returns the rank of a trace alone: as its capture lists it, else Trace::rank, else as its name
/// or its splits tell it.
[[nodiscard]] int rank_alone(const et_schema::Trace& trace);

}  // namespace understudy::generator
