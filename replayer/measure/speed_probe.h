#pragma once

namespace understudy::replayer {

/// Returns the milliseconds of a fixed piece of work: each operator thread runs a chain of integer
/// multiplications and additions, which uses neither cache nor memory. The slowest thread's time
/// counts. Differences between runs show the cores' clock. Load on a core's other hardware thread
/// hardly matters, since the chain is latency-bound. Takes less than a millisecond.
[[nodiscard]] double speed_probe_ms();

}  // namespace understudy::replayer
