#pragma once

/// A function of C that gives one answer, whatever it is called with: nobody looks at its
/// arguments, and by C's way of calling they need not be named.
#define ANSWERS(name, status) \
  extern "C" int name() {     \
    return status;            \
  }
