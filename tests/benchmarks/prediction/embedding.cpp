// What a model of embedding tables gains from knowing the data: its error on rows that it was not
// fitted to, by how the lookups that hit the cache are estimated. Reads embedding rows
// (docs/formats.md):
//   study_embedding ROWS.jsonl

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "et_schema/support/error.h"
#include "et_schema/support/read_file.h"
#include "predictor/embedding/fitted.h"
#include "predictor/embedding/rows.h"

namespace {

using namespace understudy::predictor;  // NOLINT: a program, no header
namespace et = understudy::et_schema;

constexpr double kPercent = 100;

void print(const char* direction, CacheModel cache, const EmbeddingFit& fit) {
  const Errors& errors = fit.left_out;
  fmt::print("  {:<9} {:<12} {:5} {:7.2f} {:7.2f} {:7.1f} {:+7.2f}  {:8.0f} KiB\n", direction,
             to_string(cache), errors.n, errors.geometric * kPercent, errors.mean * kPercent,
             errors.worst * kPercent, errors.bias * kPercent, fit.cache_bytes / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: study_embedding ROWS.jsonl\n", stderr);
    return 2;
  }
  try {
    const std::string text = et::read_file(argv[1], et::process_limits());
    const std::vector<EmbeddingRow> rows = parse_embedding_rows(text, argv[1]);
    fmt::print("{} rows, five folds; errors in % of what was left out\n", rows.size());
    fmt::print("  {:<9} {:<12} {:>5} {:>7} {:>7} {:>7} {:>7}  {:>12}\n", "direction", "hits by",
               "n", "GMAE", "MAPE", "max", "sign", "cache fitted");
    for (const CacheModel cache :
         {CacheModel::kWholeTable, CacheModel::kUniform, CacheModel::kReuse}) {
      const EmbeddingModel model = fit_embedding(rows, cache);
      print("forward", cache, model.forward);
      print("backward", cache, model.backward);
    }
    return 0;
  } catch (const et::Error& error) {
    std::fputs(et::to_text(error).c_str(), stderr);
    return static_cast<int>(error.kind());
  }
}
