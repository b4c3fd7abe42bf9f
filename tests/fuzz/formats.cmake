# bench.et and the report.
add_library(understudy_format_properties STATIC bench_property.cpp report_property.cpp)
target_include_directories(understudy_format_properties PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(understudy_format_properties
  PUBLIC understudy_format_samples PRIVATE understudy_options)

understudy_test(format_property_test
  SOURCES format_property_test.cpp
  LIBS understudy_format_properties)
understudy_fuzzer(bench_fuzzer SOURCES bench_fuzzer.cpp LIBS understudy_format_properties)
understudy_fuzzer(report_fuzzer SOURCES report_fuzzer.cpp LIBS understudy_format_properties)

add_executable(format_seeds format_seeds.cpp)
target_link_libraries(format_seeds PRIVATE understudy_options understudy_format_properties)
