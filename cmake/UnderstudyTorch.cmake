# LibTorch as one imported target, understudy::torch. The wheel's own package file is not used: with a
# CUDA toolkit present it tests compilers that CMake 3.25 does not know, and without one it stops.

set(_torch_root "${UNDERSTUDY_TORCH_ROOT}")
if(NOT _torch_root)
  file(GLOB _torch_candidates "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  list(GET _torch_candidates 0 _torch_root)
endif()
if(NOT EXISTS "${_torch_root}/lib/libtorch_cpu.so")
  message(FATAL_ERROR
    "No LibTorch in '${_torch_root}'. Run scripts/setup, which installs the pinned one into .venv, or pass "
    "-DUNDERSTUDY_TORCH_ROOT=DIR, the folder of a LibTorch or torch wheel that holds lib/libtorch_cpu.so, "
    "or build without the replayer: -DUNDERSTUDY_BUILD_REPLAYER=OFF.")
endif()
message(STATUS "LibTorch: ${_torch_root}")

add_library(understudy_torch INTERFACE)
add_library(understudy::torch ALIAS understudy_torch)
target_include_directories(understudy_torch SYSTEM INTERFACE
  "${_torch_root}/include" "${_torch_root}/include/torch/csrc/api/include")
# LibTorch also exports parts of std::filesystem, built by another compiler, that crash when they meet
# the system's: the system's library comes first.
target_link_libraries(understudy_torch INTERFACE
  stdc++ "${_torch_root}/lib/libtorch.so" "${_torch_root}/lib/libtorch_cpu.so" "${_torch_root}/lib/libc10.so")
# LibTorch's include folder holds a newer fmt of its own, which shadows the system's: no library
# here has its symbols.
target_compile_definitions(understudy_torch INTERFACE FMT_HEADER_ONLY=1)
target_link_options(understudy_torch INTERFACE "-Wl,-rpath,${_torch_root}/lib")
set(UNDERSTUDY_TORCH_LIBRARY_DIR "${_torch_root}/lib")
