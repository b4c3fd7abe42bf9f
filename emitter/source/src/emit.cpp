#include "emitter/source/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "project_text.h"
#include "step_text.h"

namespace understudy::emitter {
namespace {

using et_schema::Bench;
using et_schema::Instruction;
using et_schema::InstructionKind;
using et_schema::Program;

/// Schemas of these traces are those of today's LibTorch: PyTorch 2.5 and later.
bool is_recent(const Bench& bench, std::size_t rank) {
  return rank < bench.sources.size() && bench.sources[rank].schema.starts_with("1.1.1");
}

bool counts(const Instruction& instruction) {
  return instruction.kind != InstructionKind::kAlias &&
         instruction.kind != InstructionKind::kMarker;
}

std::int64_t recorded_ns(const Instruction& instruction) {
  return instruction.timing ? std::max(instruction.timing->host_ns, instruction.timing->device_ns)
                            : 0;
}

/// LibTorch has a header for each function, in-place ones included: all of them take long.
std::string operator_headers(std::string_view body) {
  constexpr std::string_view kSpace = "at::";
  std::set<std::string> headers;
  for (std::size_t at = body.find(kSpace); at != std::string_view::npos;
       at = body.find(kSpace, at + 1)) {
    const std::size_t begin = at + kSpace.size();
    std::size_t end = begin;
    while (end < body.size() &&
           (std::isalnum(static_cast<unsigned char>(body[end])) != 0 || body[end] == '_')) {
      ++end;
    }
    const bool is_function = end < body.size() && body[end] == '(' && end > begin &&
                             std::isupper(static_cast<unsigned char>(body[begin])) == 0;
    if (is_function) {
      const bool in_place = body[end - 1] == '_';
      headers.emplace(body.substr(begin, end - begin - (in_place ? 1 : 0)));
    }
  }
  std::string text;
  for (const std::string& header : headers) {
    text += fmt::format("#include <ATen/ops/{}.h>\n", header);
  }
  return text;
}

class Emitter {
 public:
  Emitter(const Bench& bench, Language language, const std::string& name)
      : bench_(bench), language_(language) {
    parts_.name = name;
  }

  Project emit() {
    for (std::size_t rank = 0; rank < bench_.programs.size(); ++rank) {
      add_rank(rank);
    }
    for (const et_schema::ProcessGroup& group : bench_.groups) {
      parts_.groups.push_back(fmt::format("{}", fmt::join(group.ranks, ", ")));
    }
    auto files = language_ == Language::kCpp ? cpp_project(parts_) : python_project(parts_);
    project_.files.merge(files);
    for (auto& [key, missing] : missing_) {
      if (all_ns_ > 0) {
        missing.time_share = static_cast<double>(missing_ns_[key]) / static_cast<double>(all_ns_);
      }
      project_.missing.push_back(missing);
    }
    return std::move(project_);
  }

 private:
  [[nodiscard]] bool is_python() const { return language_ == Language::kPython; }

  void add_rank(std::size_t rank) {
    const Program& program = bench_.programs[rank];
    const StepText step = write_step(program, is_python() ? Dialect::kPython : Dialect::kTyped,
                                     is_recent(bench_, rank));
    count_missing(program, step);
    project_.boxed += step.boxed;
    project_.functions += step.functions;
    project_.calls += step.calls;
    parts_.has_fbgemm = parts_.has_fbgemm || has_fbgemm(step);
    parts_.communicates = parts_.communicates || step.communicates || bench_.programs.size() > 1;
    parts_.source_of.push_back(rank < bench_.sources.size() ? bench_.sources[rank].file
                                                            : "a benchmark");
    // Ranks of the same text share a file.
    const auto [found, added] =
        known_.try_emplace(step.body, fmt::format("step_rank{}", bench_.recorded_rank(rank)));
    parts_.step_of.push_back(found->second);
    if (added) {
      project_.files[found->second + (is_python() ? ".py" : ".cpp")] =
          file_text(program, rank, found->second, step);
    }
  }

  [[nodiscard]] std::string file_text(const Program& program, std::size_t rank,
                                      const std::string& name, const StepText& step) const {
    std::string body = step.body;
    for (std::size_t at = body.find("@NAME@"); at != std::string::npos;
         at = body.find("@NAME@", at)) {
      body.replace(at, 6, name);
    }
    const std::string& chosen = program.selection.step;
    const std::string origin =
        fmt::format("{}{}{}: {} operators", parts_.source_of[rank], chosen.empty() ? "" : ", ",
                    chosen, program.selection.operators);
    if (is_python()) {
      return fmt::format(
          "\"\"\"{}.\"\"\"\n\nimport torch\nfrom torch import ops\n\nimport bench\n\n\n{}", origin,
          body);
    }
    return fmt::format(
               "// {}.\n\n#include <ATen/core/Tensor.h>\n{}\n#include <memory>\n#include "
               "<vector>\n\n{}{}{}"
               "#include \"bench/run.h\"\n\n",
               origin, operator_headers(step.body),
               step.communicates ? "#include \"bench/communicate.h\"\n" : "",
               has_fbgemm(step) ? "#include \"bench/fbgemm.h\"\n" : "",
               needs_operators(step) ? "#include \"bench/operators.h\"\n" : "") +
           body;
  }

  [[nodiscard]] static bool needs_operators(const StepText& step) {
    return step.has_boxed || step.body.find("bench::OptionalList") != std::string::npos;
  }

  [[nodiscard]] static bool has_fbgemm(const StepText& step) {
    return step.body.find("\"fbgemm::") != std::string::npos;
  }

  void count_missing(const Program& program, const StepText& step) {
    for (std::size_t at = 0; at < program.instructions.size(); ++at) {
      const Instruction& instruction = program.instructions[at];
      if (!counts(instruction)) {
        continue;
      }
      ++project_.operators;
      all_ns_ += recorded_ns(instruction);
      if (step.refused[at].empty()) {
        continue;
      }
      const auto key = std::make_pair(instruction.name, step.refused[at]);
      Missing& missing = missing_[key];
      missing.name = instruction.name;
      missing.reason = step.refused[at];
      ++missing.count;
      missing_ns_[key] += recorded_ns(instruction);
    }
  }

  using Key = std::pair<std::string, std::string>;
  const Bench& bench_;
  Language language_;
  ProjectParts parts_;
  Project project_;
  std::map<std::string, std::string> known_;  ///< text → name of the step
  std::map<Key, Missing> missing_;
  std::map<Key, std::int64_t> missing_ns_;
  std::int64_t all_ns_ = 0;
};

}  // namespace

Project emit_project(const Bench& bench, Language language, const std::string& name) {
  return Emitter(bench, language, name).emit();
}

}  // namespace understudy::emitter
