#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/pages/document/from_json.h"
#include "documents.h"
#include "et_schema/base/figures.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::CompiledKernel;
using pages::byte_counts, pages::counts, pages::shares, pages::table_at, pages::texts;

/// A kernel of all ranks, by its key, or by its name if no launch was recorded.
struct KernelUse {
  std::string name;
  const CompiledKernel* code = nullptr;
  std::uint64_t launches = 0;
  std::int64_t device_ns = 0;
};

struct KernelUses {
  std::map<std::string, KernelUse> kernels;
  std::optional<std::int64_t> device_ns;  ///< of all operators; unset without a profile
};

KernelUses uses_of(const et_schema::Bench& bench) {
  KernelUses uses;
  for (const et_schema::Program& program : bench.programs) {
    if (program.profile) {
      uses.device_ns = uses.device_ns.value_or(0) + program.profile->operators_device_ns;
    }
    std::map<std::string_view, const CompiledKernel*> codes;
    for (const CompiledKernel& kernel : program.kernels) {
      codes.emplace(kernel.key, &kernel);
    }
    for (const et_schema::Instruction& instruction : program.instructions) {
      if (instruction.kind != et_schema::InstructionKind::kKernel) {
        continue;
      }
      const auto launch = et_schema::launch_of(instruction);
      KernelUse& use =
          uses.kernels[instruction.name + ' ' + std::string(launch ? launch->key : "")];
      use.name = instruction.name;
      const auto code = launch ? codes.find(launch->key) : codes.end();
      use.code = code == codes.end() ? use.code : code->second;
      ++use.launches;
      use.device_ns += instruction.timing ? instruction.timing->device_ns : 0;
    }
  }
  return uses;
}

std::optional<double> share_of(const KernelUses& uses, const KernelUse& use) {
  return uses.device_ns.value_or(0) > 0 ? std::optional(static_cast<double>(use.device_ns) /
                                                        static_cast<double>(*uses.device_ns))
                                        : std::nullopt;
}

Json kernels_document(const KernelUses& uses) {
  Json list = Json::array();
  for (const auto& [id, use] : uses.kernels) {
    Json builds = Json::array();
    if (use.code != nullptr) {
      for (const et_schema::KernelBuild& build : use.code->builds) {
        builds.push_back({{"architecture", fmt::format("sm_{}", build.architecture)},
                          {"registers", build.registers},
                          {"shared_bytes", build.shared_bytes},
                          {"warps", build.warps},
                          {"bytes", build.cubin.bytes->size()}});
      }
    }
    const auto share = share_of(uses, use);
    list.push_back({{"name", use.name},
                    {"key", use.code != nullptr ? Json(use.code->key) : Json(nullptr)},
                    {"launches", use.launches},
                    {"device_share", share ? Json(*share) : Json(nullptr)},
                    {"builds", std::move(builds)}});
  }
  return {{"kernels", std::move(list)}};
}

}  // namespace

pages::Page kernels_page(const et_schema::Bench& bench) {
  const Json document = kernels_document(uses_of(bench));
  pages::Page page;
  page.title = "Kernels of compiled graphs, and hand-written ones";
  page.verdict.sentence =
      et_schema::counted(document["kernels"].size(), "kernel") + " in the step.";
  page.sections = {{"kernels",
                    "Kernels",
                    {table_at(document, "/kernels",
                              "Kernels; where no key is shown there is no machine code: stubs",
                              {texts("kernel", "name"), counts("launches"),
                               shares("device time", "device_share"), texts("key")}),
                     table_at(document, "/kernels/*/builds", "Machine code",
                              {texts("kernel", "name"), counts("registers"),
                               byte_counts("shared memory", "shared_bytes"), counts("warps"),
                               counts("bytes"), texts("architecture")})}}};
  return made_by("inspect", std::move(page), document, "kernels.json");
}

}  // namespace understudy::cli
