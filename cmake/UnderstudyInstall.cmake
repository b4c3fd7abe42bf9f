# What `cmake --install` lays down: the programs in bin, the modules they load in lib/understudy, and
# the libraries that need no LibTorch, with their headers, for find_package(understudy).

include(CMakePackageConfigHelpers)

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/understudy")

install(TARGETS understudy_et_schema understudy_generator
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

# LibTorch stays where it is, so that the programs find it there. It is no part of the package.
foreach(_program inspect generate replay compare)
  if(TARGET understudy_cli_${_program})
    if(UNDERSTUDY_BUILD_REPLAYER)
      set_property(TARGET understudy_cli_${_program}
        APPEND PROPERTY INSTALL_RPATH "${UNDERSTUDY_TORCH_LIBRARY_DIR}")
    endif()
    install(TARGETS understudy_cli_${_program} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()

foreach(_text README.md LICENSE CHANGELOG.md)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${_text}")
    install(FILES "${PROJECT_SOURCE_DIR}/${_text}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  endif()
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  FILES_MATCHING PATTERN "*.md")
