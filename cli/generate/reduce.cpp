#include "generate/reduce.h"

#include <fmt/format.h>

#include "common/figures.h"
#include "common/table.h"
#include "et_schema/support/error.h"

namespace understudy::cli {

Reduced reduce(et_schema::Bench& bench, et_schema::BenchWriting writing, double most) {
  Reduced reduced;
  reduced.bytes_before = et_schema::bench_bytes(bench, "bench.et", writing).size();
  reduced.reduction = composer::even_loops(bench);
  if (reduced.reduction.largest_change > most) {
    throw et_schema::run_failed(
        "the loops' mean times are too far from the recorded ones",
        {.field = "--reduce",
         .expected = fmt::format("a change of {:.4f} at most", most),
         .got = fmt::format("{:.4f} of {}", reduced.reduction.largest_change,
                            reduced.reduction.of_class),
         .hint = "allow more, or leave --reduce out"});
  }
  return reduced;
}

std::string reduced_text(const Reduced& reduced, std::uint64_t bytes) {
  const composer::Reduction& reduction = reduced.reduction;
  return fmt::format(
      "\nReduced: {} loops hold {} of {} instructions, {} of them written; the file from {} to {}\n"
      "Recorded times by operator class changed by at most {:.3f} %\n",
      with_commas(reduction.loops), with_commas(reduction.in_loops),
      with_commas(reduction.instructions), with_commas(reduction.written),
      with_bytes(reduced.bytes_before), with_bytes(bytes), reduction.largest_change * kPercent);
}

}  // namespace understudy::cli
