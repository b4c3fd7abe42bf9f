# Every target of the project is made here, so that language level, warnings, sanitizers and the
# header rules stand in one place.

include(GNUInstallDirs)

add_library(understudy_options INTERFACE)
target_compile_features(understudy_options INTERFACE cxx_std_20)
target_compile_options(understudy_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wconversion -Wsign-conversion
  -Woverloaded-virtual -Werror
  # x86-64 has no fused multiply-add in its baseline; where others have it, results would differ in their last digit.
  $<$<NOT:$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>>:-ffp-contract=off>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The table of public operators has more characters than clang counts by itself.
  target_compile_options(understudy_options INTERFACE -fconstexpr-steps=10000000)
endif()
# No path of the build in what is built: neither in debug information nor in messages.
target_compile_options(understudy_options INTERFACE
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")
if(CMAKE_UNITY_BUILD)
  # A dozen sources of a target are compiled together, and share their headers, which are most of the work. Of those
  # -Wshadow tells what one hides of another's; g++ 12 inlines more, where it sees reads of variants' empty members that
  # are none, and takes a source's own classes for a header's, which must not hold what is unnamed. The preset dev
  # compiles each source by itself, with every warning.
  target_compile_options(understudy_options INTERFACE -Wno-shadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(understudy_options INTERFACE -Wno-maybe-uninitialized -Wno-subobject-linkage)
  endif()
endif()
if(UNDERSTUDY_SANITIZE)
  target_compile_options(understudy_options INTERFACE
    -fsanitize=${UNDERSTUDY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(understudy_options INTERFACE -fsanitize=${UNDERSTUDY_SANITIZE})
  if(UNDERSTUDY_SANITIZE MATCHES "undefined")
    # These take half of the compile time. AddressSanitizer reports null and ends of objects too, and no source reads bytes
    # as a wider type.
    target_compile_options(understudy_options INTERFACE -fno-sanitize=null,vptr,alignment,object-size)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(UNDERSTUDY_SANITIZE MATCHES "address")
      # Checks are calls: less code, which compiles faster than it runs slower.
      target_compile_options(understudy_options INTERFACE "SHELL:--param asan-instrumentation-with-call-threshold=0")
    endif()
    # In instrumented code g++ 12 sees what is not there (uninitialised reads in the standard library's
    # <regex>). Warnings are errors in the plain builds.
    target_compile_options(understudy_options INTERFACE -Wno-maybe-uninitialized -Wno-error)
  endif()
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(understudy_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
find_program(UNDERSTUDY_CCACHE ccache)
if(UNDERSTUDY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${UNDERSTUDY_CCACHE}")
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# understudy_optimise_less(target…): options, tables, texts, files: nobody waits for them, and they take a third less to
# compile.
function(understudy_optimise_less)
  if(NOT UNDERSTUDY_SANITIZE)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    endforeach()
  endif()
endfunction()

# understudy_room(ROOM [PUBLIC target…] [PRIVATE target…])
# A static library of the folder ROOM. The folder's path is the path of its includes and the name of its target: the room
# formats/bench of et_schema is #include "et_schema/formats/bench/….h" and understudy_et_schema_formats_bench. Headers in
# the folder are its interface; sources, and headers of its own, are in src/. A target sees the interfaces of the rooms
# that it links and no others, because each room's interface is a folder of links in the build: an include against the
# arrows does not compile. Each header also compiles alone (scripts/checks/headers).
# Rooms of one CMakeLists.txt are a library: understudy::LIBRARY links all of them. The global properties
# UNDERSTUDY_LIBRARY_TARGETS and UNDERSTUDY_LIBRARY_SOURCES list the targets and the folders of their sources.
function(understudy_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE")
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE library)
  set(path "${library}/${room}")
  string(REPLACE "/" "_" name "${path}")
  string(REPLACE "/" "_" library "${library}")
  set(target understudy_${name})

  set(interface "${PROJECT_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${interface}/${path}")
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${path}/*.h")
  foreach(header IN LISTS headers)
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${header}" "${interface}/${header}" SYMBOLIC)
  endforeach()
  list(TRANSFORM headers PREPEND "${interface}/")

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${path}/src/*.cpp")
  add_library(${target} STATIC ${sources})
  add_library(understudy::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${interface}" FILES ${headers})
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:understudy_options> ${arg_PRIVATE})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON EXPORT_NAME ${name})

  if(NOT TARGET understudy_${library})
    add_library(understudy_${library} INTERFACE)
    add_library(understudy::${library} ALIAS understudy_${library})
    set_target_properties(understudy_${library} PROPERTIES EXPORT_NAME ${library})
    set_property(GLOBAL PROPERTY UNDERSTUDY_${library}_TARGETS understudy_${library})
  endif()
  target_link_libraries(understudy_${library} INTERFACE understudy::${name})
  set_property(GLOBAL APPEND PROPERTY UNDERSTUDY_${library}_TARGETS ${target})
  set_property(GLOBAL APPEND PROPERTY UNDERSTUDY_${library}_SOURCES "${PROJECT_SOURCE_DIR}/${path}/src")
endfunction()

# understudy_embed(TARGET FILE): makes FILE.json a text of TARGET, by FILE.cpp.in, whose header lies beside it.
function(understudy_embed target file)
  cmake_path(GET file FILENAME name)
  cmake_path(GET file PARENT_PATH folder)
  file(READ "${file}.json" UNDERSTUDY_EMBEDDED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${file}.json")
  configure_file("${file}.cpp.in" ${name}.cpp @ONLY)
  target_sources(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  target_include_directories(${target} PRIVATE ${folder})
endfunction()

# understudy_module(NAME [TORCH] SOURCES c… [PRIVATE target…])
# What programs load when they need it (replayer/backends/interface/src/load.cpp): lib/understudy/understudy_NAME.so. TORCH: it
# links LibTorch, and is installed beside the replay of that version. The global property UNDERSTUDY_MODULES lists them.
function(understudy_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH" "" "SOURCES;PRIVATE")
  set(target understudy_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE understudy_options ${arg_PRIVATE})
  set_target_properties(${target} PROPERTIES PREFIX "")
  if(NOT UNDERSTUDY_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  if(UNDERSTUDY_INSTALL AND arg_TORCH)
    install(TARGETS ${target} LIBRARY DESTINATION ${UNDERSTUDY_TORCH_DIR} COMPONENT torch)
  elseif(UNDERSTUDY_INSTALL)
    # Not CMAKE_INSTALL_LIBDIR: programs look for their modules beside their own folder.
    install(TARGETS ${target} LIBRARY DESTINATION lib/understudy COMPONENT programs)
  endif()
  set_property(GLOBAL APPEND PROPERTY UNDERSTUDY_MODULES ${target})
endfunction()
