// The replay's yardstick as a library of one C function, so that a Python program's steps are held
// to the same piece of work. Python loads it with ctypes, after torch.

#include "yardstick.h"

extern "C" {

double understudy_yardstick_ms() {
  return understudy::replayer::yardstick_ms();
}
}
