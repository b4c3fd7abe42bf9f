# Run when a test program was built: writes a test of CTest for each of its suites.
# Needs NAME, PROGRAM, OUTPUT, SHARDS (SUITE=N, a list), TIMEOUT_S.

# What gtest lists: a suite's name and a dot, at times a comment, then its tests, indented.
execute_process(COMMAND "${PROGRAM}" --gtest_list_tests
  TIMEOUT 300 RESULT_VARIABLE status OUTPUT_VARIABLE listed ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with: ${status}\n${errors}")
endif()
string(REGEX REPLACE "[][;]" "" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")

set(suites "")
set(suite "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.( |$)")
    set(suite "${CMAKE_MATCH_1}")
  elseif(suite AND line MATCHES "^  [^ ]" AND NOT "${suite}${line}" MATCHES "DISABLED_")
    list(APPEND suites "${suite}")
  endif()
endforeach()
list(REMOVE_DUPLICATES suites)
if(NOT suites)
  message(FATAL_ERROR "${NAME} registers no test: is the source with the tests among its SOURCES?")
endif()

set(text "# By ListSuites.cmake, from what ${NAME} lists.\n")
macro(add_suite test filter environment)
  string(APPEND text
    "add_test([==[${test}]==] [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==])\n"
    "set_tests_properties([==[${test}]==] PROPERTIES TIMEOUT ${TIMEOUT_S} "
    "FAIL_REGULAR_EXPRESSION \"Running 0 tests from\" ENVIRONMENT \"${environment}\")\n")
endmacro()
foreach(suite IN LISTS suites)
  set(shards 1)
  foreach(entry IN LISTS SHARDS)
    if(entry MATCHES "^(.+)=([0-9]+)$" AND suite STREQUAL CMAKE_MATCH_1)
      set(shards "${CMAKE_MATCH_2}")
      list(REMOVE_ITEM SHARDS "${entry}")
    endif()
  endforeach()
  if(shards EQUAL 1)
    add_suite("${NAME}.${suite}" "${suite}.*" "")
  else()
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      math(EXPR number "${shard} + 1")
      add_suite("${NAME}.${suite}.${number}_of_${shards}" "${suite}.*"
        "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    endforeach()
  endif()
endforeach()
if(SHARDS)
  message(FATAL_ERROR "${NAME} has no such suite to split: ${SHARDS}")
endif()
file(WRITE "${OUTPUT}" "${text}")
