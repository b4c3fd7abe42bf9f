# bench.et and the report. Samples of both are shared with the fuzzers.
add_library(understudy_format_samples STATIC bench_samples.cpp report_samples.cpp)
target_include_directories(understudy_format_samples PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
understudy_see_inside(understudy_format_samples PUBLIC et_schema)
target_link_libraries(understudy_format_samples
  PUBLIC understudy::et_schema GTest::gtest PRIVATE understudy_options)

find_package(nlohmann_json REQUIRED)
understudy_test(formats_test
  SOURCES
    bench_refusals.cpp
    formats/bench/bench_profile_test.cpp
    formats/bench/bench_refusal_test.cpp
    formats/bench/bench_test.cpp
    formats/bench/benchmark_hash_test.cpp
    formats/bench/formats_doc_test.cpp
    formats/bench/kernels_test.cpp
    formats/bench/program_refusal_test.cpp
    formats/operator_times/operator_times_test.cpp
    formats/report/report_test.cpp
    model/counter_comparison_test.cpp
    model/measurement_test.cpp
    model/report_verdict_test.cpp
    base/figures_test.cpp
    base/output_file_test.cpp
    base/output_kill_test.cpp
    base/statistics_test.cpp
  LIBS understudy_format_samples nlohmann_json::nlohmann_json
  SHARDS KilledWriter=2)
target_compile_definitions(formats_test PRIVATE
  UNDERSTUDY_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/unit/data"
  UNDERSTUDY_DOCS="${PROJECT_SOURCE_DIR}/docs")
