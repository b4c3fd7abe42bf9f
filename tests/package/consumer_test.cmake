# One test of the installed package; see CMakeLists.txt.
# Needs BUILD_DIR, CONSUMER_DIR, WORK_DIR, GENERATOR, COMPILER, VERSION, LIBDIR.

# Runs a command, stops with its output if it fails, and hands back what it printed.
function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "status ${status} of: ${command}\n${out}${err}")
  endif()
  set(${output} "${out}" PARENT_SCOPE)
endfunction()

set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
run(ignored "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")

run(ignored "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CONSUMER_DIR}" -B "${WORK_DIR}/build"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${COMPILER}")
run(ignored "${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run(printed "${WORK_DIR}/build/consumer" "${WORK_DIR}/bench.et")
set(expected "Understudy ${VERSION}: 2 ranks, 1 instruction each, aten::relu\n")
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "the consumer printed:\n${printed}instead of:\n${expected}")
endif()

# Modules lie where the programs look for them, those on LibTorch beside the replay of its version;
# nothing of the build folder is left in programs.
file(GLOB modules RELATIVE "${BUILD_DIR}/lib/understudy" "${BUILD_DIR}/lib/understudy/understudy_backend_*.so")
foreach(module IN LISTS modules)
  file(GLOB installed "${prefix}/lib/understudy/${module}" "${prefix}/libexec/torch-*/${module}")
  if(NOT installed)
    message(FATAL_ERROR "${module} was built and is not in ${prefix}/lib/understudy or ${prefix}/libexec/torch-*")
  endif()
endforeach()
