# Traces, profiles, the files they come in, and the small types below them.
find_package(LibArchive REQUIRED)

understudy_test(readers_test
  SOURCES
    capture_origin_test.cpp
    capture_test.cpp
    comms_test.cpp
    dtype_test.cpp
    error_test.cpp
    index_uses_test.cpp
    input_limit_test.cpp
    json_scan_test.cpp
    kineto_test.cpp
    losses_test.cpp
    machine_memory_test.cpp
    op_class_test.cpp
    profile_files_test.cpp
    reader_texts.cpp
    trace_damage_test.cpp
    trace_files_test.cpp
    trace_ranks_test.cpp
    trace_reader_test.cpp
    trace_refusal_test.cpp
    trace_samples_test.cpp
    trace_tree_test.cpp
    trace_values_test.cpp
  LIBS understudy::et_schema understudy_format_samples nlohmann_json::nlohmann_json LibArchive::LibArchive
  INCLUDES "${PROJECT_SOURCE_DIR}/et_schema/src")
target_compile_definitions(readers_test PRIVATE
  UNDERSTUDY_CAPTURES="${PROJECT_SOURCE_DIR}/tests/captures")
