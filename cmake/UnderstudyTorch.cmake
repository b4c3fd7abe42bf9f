# LibTorch as one imported target, understudy::torch. The wheel's own package file is not used: with a
# CUDA toolkit present it tests compilers that CMake 3.25 does not know, and without one it stops.

set(_torch_root "${UNDERSTUDY_TORCH_ROOT}")
if(NOT _torch_root)
  cmake_path(SET _of_pip NORMALIZE "${Python3_EXECUTABLE}/../..")  # set where pip builds
  file(GLOB _torch_candidates "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch"
    "${_of_pip}/lib/python3*/site-packages/torch")
  list(GET _torch_candidates 0 _torch_root)
endif()
if(NOT EXISTS "${_torch_root}/lib/libtorch_cpu.so")
  message(FATAL_ERROR
    "No LibTorch in '${_torch_root}'. Run scripts/setup, which installs the pinned one into .venv, or pass "
    "-DUNDERSTUDY_TORCH_ROOT=DIR, the folder of a LibTorch or torch wheel that holds lib/libtorch_cpu.so, "
    "or build without the replayer: -DUNDERSTUDY_BUILD_REPLAYER=OFF.")
endif()
message(STATUS "LibTorch: ${_torch_root}")
set(UNDERSTUDY_TORCH_LIB "${_torch_root}/lib" CACHE INTERNAL "Folder of LibTorch's libraries")

add_library(understudy_torch INTERFACE)
add_library(understudy::torch ALIAS understudy_torch)
# No path of it in what is built. g++ names system headers by their real path where a link leads to them and that is shorter.
file(REAL_PATH "${_torch_root}" _real)
foreach(_path IN LISTS UNDERSTUDY_TORCH_ROOT _real)
  if(NOT _path MATCHES "^${PROJECT_SOURCE_DIR}/")
    target_compile_options(understudy_torch INTERFACE "-ffile-prefix-map=${_path}=torch")
  endif()
endforeach()
target_include_directories(understudy_torch SYSTEM INTERFACE
  "${_torch_root}/include" "${_torch_root}/include/torch/csrc/api/include")
# LibTorch also exports parts of std::filesystem, built by another compiler, that crash when they meet
# the system's: the system's library comes first.
target_link_libraries(understudy_torch INTERFACE
  stdc++ "${_torch_root}/lib/libtorch_cpu.so" "${_torch_root}/lib/libc10.so")
# LibTorch's include folder holds a newer fmt of its own, which shadows the system's: no library
# here has its symbols.
target_compile_definitions(understudy_torch INTERFACE FMT_HEADER_ONLY=1)
# What is built finds it by CMake's own run path, which installing takes away.

# "2.11.0+cpu" is of 2.11. What links LibTorch is installed in a folder of that name, from which bin/replay chooses.
if(EXISTS "${_torch_root}/version.py")
  file(STRINGS "${_torch_root}/version.py" _torch_version REGEX "^__version__")
else()
  file(STRINGS "${_torch_root}/build-version" _torch_version)
endif()
string(REGEX MATCH "[0-9]+[.][0-9]+" UNDERSTUDY_TORCH_VERSION "${_torch_version}")
set(UNDERSTUDY_TORCH_DIR "libexec/torch-${UNDERSTUDY_TORCH_VERSION}")
