# Tests and the programs around them.

find_package(GTest REQUIRED)

# Programs that do nothing else, with both cores taken by neighbours, need a tenth of it.
set(UNDERSTUDY_TEST_TIMEOUT_S 600)

# understudy_see_inside(TARGET VISIBILITY LIBRARY): the headers that LIBRARY's rooms keep to themselves.
function(understudy_see_inside target visibility library)
  get_property(folders GLOBAL PROPERTY UNDERSTUDY_${library}_SOURCES)
  target_include_directories(${target} ${visibility} ${folders})
endfunction()

# understudy_answer_rest(TARGET PREFIX STATUS): what LibTorch's half for GPUs links of a library that TARGET stands in for, and TARGET
# does not define, returns STATUS.
function(understudy_answer_rest target prefix status)
  file(GLOB libraries "${UNDERSTUDY_TORCH_LIB}/lib*.so")
  execute_process(COMMAND "${CMAKE_NM}" -D --undefined-only ${libraries} OUTPUT_VARIABLE linked COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " U ${prefix}[A-Za-z0-9_]+" names "${linked}")
  list(REMOVE_DUPLICATES names)
  foreach(name IN LISTS names)
    string(REPLACE " U " "" name "${name}")
    string(APPEND content "extern \"C\" __attribute__((weak)) int ${name}() { return ${status}; }\n")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_rest.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${content}")
  set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${source}")
endfunction()

# The optimiser is a third of the compile time of tests, and spares them little.
set(_test_options $<$<CONFIG:RelWithDebInfo>:-Og>)
# So is what UndefinedBehaviorSanitizer puts into them: it is the tested sources that it has to watch.
if(UNDERSTUDY_SANITIZE)
  list(APPEND _test_options -fno-sanitize=undefined)
endif()

# understudy_test_headers(NAME LIBRARY HEADERS h…): a precompiled header for test programs that link LIBRARY. What uses it
# must be compiled as it is: with the same macros, as a program's code.
function(understudy_test_headers name library)
  file(CONFIGURE OUTPUT "${name}.cpp" CONTENT "")
  add_library(${name} STATIC "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_link_libraries(${name} PRIVATE understudy_options ${library} GTest::gtest_main)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE ${_test_options})
  target_precompile_headers(${name} PRIVATE ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# understudy_use_test_headers(TARGET NAME)
function(understudy_use_test_headers target name)
  target_precompile_headers(${target} REUSE_FROM ${name})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# understudy_test(NAME [ALONE] SOURCES c… [LIBS target…] [INCLUDES dir…] [ROOMS library] [HEADERS target] [SHARDS SUITE=N…])
# A GoogleTest program; each suite in it becomes a test of CTest, NAME.SUITE, which runs in a process of
# its own (loading LibTorch takes a second: a process a test would be most of the time). Suites that
# take long are split in N parts. A program without a test does not build. The samples' folder and the
# programs' folder are there as UNDERSTUDY_SAMPLES and UNDERSTUDY_BIN. ALONE: its sources
# share names, and are compiled one at a time in every build. HEADERS: the precompiled header that it uses.
function(understudy_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE" "ROOMS;HEADERS" "SOURCES;LIBS;INCLUDES;SHARDS")
  add_executable(${name} ${arg_SOURCES})
  if(arg_ROOMS)
    understudy_see_inside(${name} PRIVATE ${arg_ROOMS})
  endif()
  target_link_libraries(${name} PRIVATE understudy_options ${arg_LIBS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE
    "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests/include" ${arg_INCLUDES})
  target_compile_options(${name} PRIVATE ${_test_options})
  if(arg_HEADERS)
    understudy_use_test_headers(${name} ${arg_HEADERS})
  endif()
  if(arg_ALONE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_compile_definitions(${name} PRIVATE
    UNDERSTUDY_SAMPLES="${PROJECT_SOURCE_DIR}/fleet_samples"
    UNDERSTUDY_BIN="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set(suites "${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake")
  add_custom_command(TARGET ${name} POST_BUILD
    BYPRODUCTS "${suites}"
    COMMAND "${CMAKE_COMMAND}" "-DNAME=${name}" "-DPROGRAM=$<TARGET_FILE:${name}>" "-DOUTPUT=${suites}"
            "-DSHARDS=${arg_SHARDS}" "-DTIMEOUT_S=${UNDERSTUDY_TEST_TIMEOUT_S}"
            -P "${PROJECT_SOURCE_DIR}/cmake/ListSuites.cmake"
    VERBATIM)
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake")
  file(CONFIGURE OUTPUT "${include}" @ONLY CONTENT [=[
if(EXISTS "@suites@")
  include("@suites@")
else()
  add_test(@name@_NOT_BUILT @name@_NOT_BUILT)
endif()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()

# understudy_disabled_test(NAME REASON): what this build cannot run shows in CTest's list as such.
function(understudy_disabled_test name reason)
  message(STATUS "Tests ${name}: disabled, ${reason}")
  add_test(NAME "${name}" COMMAND "${CMAKE_COMMAND}" -E echo "${reason}")
  set_tests_properties("${name}" PROPERTIES DISABLED ON)
endfunction()

# understudy_sources_below(OUTPUT DIRECTORY): the sources of all targets there, as whole paths.
function(understudy_sources_below output directory)
  set(all "")
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${directory}")
      list(APPEND all "${source}")
    endforeach()
  endforeach()
  get_property(below DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS below)
    understudy_sources_below(found "${folder}")
    list(APPEND all ${found})
  endforeach()
  set(${output} "${all}" PARENT_SCOPE)
endfunction()

# understudy_refuse_lost(WHAT FOUND_LIST LISTED_LIST): stops where a file was found that no list names: nobody
# would miss its tests.
function(understudy_refuse_lost what found_list listed_list)
  set(lost "${${found_list}}")
  list(REMOVE_ITEM lost ${${listed_list}})
  if(lost)
    list(JOIN lost "\n  " lost)
    message(FATAL_ERROR "${what}:\n  ${lost}\nAdd them to the CMakeLists.txt of their folder, or remove them.")
  endif()
endfunction()
