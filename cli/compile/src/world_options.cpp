#include "cli/compile/world_options.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace understudy::cli {

void add_batch_options(CommandLine& line, const char* help, BatchTexts& texts) {
  line.add("--batch SIZES", texts.batch, std::string("FROM:TO, such as 64:256: ") + help);
  line.add("--size SIZES", texts.size,
           "FROM:TO, such as 512:2048: the same of the length of sequences, or of another size of "
           "the data, that nothing else has")
      .excludes({"--batch"});
}

std::optional<generator::BatchSize> BatchTexts::parsed() const {
  if (batch.empty() && size.empty()) {
    return std::nullopt;
  }
  return generator::parse_batch_size(batch + size, !size.empty());
}

void add_world_options(CommandLine& line, generator::WorldSize& size) {
  constexpr int kMostRanks = 100'000;
  line.add_number("--world-size N", size.ranks, 1, kMostRanks,
                  "The job on N ranks, each with the recorded batch: groups that divide the batch "
                  "grow or shrink, tensor- and pipeline-parallel ones keep their size");
  line.add_list(
      "--group NAME=KIND",
      [&size](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
          generator::add_group_kind(text, size.kinds);
        }
        return std::string();
      },
      "What the ranks of a process group divide, where that is guessed wrong: data, sharded "
      "(parameters too: FSDP, ZeRO), expert, tensor or pipeline");
}

void check_world_options(const generator::WorldSize& size) {
  refuse_if(!size.kinds.empty() && !is_given(size),
            "a group's kind decides what another number of ranks changes", "--group",
            "--world-size beside it", "no --world-size");
}

}  // namespace understudy::cli
