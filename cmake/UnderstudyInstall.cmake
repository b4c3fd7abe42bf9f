# What `cmake --install` lays down: the programs in bin, the modules they load in lib/understudy, and the libraries that need
# no LibTorch, with their headers, for find_package(understudy). The prefix can be moved, and names no path of the build. The
# wheel has the component "programs" in its package's folder, and "torch", what links LibTorch, once for each version.

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

# On the path are `understudy`, which has the verbs, and `replay`. Programs that are named as verbs are beside the path:
# other packages have an inspect, a generate and a compare, too. They are no links, which a wheel cannot hold.
install(TARGETS understudy_cli_understudy RUNTIME DESTINATION bin COMPONENT programs)
get_property(_verbs GLOBAL PROPERTY UNDERSTUDY_VERBS_OF_understudy)
file(CONFIGURE OUTPUT verb.sh @ONLY CONTENT [[#!/bin/sh
exec "${0%/*}/../../bin/understudy" "${0##*/}" "$@"
]])
foreach(_verb IN LISTS _verbs ITEMS fleet)
  install(PROGRAMS "${PROJECT_BINARY_DIR}/verb.sh" DESTINATION libexec/understudy RENAME "${_verb}" COMPONENT programs)
endforeach()
set(_completion "${PROJECT_SOURCE_DIR}/cli/understudy/completion")
install(FILES "${_completion}.bash" DESTINATION share/bash-completion/completions RENAME understudy)
install(FILES "${_completion}.bash" DESTINATION share/bash-completion/completions RENAME replay)
install(FILES "${_completion}.zsh" DESTINATION share/zsh/site-functions RENAME _understudy)
install(FILES "${_completion}.fish" DESTINATION share/fish/vendor_completions.d RENAME understudy.fish)

# LibTorch is no part of the package. bin/replay looks for it and starts understudy-replay of its version's folder, which finds
# modules beside itself and in lib/understudy.
if(TARGET understudy_cli_replay)
  install(PROGRAMS "$<TARGET_FILE:understudy_cli_replay>" DESTINATION ${UNDERSTUDY_TORCH_DIR} RENAME understudy-replay
    COMPONENT torch)
  # Copied as a file, it keeps the run path of the build and what is stripped, which is taken away here.
  install(CODE "
    set(replay \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${UNDERSTUDY_TORCH_DIR}/understudy-replay\")
    file(RPATH_REMOVE FILE \"\${replay}\")
    if(CMAKE_INSTALL_DO_STRIP)
      execute_process(COMMAND \"${CMAKE_STRIP}\" \"\${replay}\")
    endif()" COMPONENT torch)
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/cli/replay/find_libtorch.sh" DESTINATION bin RENAME replay COMPONENT programs)
endif()

# Steps with references, for `understudy suite`.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/gallery" DESTINATION share COMPONENT programs
  PATTERN programs.py EXCLUDE PATTERN make EXCLUDE PATTERN __pycache__ EXCLUDE)
# Measured cards, for `understudy predict --card`.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/platforms" DESTINATION share COMPONENT programs)
# What the programs run in Python (et_schema/base/shipped.h), and examples. A wheel's programs lie within the package.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/capture/understudy" DESTINATION share/capture COMPONENT programs
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/fleet/understudy_fleet" DESTINATION share/fleet PATTERN __pycache__ EXCLUDE)
install(PROGRAMS "${PROJECT_SOURCE_DIR}/scripts/mpirun" DESTINATION bin RENAME understudy-mpirun COMPONENT programs)
foreach(_text README.md LICENSE CHANGELOG.md)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${_text}")
    install(FILES "${PROJECT_SOURCE_DIR}/${_text}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  endif()
endforeach()
# Messages name pages.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT programs
  FILES_MATCHING PATTERN "*.md")
