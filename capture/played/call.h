#pragma once

/// Defines a function of a library that is played by one expression: `Result name(parameters)`.
#define PLAYED_CALL(Result, name, parameters, ...) \
  extern "C" Result name parameters {              \
    return __VA_ARGS__;                            \
  }
