# What predictions are made from: rows, tables, overheads, sections of a platform.
add_library(understudy_predictor_properties STATIC predictor_property.cpp json_mutation.cpp)
target_include_directories(understudy_predictor_properties PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(understudy_predictor_properties
  PUBLIC understudy::predictor_collectives understudy::predictor_embedding understudy::predictor_overheads
  PRIVATE understudy_options understudy::et_schema fmt::fmt)

understudy_test(predictor_property_test
  SOURCES predictor_property_test.cpp
  LIBS understudy_predictor_properties)
understudy_fuzzer(predictor_fuzzer SOURCES predictor_fuzzer.cpp LIBS understudy_predictor_properties)

# Questions, and programs with another batch size.
add_library(understudy_what_if_property STATIC what_if_property.cpp)
target_include_directories(understudy_what_if_property PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(understudy_what_if_property
  PUBLIC understudy::generator_resize understudy::predictor_what_if PRIVATE understudy_options understudy::et_schema_support)
understudy_test(what_if_property_test SOURCES what_if_property_test.cpp LIBS understudy_what_if_property)
understudy_fuzzer(what_if_fuzzer SOURCES what_if_fuzzer.cpp LIBS understudy_what_if_property)
