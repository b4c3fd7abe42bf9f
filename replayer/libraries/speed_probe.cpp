// The replay's speed probe as a library of one C function, so that a Python program's steps are
// compared by the same piece of work. Python must load it with ctypes, after torch.

#include "replayer/measure/speed_probe.h"

extern "C" {

double understudy_speed_probe_ms() {
  return understudy::replayer::speed_probe_ms();
}
}
