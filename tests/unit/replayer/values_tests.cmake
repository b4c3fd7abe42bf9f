# Tests of tensor contents, substitutes and op libraries.
understudy_test(replayer_values_test ALONE
  SOURCES
    values/values_reuse_test.cpp
    values/values_sparse_test.cpp
    values/values_test.cpp
  HEADERS understudy_torch_test_headers
  LIBS understudy::replayer)
target_compile_definitions(replayer_values_test PRIVATE
  UNDERSTUDY_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/unit/data")

understudy_test(replayer_substitutes_test ALONE
  SOURCES
    substitute_call.cpp
    substitutes/mapped_test.cpp
    substitutes/substitute_attention_test.cpp
    substitutes/substitute_convolution_test.cpp
    substitutes/substitute_cudnn_rnn_test.cpp
    substitutes/substitute_jagged_test.cpp
    substitutes/substitute_lookup_test.cpp
    substitutes/substitute_normalization_test.cpp
    substitutes/substitute_other_test.cpp
    substitutes/substitute_recurrent_test.cpp
  HEADERS understudy_torch_test_headers
  LIBS understudy::replayer)

add_library(understudy_test_twice MODULE op_library_twice.cpp)
target_link_libraries(understudy_test_twice PRIVATE understudy_options understudy::torch)
add_library(understudy_test_undefined MODULE op_library_undefined.cpp)
target_link_libraries(understudy_test_undefined PRIVATE understudy_options)
set_target_properties(understudy_test_twice understudy_test_undefined PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
understudy_test(replayer_op_library_test
  SOURCES dispatch/op_library_test.cpp
  HEADERS understudy_torch_test_headers
  LIBS understudy::replayer)
add_dependencies(replayer_op_library_test understudy_test_twice understudy_test_undefined)
target_compile_definitions(replayer_op_library_test PRIVATE
  UNDERSTUDY_TEST_OP_LIBRARY="$<TARGET_FILE:understudy_test_twice>"
  UNDERSTUDY_TEST_UNDEFINED_LIBRARY="$<TARGET_FILE:understudy_test_undefined>")

# fbgemm_gpu lies beside torch where it is installed; without it the tests that need it are skipped.
get_filename_component(_site_packages "${UNDERSTUDY_TORCH_LIB}/../.." ABSOLUTE)
foreach(test replayer_substitutes_test replayer_op_library_test)
  target_compile_definitions(${test} PRIVATE UNDERSTUDY_FBGEMM_DIR="${_site_packages}/fbgemm_gpu")
endforeach()
