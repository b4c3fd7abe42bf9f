// The functions of a library that exist and are not played. The build gives the library's NAMES,
// its LIBRARY's title and its UNPLAYED_STATUS, "not supported".
#include <cstdint>

#include "capture/played/played.h"

#pragma GCC diagnostic ignored "-Wpedantic"  // of an empty list

/// Fails and says its name. A result of 8 bytes: some return a pointer or a structure.
#define REFUSED(function)                                                \
  extern "C" std::int64_t function() {                                   \
    played_refuse(#function "() of " UNPLAYED_LIBRARY " is not played"); \
    return UNPLAYED_STATUS;                                              \
  }
/// The same of one that returns a pointer or a count.
#define REFUSED_WITHOUT_STATUS(function)                                 \
  extern "C" std::int64_t function() {                                   \
    played_refuse(#function "() of " UNPLAYED_LIBRARY " is not played"); \
    return 0;                                                            \
  }
/// Only tried: who calls it can do without, so that nobody needs to hear of it.
#define TRIED(function)                \
  extern "C" std::int64_t function() { \
    return UNPLAYED_STATUS;            \
  }
/// Succeeds: nothing follows of it in what is recorded.
#define ACCEPTED(function)             \
  extern "C" std::int64_t function() { \
    return 0;                          \
  }
/// What an error means; the only one is that of what is not played.
#define ERROR_TEXT(function)          \
  extern "C" const char* function() { \
    return "not played";              \
  }
/// A number that is exported beside functions.
#define NUMBER(name) \
  extern "C" {       \
  int name = 0;      \
  }
#include UNPLAYED_NAMES
