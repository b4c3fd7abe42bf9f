# Every target of the project is made here, so that language level, warnings, sanitizers and the
# header rules stand in one place.

include(GNUInstallDirs)

add_library(understudy_options INTERFACE)
target_compile_features(understudy_options INTERFACE cxx_std_20)
target_compile_options(understudy_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wconversion -Wsign-conversion
  -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # The table of public operators has more characters than clang counts by itself.
  target_compile_options(understudy_options INTERFACE -fconstexpr-steps=10000000)
endif()
# No path of the build in what is built: neither in debug information nor in messages.
target_compile_options(understudy_options INTERFACE
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")
if(UNDERSTUDY_TORCH_ROOT)
  target_compile_options(understudy_options INTERFACE "-ffile-prefix-map=${UNDERSTUDY_TORCH_ROOT}=torch")
endif()
# g++ names system headers by their real path where a link leads to them and that is shorter.
file(GLOB _torch_links "${UNDERSTUDY_TORCH_ROOT}" "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
foreach(_link IN LISTS _torch_links)
  file(REAL_PATH "${_link}" _real)
  if(NOT _real STREQUAL _link)
    target_compile_options(understudy_options INTERFACE "-ffile-prefix-map=${_real}=torch")
  endif()
endforeach()
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
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
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

# understudy_library(NAME [FOLDER folder] HEADERS h… SOURCES c… [PUBLIC target…] [PRIVATE target…])
# A static library `understudy_NAME` (alias understudy::NAME) of a folder, by default this one. Its headers live in
# include/, and only those are visible to others: an include against the arrows does not compile. Each header also
# compiles alone (scripts/checks/headers).
function(understudy_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "HEADERS;SOURCES;PUBLIC;PRIVATE")
  if(NOT arg_FOLDER)
    set(arg_FOLDER "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  set(target understudy_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(understudy::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${arg_FOLDER}/include" FILES ${arg_HEADERS})
  target_include_directories(${target} PRIVATE "${arg_FOLDER}/src")
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:understudy_options> ${arg_PRIVATE})
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON EXPORT_NAME ${name})
endfunction()

# understudy_optimise_less(target…): options, tables, texts, files: nobody waits for them, and they take a third less to
# compile.
function(understudy_optimise_less)
  if(NOT UNDERSTUDY_SANITIZE)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    endforeach()
  endif()
endfunction()

# understudy_room(LIBRARY ROOM [PUBLIC target…] [PRIVATE target…])
# A room of a library: all headers and sources in the folder ROOM, for ROOM formats/bench as the target
# understudy_LIBRARY_bench. Rooms stand from the bottom to the top; what they use of each other they link.
# understudy::LIBRARY is all of them. The global properties UNDERSTUDY_LIBRARY_TARGETS and UNDERSTUDY_LIBRARY_SOURCES
# list the targets and the folders of their sources.
function(understudy_room library room)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "PUBLIC;PRIVATE")
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${room}")
  get_filename_component(name "${room}" NAME)
  file(GLOB headers CONFIGURE_DEPENDS "${folder}/include/${library}/${name}/*.h")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/src/*.cpp")
  understudy_library(${library}_${name} FOLDER "${folder}" HEADERS ${headers} SOURCES ${sources}
    PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  understudy_add_room(${library} ${name} "${folder}")
endfunction()

function(understudy_add_room library room folder)
  if(NOT TARGET understudy_${library})
    add_library(understudy_${library} INTERFACE)
    add_library(understudy::${library} ALIAS understudy_${library})
    set_target_properties(understudy_${library} PROPERTIES EXPORT_NAME ${library})
    set_property(GLOBAL PROPERTY UNDERSTUDY_${library}_TARGETS understudy_${library})
  endif()
  target_link_libraries(understudy_${library} INTERFACE understudy::${library}_${room})
  set_property(GLOBAL APPEND PROPERTY UNDERSTUDY_${library}_TARGETS understudy_${library}_${room})
  set_property(GLOBAL APPEND PROPERTY UNDERSTUDY_${library}_SOURCES "${folder}/src")
endfunction()

# understudy_module(NAME SOURCES c… [PRIVATE target…])
# What programs load when they need it (backends/src/load.cpp): lib/understudy/understudy_NAME.so. The global
# property UNDERSTUDY_MODULES lists them.
function(understudy_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PRIVATE")
  set(target understudy_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE understudy_options ${arg_PRIVATE})
  set_target_properties(${target} PROPERTIES PREFIX "")
  if(NOT UNDERSTUDY_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  if(UNDERSTUDY_INSTALL)
    # Not CMAKE_INSTALL_LIBDIR: programs look for their modules beside their own folder.
    install(TARGETS ${target} LIBRARY DESTINATION lib/understudy)
  endif()
  set_property(GLOBAL APPEND PROPERTY UNDERSTUDY_MODULES ${target})
endfunction()

# understudy_rooms(LIBRARY folder…)
# A library of rooms whose folders have a CMakeLists.txt each.
function(understudy_rooms library)
  foreach(folder IN LISTS ARGN)
    add_subdirectory(${folder})
    get_filename_component(room "${folder}" NAME)
    understudy_add_room(${library} ${room} "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  endforeach()
endfunction()
