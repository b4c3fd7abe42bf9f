#include <map>
#include <sstream>
#include <string>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "properties.h"
#include "tasks.h"  // of cli/judge

namespace understudy::cli {

void check_judge_property(std::string_view input) {
  static const std::map<char, Task*> kTasks = {{'c', changes_task},
                                               {'d', drift_task},
                                               {'g', page_task},
                                               {'p', platforms_task},
                                               {'w', select_task}};
  if (input.empty()) {
    return;
  }
  std::istringstream request{std::string(input.substr(1))};
  try {
    if (const auto task = kTasks.find(input.front()); task != kTasks.end()) {
      const Answer answer = task->second(request, {.format = Format::kHtml});
      if (input.front() != 'c') {
        pages::check_html(answer.text);
      }
    } else {
      draw_site(request, [](const std::string& file, const pages::Page& page) {
        UNDERSTUDY_ASSERT(file.ends_with(".html") && file.find('/') == std::string::npos);
        pages::check_html(pages::to_html(page));
      });
    }
  } catch (const et_schema::Error& error) {
    UNDERSTUDY_ASSERT(!error.summary().empty());
  }
}

}  // namespace understudy::cli
