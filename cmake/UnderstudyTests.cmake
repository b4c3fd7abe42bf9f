# Tests and the programs around them.

find_package(GTest REQUIRED)
include(GoogleTest)

# understudy_test(NAME SOURCES c… [LIBS target…] [INCLUDES dir…])
# A GoogleTest program; each test in it becomes a test of CTest, prefixed by NAME. The samples' folder
# and the programs' folder are there as UNDERSTUDY_SAMPLES and UNDERSTUDY_BIN.
function(understudy_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS;INCLUDES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE understudy_options ${arg_LIBS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/include" ${arg_INCLUDES})
  target_compile_definitions(${name} PRIVATE
    UNDERSTUDY_SAMPLES="${PROJECT_SOURCE_DIR}/fleet_samples"
    UNDERSTUDY_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
