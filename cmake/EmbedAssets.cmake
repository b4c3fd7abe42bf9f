# cmake -DOUTPUT=FILE.cpp -DASSETS=FOLDER -P EmbedAssets.cmake
# Writes a source with FOLDER/page.html, in which @STYLE@ and @SCRIPT@ are the files beside it, and @STYLE_HASH@ and
# @SCRIPT_HASH@ what a Content-Security-Policy calls them: 'sha256-' and the base64 of the content's SHA-256.

set(_digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

# Hexadecimal digits, 64 of them, as base64.
function(base64_of_sha256 output hex)
  set(text "")
  string(APPEND hex "0000")  # 32 bytes and 2 of padding: whole threes; the last digit is "="
  string(LENGTH "${hex}" length)
  math(EXPR last "${length} - 6")
  foreach(at RANGE 0 ${last} 6)
    string(SUBSTRING "${hex}" ${at} 6 three)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING "${_digits}" ${digit} 1 character)
      string(APPEND text "${character}")
    endforeach()
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)
  set(${output} "${text}=" PARENT_SCOPE)
endfunction()

file(READ "${ASSETS}/page.html" page)
foreach(part STYLE=page.css SCRIPT=page.js)
  string(REGEX MATCH "^([A-Z]+)=(.+)$" matched "${part}")
  set(name "${CMAKE_MATCH_1}")
  set(file "${ASSETS}/${CMAKE_MATCH_2}")
  file(READ "${file}" content)
  file(SHA256 "${file}" hex)
  base64_of_sha256(hash "${hex}")
  string(REPLACE "@${name}@" "${content}" page "${page}")
  string(REPLACE "@${name}_HASH@" "sha256-${hash}" page "${page}")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/EmbedAssets.cmake.
#include \"cli/pages/document/page.h\"

namespace understudy::pages {

const std::string_view kPageTemplate = R\"understudy(${page})understudy\";

}  // namespace understudy::pages
")
