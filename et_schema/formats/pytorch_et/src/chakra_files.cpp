#include <algorithm>
#include <charconv>
#include <string_view>

#include "et_schema/pytorch_et/chakra_trace.h"
#include "et_schema/pytorch_et/trace_files.h"
#include "et_schema/support/error.h"
#include "et_schema/support/trace_start.h"
#include "et_schema/support/unpack.h"
#include "importers.h"

namespace understudy::et_schema {
namespace {

/// 3 of "traces/chakra.3.et" and "chakra.3.et.gz": all simulators name files so. 0 of other names.
int rank_in_name(std::string_view name) {
  constexpr std::string_view kGzip = ".gz";
  constexpr std::string_view kEnding = ".et";
  if (name.ends_with(kGzip)) {
    name.remove_suffix(kGzip.size());
  }
  if (!name.ends_with(kEnding)) {
    return 0;
  }
  name.remove_suffix(kEnding.size());
  const std::string_view digits = name.substr(name.rfind('.') + 1);
  int rank = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return error == std::errc() && end == digits.data() + digits.size() && rank >= 0 ? rank : 0;
}

}  // namespace

std::vector<ChakraFile> read_chakra_files(const std::vector<std::string>& paths,
                                          const ReadLimits& limits) {
  std::vector<ChakraFile> files;
  std::vector<std::string> names;
  UnpackBudget budget(limits);
  for (const std::string& path : paths) {
    const std::size_t before = files.size();
    std::vector<std::string> others;
    read_input_files(path, budget, [&](InputFile&& file) {
      if (starts_as_chakra(file.data)) {
        files.push_back(parse_chakra(file.data, file.name));
        names.push_back(file.name);
        budget.keep(file.data.size());
      } else {
        others.push_back(file.name);
      }
    });
    if (files.size() == before) {
      throw bad_input("no Chakra trace found",
                      {.file = path,
                       .expected = "Chakra protobuf traces, PREFIX.R.et of each rank R",
                       .got = others.empty() ? "none" : and_more("other files: ", others),
                       .hint = "generate --chakra DIR writes them of traces and benchmarks"});
    }
  }
  const std::vector<int> ranks =
      files.size() > 1 ? ranks_from_names(names) : std::vector<int>{rank_in_name(names.front())};
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].rank = ranks[i];
  }
  std::ranges::stable_sort(files, {}, &ChakraFile::rank);
  return files;
}

}  // namespace understudy::et_schema
