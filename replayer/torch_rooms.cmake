find_package(OpenMP REQUIRED COMPONENTS CXX)

# LibTorch's headers take most of the time of a build; they are read once, for all rooms.
file(CONFIGURE OUTPUT torch_headers.cpp CONTENT "")
add_library(understudy_torch_headers STATIC "${CMAKE_CURRENT_BINARY_DIR}/torch_headers.cpp")
target_link_libraries(understudy_torch_headers PRIVATE
  understudy_options understudy::et_schema_base understudy::torch fmt::fmt)
target_precompile_headers(understudy_torch_headers PRIVATE
  <ATen/Tensor.h> <ATen/core/dispatch/Dispatcher.h> <ATen/core/ivalue.h> <ATen/core/List.h>
  <fmt/format.h> <fmt/ranges.h> <functional> <map> <optional> <string> <unordered_map> <vector>)
# With it ccache sees what a precompiled header holds, and can answer for the units that use it.
target_compile_options(understudy_torch_headers PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)

# understudy_use_torch_headers(ROOM)
function(understudy_use_torch_headers room)
  target_link_libraries(understudy_${room} PRIVATE understudy::et_schema_base understudy::torch fmt::fmt)
  target_precompile_headers(understudy_${room} REUSE_FROM understudy_torch_headers)
  target_compile_options(understudy_${room} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# understudy_torch_room(ROOM [PUBLIC target…] [PRIVATE target…])
function(understudy_torch_room room)
  understudy_room(${room} ${ARGN})
  understudy_use_torch_headers(replayer_${room})
endfunction()

# From the bottom to the top: a room links only rooms above it.

# What a user can ask of a replay, and whom it tells how far it is.
understudy_torch_room(options PUBLIC understudy::et_schema_model)

# Operators, arguments and layouts as LibTorch's dispatcher takes them.
understudy_torch_room(dispatch
  PUBLIC understudy::et_schema_model understudy::torch
  PRIVATE $<BUILD_INTERFACE:${CMAKE_DL_LIBS}>)

# Devices: their clocks, memory and health; where tensors go.
understudy_torch_room(device
  PUBLIC understudy::et_schema_model understudy::replayer_options understudy::torch
  PRIVATE understudy::replayer_cuda $<BUILD_INTERFACE:${CMAKE_DL_LIBS}>)

# Counters of processors and devices, by source.
understudy_torch_room(counters
  PUBLIC understudy::et_schema_model understudy::torch
  PRIVATE understudy::replayer_cuda understudy::replayer_device $<BUILD_INTERFACE:${CMAKE_DL_LIBS}>)
# CUPTI's headers describe its structures; the library of their major version is loaded at run time. Wheels of CUDA 12 have cuda_cupti.
find_path(UNDERSTUDY_CUPTI_HEADERS cupti_range_profiler.h HINTS "${_torch_root}/../nvidia" /usr/local/cuda
  PATH_SUFFIXES cu13/include cuda_cupti/include include extras/CUPTI/include)
file(GLOB _cupti_sources "${CMAKE_CURRENT_SOURCE_DIR}/counters/src/cupti*.cpp")
if(UNDERSTUDY_CUPTI_HEADERS)
  target_include_directories(understudy_replayer_counters SYSTEM PRIVATE "${UNDERSTUDY_CUPTI_HEADERS}")
  target_compile_definitions(understudy_replayer_counters PRIVATE UNDERSTUDY_CUPTI)
else()
  set_source_files_properties(${_cupti_sources} PROPERTIES HEADER_FILE_ONLY ON)
endif()

# Memory of tensors, counted and limited; page faults as in the original.
understudy_torch_room(memory
  PUBLIC understudy::et_schema_model understudy::et_schema_base understudy::torch
  PRIVATE understudy::replayer_device understudy::replayer_dispatch)

# Contents of tensors by rule, and scans for what went wrong with them.
understudy_torch_room(values
  PUBLIC understudy::et_schema_model understudy::torch
  PRIVATE understudy::replayer_dispatch)
# The same bytes everywhere: no fused multiply-add in the arithmetic of values. Loops over elements become vector code
# at this level only.
set_source_files_properties(
  "${CMAKE_CURRENT_SOURCE_DIR}/values/src/values_scan.cpp"
  "${CMAKE_CURRENT_SOURCE_DIR}/values/src/values_store.cpp" PROPERTIES
  COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>;-ffp-contract=off"
  SKIP_PRECOMPILE_HEADERS ON)

# What runs in place of operators that a target lacks.
understudy_torch_room(substitutes
  PUBLIC understudy::et_schema_model understudy::torch
  PRIVATE $<BUILD_INTERFACE:${OpenMP_CXX_LIB_NAMES}>
    understudy::replayer_device understudy::replayer_dispatch understudy::replayer_memory understudy::replayer_values)

# Its table is a file in the form of an operator map.
understudy_embed(understudy_replayer_substitutes substitutes/src/stand_ins)

# Each source is a family of operators, with names of its own that others may have, too.
set_target_properties(understudy_replayer_substitutes PROPERTIES UNITY_BUILD OFF)

# Where atomics are calls (g++ 12 for Arm), LibTorch's counts of references seem to overflow.
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/substitutes/src/mapped.cpp" PROPERTIES
  COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)

# A program and a device: what each instruction will call, and with which tensors.
understudy_torch_room(bind
  PUBLIC understudy::replayer_backends_interface understudy::et_schema_model understudy::replayer_dispatch understudy::replayer_options
    understudy::replayer_substitutes understudy::replayer_values understudy::torch
  PRIVATE understudy::replayer_device understudy::replayer_memory)

# The checked first iteration and the loop.
understudy_torch_room(run
  PUBLIC understudy::replayer_backends_interface understudy::et_schema_model understudy::et_schema_base understudy::replayer_bind
    understudy::replayer_options understudy::torch
  PRIVATE understudy::replayer_device understudy::replayer_dispatch understudy::replayer_memory
    understudy::replayer_substitutes)
# Iterations, timing passes, counters.
understudy_torch_room(measure
  PUBLIC understudy::replayer_backends_interface understudy::et_schema_model understudy::et_schema_formats_operator_times
    understudy::replayer_bind understudy::replayer_counters understudy::replayer_memory understudy::replayer_options
    understudy::replayer_run understudy::torch
  PRIVATE $<BUILD_INTERFACE:${OpenMP_CXX_LIB_NAMES}> understudy::replayer_cuda understudy::replayer_device understudy::replayer_values)

# Stubs and the speed probe have to run on the threads that operators run on: LibTorch's, which are OpenMP's. The
# library is the one that LibTorch brings, by its name.
set_source_files_properties(
  "${CMAKE_CURRENT_SOURCE_DIR}/substitutes/src/stub.cpp"
  "${CMAKE_CURRENT_SOURCE_DIR}/measure/src/speed_probe.cpp" PROPERTIES
  COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}" SKIP_PRECOMPILE_HEADERS ON)

# One rank's replay from benchmark to report.
understudy_torch_room(job
  PUBLIC understudy::replayer_backends_interface understudy::et_schema_formats_bench understudy::et_schema_model
    understudy::et_schema_formats_operator_times understudy::replayer_options understudy::torch
  PRIVATE understudy::replayer_bind understudy::replayer_device understudy::replayer_measure understudy::replayer_memory understudy::replayer_run)

add_subdirectory(libraries)
