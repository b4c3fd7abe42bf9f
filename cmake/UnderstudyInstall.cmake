# What `cmake --install` lays down: the programs in bin, the modules they load in lib/understudy, what is
# Python in share/understudy, and the libraries that need no LibTorch, with their headers, for
# find_package(understudy). The prefix can be moved, and names no path of the build.

include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/understudy")

get_property(_et_schema GLOBAL PROPERTY UNDERSTUDY_et_schema_TARGETS)
get_property(_generator GLOBAL PROPERTY UNDERSTUDY_generator_TARGETS)
install(TARGETS ${_et_schema} ${_generator}
  EXPORT understudyTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT understudyTargets NAMESPACE understudy:: DESTINATION "${_package_dir}")
configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/understudyConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/understudyConfig.cmake"
  INSTALL_DESTINATION "${_package_dir}")
# Before 1.0 a new minor version may change any interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/understudyConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/understudyConfig.cmake"
  "${PROJECT_BINARY_DIR}/understudyConfigVersion.cmake"
  DESTINATION "${_package_dir}")

# On the path are `understudy`, which starts the others, and `replay`: other packages have an inspect, a
# generate and a compare, too.
install(TARGETS understudy_cli_understudy RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
get_property(_programs GLOBAL PROPERTY UNDERSTUDY_PROGRAMS)
list(REMOVE_ITEM _programs understudy_cli_replay)
install(TARGETS ${_programs} RUNTIME DESTINATION libexec/understudy)
set(_completion "${PROJECT_SOURCE_DIR}/cli/understudy/completion")
install(FILES "${_completion}.bash" DESTINATION share/bash-completion/completions RENAME understudy)
install(FILES "${_completion}.bash" DESTINATION share/bash-completion/completions RENAME replay)
install(FILES "${_completion}.zsh" DESTINATION share/zsh/site-functions RENAME _understudy)
install(FILES "${_completion}.fish" DESTINATION share/fish/vendor_completions.d RENAME understudy.fish)

# understudy_install_torch_program(NAME FOLDER PREFIX): LibTorch is no part of the package. FOLDER/NAME looks for it and
# starts libexec/understudy-NAME, which finds its modules beside its own folder, in lib/understudy. PREFIX is the way
# from FOLDER.
function(understudy_install_torch_program UNDERSTUDY_TORCH_PROGRAM folder UNDERSTUDY_TORCH_PREFIX)
  set(_name "${UNDERSTUDY_TORCH_PROGRAM}")
  install(PROGRAMS "$<TARGET_FILE:understudy_cli_${_name}>" DESTINATION libexec RENAME understudy-${_name})
  # Copied as a file, it keeps the run path of the build, which is taken away here.
  install(CODE "file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/libexec/understudy-${_name}\")")
  configure_file("${PROJECT_SOURCE_DIR}/cli/replay/find_libtorch.sh.in"
    "${PROJECT_BINARY_DIR}/find_libtorch_${_name}.sh" @ONLY)
  install(PROGRAMS "${PROJECT_BINARY_DIR}/find_libtorch_${_name}.sh" DESTINATION "${folder}" RENAME ${_name})
endfunction()
if(TARGET understudy_cli_replay)
  understudy_install_torch_program(replay "${CMAKE_INSTALL_BINDIR}" ..)
  understudy_install_torch_program(calibrate_here libexec/understudy ../..)
  understudy_install_torch_program(operator_results libexec/understudy ../..)
endif()

# What is Python: the package to capture with, also for pip, and fidelity.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/capture" "${PROJECT_SOURCE_DIR}/scripts/understudy_fidelity"
  DESTINATION share/understudy PATTERN __pycache__ EXCLUDE)
foreach(_script capture compile_kernels fidelity mpirun)
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/${_script}" DESTINATION "${CMAKE_INSTALL_BINDIR}"
    RENAME understudy-${_script})
endforeach()

foreach(_text README.md LICENSE CHANGELOG.md)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${_text}")
    install(FILES "${PROJECT_SOURCE_DIR}/${_text}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  endif()
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md")
