# What a GPU's machine shows, on stand-ins: a driver's library of our own, the CPU's clock.
add_library(understudy_fake_nvml MODULE fake_nvml.cpp)
target_link_libraries(understudy_fake_nvml PRIVATE understudy_options)
set_target_properties(understudy_fake_nvml PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")

understudy_test(gpu_test ALONE
  SOURCES
    device/device_timing_test.cpp
    device/kernel_settings_test.cpp
    device/nvml_test.cpp
    device/placement_test.cpp
    fake_device.cpp
    memory/memory_limit_test.cpp
    values/values_device_test.cpp
  LIBS understudy::replayer
  ROOMS replayer)
target_compile_definitions(gpu_test PRIVATE UNDERSTUDY_FAKE_NVML="$<TARGET_FILE:understudy_fake_nvml>")
add_dependencies(gpu_test understudy_fake_nvml)
