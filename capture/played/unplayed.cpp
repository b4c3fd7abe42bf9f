// The functions of a library that exist and are not played. The build gives the library's NAMES,
// its LIBRARY's title and its UNPLAYED_STATUS, "not supported".
#include <cstdint>

#include "capture/played/played.h"

#pragma GCC diagnostic ignored "-Wpedantic"  // of an empty list

/// Answers without a look at its arguments. In 8 bytes: some return a pointer or a structure.
#define ANSWERS(function, answer, ...) \
  extern "C" std::int64_t function() { \
    __VA_ARGS__;                       \
    return answer;                     \
  }
#define PLAYED_REFUSE(function) played_refuse(#function "() of " UNPLAYED_LIBRARY " is not played")
/// Fails and says its name.
#define REFUSED(function) ANSWERS(function, UNPLAYED_STATUS, PLAYED_REFUSE(function))
/// The same of one that returns a pointer or a count.
#define REFUSED_WITHOUT_STATUS(function) ANSWERS(function, 0, PLAYED_REFUSE(function))
/// Only tried: who calls it can do without, so that nobody needs to hear of it.
#define TRIED(function) ANSWERS(function, UNPLAYED_STATUS, )
/// Succeeds: nothing follows of it in what is recorded.
#define ACCEPTED(function) ANSWERS(function, 0, )
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
