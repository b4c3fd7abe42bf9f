# cmake -DOUTPUT=FILE.cpp -DASSETS=NAME=FILE;… -P EmbedAssets.cmake
# Writes a source with the files' content and what a Content-Security-Policy calls them: 'sha256-' and the base64 of the
# content's SHA-256. Called by the build when an asset changes.

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

set(source "// Made by cmake/EmbedAssets.cmake.\n#include \"raw_html.h\"\n\nnamespace understudy::pages {\n")
foreach(asset IN LISTS ASSETS)
  string(REGEX MATCH "^([a-z_]+)=(.+)$" matched "${asset}")
  set(name "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  file(READ "${file}" content)
  file(SHA256 "${file}" hex)
  base64_of_sha256(hash "${hex}")
  string(APPEND source
    "\nconst Asset k_${name}{R\"understudy(${content})understudy\", \"sha256-${hash}\"};\n")
endforeach()
string(APPEND source "\n}  // namespace understudy::pages\n")
file(WRITE "${OUTPUT}" "${source}")
