#include "et_schema/formats/bench/kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "et_schema/base/digest.h"
#include "et_schema/base/json_record.h"
#include "et_schema/formats/cubin/cubin.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kKernelsFormat = "understudy-kernels";
constexpr int kKernelsVersion = 1;
constexpr int kLeastArchitecture = 10;
constexpr std::int64_t kMostWarps = 32;
constexpr std::int64_t kMostClusterBlocks = 16;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 32U;
constexpr std::size_t kPointerBytes = 8;
// After the parameters, Triton passes pointers to scratch memory: its own and its profiler's.
constexpr std::size_t kScratchPointers = 2;

}  // namespace

// Not in the unnamed namespace, whose `members` would hide those of the room's other records.

struct BuildRecord {
  KernelBuild build;
  std::string cubin;  ///< name of the member or file with its bytes
};

struct KernelRecord {
  std::string key;
  std::string name;
  std::vector<std::string> parameters;
  std::vector<BuildRecord> builds;
};

void members(auto& json, SameAs<BuildRecord> auto& record) {
  auto& build = record.build;
  json("architecture", build.architecture, AtLeast{kLeastArchitecture});
  json("cubin", record.cubin);
  json("function", build.function);
  json("warps", build.warps, AtLeast{1});
  json("cluster_blocks", build.cluster_blocks, AtLeast{1});
  json("shared_bytes", build.shared_bytes, AtLeast{0});
  json.unless(0, "scratch_bytes", build.scratch_bytes, AtLeast{0});
  json.unless(0, "profile_scratch_bytes", build.profile_scratch_bytes, AtLeast{0});
  json.unless(false, "cooperative", build.is_cooperative);
  json.unless(false, "dependent", build.is_dependent);
}

static void check_record(const JsonField& field, const BuildRecord& record) {
  const KernelBuild& build = record.build;
  if (build.warps > kMostWarps || build.cluster_blocks > kMostClusterBlocks) {
    field.fail(
        fmt::format("at most {} warps and {} blocks of a cluster", kMostWarps, kMostClusterBlocks),
        fmt::format("{} and {}", build.warps, build.cluster_blocks));
  }
  for (const std::int64_t bytes :
       {build.shared_bytes, build.scratch_bytes, build.profile_scratch_bytes}) {
    if (bytes > kMostBytes) {
      field.fail(fmt::format("at most {} bytes", kMostBytes), fmt::format("{}", bytes));
    }
  }
}

void members(auto& json, SameAs<KernelRecord> auto& kernel) {
  json("key", kernel.key);
  json("name", kernel.name);
  json("parameters", kernel.parameters);
  json("builds", kernel.builds);
}

