# Traces, profiles, the files they come in, and the small types below them.
find_package(LibArchive REQUIRED)

understudy_test(readers_test
  SOURCES
    formats/capture/capture_origin_test.cpp
    formats/capture/capture_test.cpp
    formats/capture/index_uses_test.cpp
    formats/counted_kernels/counted_kernels_test.cpp
    formats/json_trace/json_pull_test.cpp
    formats/kineto/device_timeline_test.cpp
    formats/kineto/kineto_test.cpp
    formats/kineto/profile_files_test.cpp
    formats/pytorch_et/comm_calls_test.cpp
    formats/pytorch_et/trace_damage_test.cpp
    formats/pytorch_et/trace_files_test.cpp
    formats/pytorch_et/trace_ranks_test.cpp
    formats/pytorch_et/trace_reader_test.cpp
    formats/pytorch_et/trace_refusal_test.cpp
    formats/pytorch_et/trace_samples_test.cpp
    formats/pytorch_et/trace_tree_test.cpp
    formats/pytorch_et/trace_values_test.cpp
    model/allocation_test.cpp
    model/default_dtype_test.cpp
    model/dtype_test.cpp
    model/losses_test.cpp
    model/op_class_test.cpp
    model/operator_facts_test.cpp
    model/operator_map_test.cpp
    model/operator_trust_test.cpp
    model/public_operators_test.cpp
    reader_texts.cpp
    base/control_characters_test.cpp
    base/csv_test.cpp
    base/digest_test.cpp
    base/error_test.cpp
    base/input_limit_test.cpp
    base/json_scan_test.cpp
    base/machine_memory_test.cpp
    base/regular_expression_test.cpp
  LIBS understudy::et_schema understudy_format_samples nlohmann_json::nlohmann_json LibArchive::LibArchive
  ROOMS et_schema)
target_compile_definitions(readers_test PRIVATE
  UNDERSTUDY_RECORDED_ARGUMENTS="${PROJECT_SOURCE_DIR}/capture/understudy/recorded_arguments.py"
  UNDERSTUDY_CASES="${PROJECT_SOURCE_DIR}/tests/cases"
  UNDERSTUDY_DOCS="${PROJECT_SOURCE_DIR}/docs"
  UNDERSTUDY_CAPTURES="${PROJECT_SOURCE_DIR}/tests/captures")
