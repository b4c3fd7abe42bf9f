#pragma once

namespace understudy::replayer {

/// Milliseconds that this machine needs for a fixed piece of work: on each thread of an operator a
/// chain of integer multiplications and additions, which no cache and no memory has a part in; the
/// slowest thread's. What it differs by from one run to the next is the cores' clock. Who works on
/// the other thread of a core hardly shows: the chain waits for itself. Less than a millisecond.
[[nodiscard]] double speed_probe_ms();

}  // namespace understudy::replayer
