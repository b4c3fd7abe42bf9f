# What predictions are made from: rows, tables, overheads, sections of a platform.
add_library(understudy_predictor_properties STATIC predictor_property.cpp json_mutation.cpp)
target_include_directories(understudy_predictor_properties PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(understudy_predictor_properties
  PUBLIC understudy::predictor_collectives understudy::predictor_embedding understudy::predictor_overheads
         understudy::predictor_sharding
  PRIVATE understudy_options understudy::et_schema)

understudy_test(predictor_property_test
  SOURCES predictor_property_test.cpp
  LIBS understudy_predictor_properties)
understudy_fuzzer(predictor_fuzzer SOURCES predictor_fuzzer.cpp LIBS understudy_predictor_properties)