namespace {

/// Returns offset and size of each parameter as a C compiler packs them: aligned to its size.
std::vector<CubinParameter> packed(const std::vector<std::size_t>& sizes) {
  std::vector<CubinParameter> parameters;
  std::size_t offset = 0;
  for (const std::size_t bytes : sizes) {
    offset = (offset + bytes - 1) / bytes * bytes;
    parameters.push_back({offset, bytes});
    offset += bytes;
  }
  return parameters;
}

std::string text_of(const std::vector<CubinParameter>& parameters) {
  std::vector<std::string> texts;
  for (const CubinParameter& parameter : parameters) {
    texts.push_back(fmt::format("{} at {}", parameter.bytes, parameter.offset));
  }
  return fmt::format("{} of bytes {}", texts.size(), fmt::join(texts, ", "));
}

std::vector<CubinParameter> expected_parameters(const JsonField& field,
                                                const KernelRecord& kernel) {
  std::vector<std::size_t> sizes;
  for (const std::string& type : kernel.parameters) {
    const auto bytes = parameter_bytes(type);
    if (!bytes) {
      field.at("parameters").fail("types of pointers and numbers", type);
    }
    sizes.push_back(*bytes);
  }
  sizes.insert(sizes.end(), kScratchPointers, kPointerBytes);
  return packed(sizes);
}

const std::string& bytes_of(const JsonField& field, const std::string& name, const CodeOf& code) {
  const std::string* bytes = code(name);
  if (bytes == nullptr) {
    field.fail("a file beside kernels.json", name);
  }
  return *bytes;
}

/// Completes a build from its cubin. Throws Error (bad input) unless its parameters match the
/// kernel's signature.
KernelBuild checked_build(const JsonField& field, BuildRecord record, const std::string& cubin,
                          const std::vector<CubinParameter>& expected) {
  const std::vector<CubinKernel> kernels =
      read_cubin(cubin, field.source().file + "/" + record.cubin);
  const auto found = std::ranges::find(kernels, record.build.function, &CubinKernel::name);
  if (found == kernels.end()) {
    field.at("function").fail("a kernel of " + record.cubin, record.build.function);
  }
  if (found->parameters != expected) {
    field.at("cubin").fail("parameters as the signature packs them: " + text_of(expected),
                           text_of(found->parameters));
  }
  record.build.registers = found->registers;
  return std::move(record.build);
}

CompiledKernel kernel_of(const JsonField& field, const CodeOf& code,
                         std::map<std::string, MachineCode>& codes) {
  KernelRecord record;
  read_json(field, record);
  if (!kernel_launch("launch " + record.key + " 1 1 1")) {
    field.at("key").fail("16 hexadecimal digits", record.key);
  }
  CompiledKernel kernel{record.key, record.name, record.parameters, {}};
  const std::vector<JsonField> builds = field.at("builds").items();
  const std::vector<CubinParameter> expected = expected_parameters(field, record);
  for (std::size_t i = 0; i < builds.size(); ++i) {
    const std::string name = record.builds[i].cubin;
    const std::string& bytes = bytes_of(builds[i].at("cubin"), name, code);
    kernel.builds.push_back(checked_build(builds[i], std::move(record.builds[i]), bytes, expected));
    MachineCode& known = codes[name];
    if (!known.bytes) {
      known.bytes = std::make_shared<const std::string>(bytes);
    }
    kernel.builds.back().cubin = known;
  }
  std::ranges::sort(kernel.builds, {}, &KernelBuild::architecture);
  if (std::ranges::adjacent_find(kernel.builds, {}, &KernelBuild::architecture) !=
      kernel.builds.end()) {
    field.at("builds").fail("each architecture once", "one twice");
  }
  return kernel;
}

}  // namespace

std::vector<CompiledKernel> parse_kernels(std::string_view json, const std::string& file,
                                          const CodeOf& code) {
  const JsonSource source{file, "the compiled kernels cannot be read",
                          "make it again with `understudy generate --kernels`"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"list of kernels", kKernelsFormat, kKernelsVersion});
  std::map<std::string, MachineCode> codes;
  std::vector<CompiledKernel> kernels;
  for (const JsonField& field : root.at("kernels").items()) {
    kernels.push_back(kernel_of(field, code, codes));
  }
  std::ranges::sort(kernels, {}, &CompiledKernel::key);
  if (std::ranges::adjacent_find(kernels, {}, &CompiledKernel::key) != kernels.end()) {
    root.at("kernels").fail("each key once", "one twice");
  }
  return kernels;
}

std::vector<ZipMember> kernel_members(const Programs& programs) {
  std::map<std::string, const CompiledKernel*> by_key;
  for (const Program& program : programs) {
    for (const CompiledKernel& kernel : program.kernels) {
      by_key.emplace(kernel.key, &kernel);
    }
  }
  if (by_key.empty()) {
    return {};
  }
  nlohmann::ordered_json document = {{"format", kKernelsFormat}, {"version", kKernelsVersion}};
  nlohmann::ordered_json& list = document["kernels"] = nlohmann::ordered_json::array();
  std::map<std::string, const std::string*> codes;
  for (const auto& [key, kernel] : by_key) {
    KernelRecord record{key, kernel->name, kernel->parameters, {}};
    for (const KernelBuild& build : kernel->builds) {
      const std::string& bytes = *build.cubin.bytes;
      record.builds.push_back({build, fmt::format("kernels/{}.cubin", digest_of(bytes))});
      codes.emplace(record.builds.back().cubin, &bytes);
    }
    list.push_back(json_of(record));
  }
  std::vector<ZipMember> files = {{kKernelsName, document.dump(1) + "\n"}};
  for (const auto& [name, bytes] : codes) {
    files.push_back({name, *bytes});
  }
  return files;
}

void attach_kernels(const std::vector<CompiledKernel>& kernels, Program& program) {
  std::set<std::string_view> launched;
  for (const Instruction& instruction : program.instructions) {
    if (const auto launch = launch_of(instruction)) {
      launched.insert(launch->key);
    }
  }
  program.kernels.clear();
  std::ranges::copy_if(kernels, std::back_inserter(program.kernels),
                       [&](const CompiledKernel& kernel) { return launched.contains(kernel.key); });
}

}  // namespace understudy::et_schema
