# What a GPU's machine shows, on stand-ins: a driver's library of our own, the CPU's clock.
add_library(understudy_fake_nvml MODULE fake_nvml.cpp)
target_link_libraries(understudy_fake_nvml PRIVATE understudy_options)
set_target_properties(understudy_fake_nvml PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

understudy_test(gpu_test ALONE
  SOURCES
    counters/gpm_test.cpp
    device/device_timing_test.cpp
    device/kernel_settings_test.cpp
    device/nvml_test.cpp
    device/placement_test.cpp
    memory/memory_limit_test.cpp
    values/values_device_test.cpp
  HEADERS understudy_torch_test_headers
  LIBS understudy::replayer
  ROOMS replayer)
target_compile_definitions(gpu_test PRIVATE UNDERSTUDY_FAKE_NVML="$<TARGET_FILE:understudy_fake_nvml>")
add_dependencies(gpu_test understudy_fake_nvml)
if(UNDERSTUDY_CUPTI_HEADERS)
  target_sources(gpu_test PRIVATE counters/cupti_metrics_test.cpp)
  target_include_directories(gpu_test SYSTEM PRIVATE "${UNDERSTUDY_CUPTI_HEADERS}")
endif()

# LibTorch's own CUDA half on a runtime that is played: linked first, by the runtime's name, so that the real one is
# never loaded.
if(UNDERSTUDY_CUDA_HEADERS AND EXISTS "${UNDERSTUDY_TORCH_LIB}/libtorch_cuda.so"
   AND EXISTS "${UNDERSTUDY_TORCH_LIB}/../../nvidia/cu13/lib/libcudart.so.13")
  add_library(understudy_played_runtime SHARED
    played_cuda/capture.cpp played_cuda/properties.cpp played_cuda/queues.cpp played_cuda/runtime.cpp)
  understudy_answer_rest(understudy_played_runtime cuda 801)  # cudaErrorNotSupported
  add_library(understudy_played_driver SHARED played_cuda/driver.cpp)
  add_library(understudy_played_blas SHARED played_cuda/blas.cpp)
  foreach(played IN ITEMS understudy_played_runtime understudy_played_driver understudy_played_blas)
    target_link_libraries(${played} PRIVATE understudy_options)
    set_target_properties(${played} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/played_cuda")
  endforeach()
  # The rest is declared as no header does.
  set_target_properties(understudy_played_runtime PROPERTIES UNITY_BUILD OFF)
  target_include_directories(understudy_played_runtime SYSTEM PRIVATE "${UNDERSTUDY_CUDA_HEADERS}")
  target_include_directories(understudy_played_runtime INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/played_cuda")
  set_target_properties(understudy_played_runtime PROPERTIES OUTPUT_NAME cudart SUFFIX .so.13 NO_SONAME ON)
  target_link_libraries(understudy_played_driver PRIVATE understudy_played_runtime understudy::et_schema_formats_cubin fmt::fmt)
  set_target_properties(understudy_played_driver PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1 NO_SONAME ON)
  target_link_options(understudy_played_driver PRIVATE -Wl,-soname,libcuda.so.1 -Wl,--exclude-libs,ALL)
  target_link_options(understudy_played_runtime PRIVATE
    -Wl,-soname,libcudart.so.13 "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/played_cuda/runtime.map"
    INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs)  # newer LibTorch names more than tests call
  understudy_test(played_gpu_test ALONE
    SOURCES device/played_gpu_test.cpp device/played_graphs_test.cpp device/played_kernels_test.cpp
    HEADERS understudy_torch_test_headers
    LIBS -Wl,--no-as-needed understudy_played_runtime understudy_played_driver understudy_played_blas
         understudy::generator understudy::replayer
    ROOMS replayer)
  target_compile_definitions(played_gpu_test PRIVATE UNDERSTUDY_FAKE_NVML="$<TARGET_FILE:understudy_fake_nvml>")
  add_dependencies(played_gpu_test understudy_fake_nvml)
  if(UNDERSTUDY_CUPTI_HEADERS)
    add_library(understudy_fake_cupti MODULE counters/fake_cupti.cpp)
    target_link_libraries(understudy_fake_cupti PRIVATE understudy_options)
    set_target_properties(understudy_fake_cupti PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    target_sources(played_gpu_test PRIVATE counters/cupti_test.cpp)
    foreach(target IN ITEMS played_gpu_test understudy_fake_cupti)
      target_include_directories(${target} SYSTEM PRIVATE "${UNDERSTUDY_CUPTI_HEADERS}")
    endforeach()
    target_compile_definitions(played_gpu_test PRIVATE
      UNDERSTUDY_FAKE_CUPTI="$<TARGET_FILE:understudy_fake_cupti>")
    add_dependencies(played_gpu_test understudy_fake_cupti)
  endif()
  find_program(UNDERSTUDY_PTXAS ptxas HINTS /usr/local/cuda/bin)
  if(UNDERSTUDY_PTXAS)
    target_compile_definitions(played_gpu_test PRIVATE UNDERSTUDY_PTXAS="${UNDERSTUDY_PTXAS}")
  endif()
else()
  understudy_disabled_test(played_gpu_test "no LibTorch for CUDA 13, or no headers of CUDA's runtime")
endif()
