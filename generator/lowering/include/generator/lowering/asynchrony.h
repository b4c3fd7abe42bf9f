#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/link/link.h"

namespace understudy::generator {

/// Makes communications asynchronous that their trace calls synchronous, though only a stream of
/// their own waited for them: those of a device whose kernel ran on another stream than operators'
/// and, where no profile tells the stream, those below a label of sharded data parallel. One with a
/// wait of its own right behind stays as it is, since PyTorch before 2.8 had a stream for every
/// call. Adds a wait (Instruction::kWait) where the profile shows that the operators' stream, or
/// the host, waited for the communication's event. `link` may be null. Comes before anything that
/// counts instructions.
void set_asynchrony(const et_schema::Trace& trace, const Link* link, et_schema::Program& program);

}  // namespace understudy::generator
