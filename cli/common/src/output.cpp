#include "cli/common/output.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "et_schema/base/cannot_write.h"
#include "et_schema/base/control_characters.h"

namespace understudy::cli {

void print_output(std::string_view output) {
  const std::string text = et_schema::escape_control_characters(output, "\n\t");
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw et_schema::cannot_write("the output could not be written",
                                {.file = "standard output",
                                 .got = std::generic_category().message(errno),
                                 .hint = "is the disk full, or the reader of the pipe gone?"});
}

}  // namespace understudy::cli
