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

# LibTorch's own CUDA half on the played card, whose libraries come first, so that NVIDIA's are never loaded.
if(TARGET understudy_played_cuda)
  add_library(understudy_timed_card SHARED timed_card.cpp)
  target_link_libraries(understudy_timed_card PRIVATE understudy_options fmt::fmt -Wl,--no-as-needed)
  # By their files, so that their folder, where an NVML is that knows little, is not searched for what tests load.
  foreach(played IN ITEMS cuda cudart cublas cublasLt cupti)
    target_link_libraries(understudy_timed_card PRIVATE $<TARGET_FILE:understudy_played_${played}>)
  endforeach()
  target_include_directories(understudy_timed_card
    PRIVATE "${PROJECT_SOURCE_DIR}" INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_include_directories(understudy_timed_card SYSTEM PRIVATE "${UNDERSTUDY_PLAYED_HEADERS}" "${UNDERSTUDY_CUDA_HEADERS}")
  set_target_properties(understudy_timed_card PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  understudy_test(played_gpu_test ALONE
    SOURCES device/played_gpu_test.cpp device/played_graphs_test.cpp device/played_kernels_test.cpp
    HEADERS understudy_torch_test_headers
    LIBS understudy_timed_card understudy::generator understudy::replayer
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
  understudy_disabled_test(played_gpu_test "no played card")
endif()
