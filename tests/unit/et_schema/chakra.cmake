# Chakra traces: messages, and the traces that they hold.
add_library(understudy_chakra_texts STATIC chakra_texts.cpp)
target_include_directories(understudy_chakra_texts PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(understudy_chakra_texts PRIVATE understudy_options)

understudy_test(chakra_test
  SOURCES
    formats/chakra/chakra_refusal_test.cpp
    formats/chakra/chakra_test.cpp
    formats/chakra/chakra_trace_test.cpp
    formats/chakra/python_text_test.cpp
    reader_texts.cpp
  LIBS understudy::et_schema understudy_chakra_texts LibArchive::LibArchive
  ROOMS et_schema)
target_compile_definitions(chakra_test PRIVATE
  UNDERSTUDY_CHAKRA_DATA="${CMAKE_CURRENT_SOURCE_DIR}/formats/chakra/data")
