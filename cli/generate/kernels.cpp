#include "et_schema/formats/bench/kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "change.h"
#include "cli/sandbox/sandbox.h"
#include "et_schema/base/error.h"
#include "et_schema/base/json_fields.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/shipped.h"
#include "et_schema/base/temporary_folder.h"
#include "fleet/process/run_program.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array kEndings = {".compiled.json.gz", ".compiled.json"};

std::set<std::string> launched_keys(const et_schema::Bench& bench) {
  std::set<std::string> keys;
  for (const et_schema::Program& program : bench.programs) {
    for (const et_schema::Instruction& instruction : program.instructions) {
      if (const auto launch = et_schema::launch_of(instruction)) {
        keys.emplace(launch->key);
      }
    }
  }
  return keys;
}

bool is_description(const std::string& name) {
  return std::ranges::any_of(kEndings, [&](const char* ending) { return name.ends_with(ending); });
}

/// Returns rank-R.compiled.json of every trace: in a folder of traces, or beside a trace.
std::vector<std::string> descriptions_beside(const std::vector<std::string>& traces) {
  std::set<std::string> found;
  for (const std::string& trace : traces) {
    std::error_code error;
    const fs::path folder =
        fs::is_directory(trace, error) ? fs::path(trace) : fs::path(trace).parent_path();
    for (const fs::directory_entry& entry :
         fs::directory_iterator(folder.empty() ? fs::path(".") : folder, error)) {
      if (entry.is_regular_file(error) && is_description(entry.path().filename().string())) {
        found.insert(entry.path().string());
      }
    }
  }
  return {found.begin(), found.end()};
}

/// Ends the processes that a program has left: the system has made them this process' children.
void end_left_processes() {
  do {
    std::error_code error;
    for (const auto& thread : fs::directory_iterator("/proc/self/task", error)) {
      std::ifstream children(thread.path() / "children");
      for (pid_t child = 0; children >> child;) {
        ::kill(child, SIGKILL);
      }
    }
  } while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
}

/// Runs a program that executes untrusted code and may only write in `folder`. The sandbox belongs
/// to a separate thread, so that this process does not keep it. The program itself gives up reading
/// (kernel_compiler.py): only it knows where its Python is.
fleet::ProgramEnd run_in_sandbox(fleet::ProgramCall call, const fs::path& folder) {
  call.variables.push_back("TMPDIR=" + folder.string());
  call.passes =
      "PATH HOME LANG LC_* LD_LIBRARY_PATH PYTHON* VIRTUAL_ENV TRITON_* UNDERSTUDY_PYTHON";
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  fleet::ProgramEnd end = std::async(std::launch::async, [&] {
                            Sandbox sandbox;
                            sandbox.confine_files(Sandboxing::kAuto, {.folders = {folder.string()},
                                                                      .starts_programs = true,
                                                                      .is_of_thread = true});
                            sandbox.deny_calls();
                            return fleet::run_program(call);
                          }).get();
  end_left_processes();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  return end;
}

void run_compiler(const std::vector<std::string>& descriptions, const std::set<std::string>& keys,
                  const std::vector<int>& architectures, const et_schema::TemporaryFolder& folder) {
  const std::string list = folder.write("keys", fmt::format("{}\n", fmt::join(keys, "\n")));
  constexpr int kNoTriton = 2;
  constexpr double kStartSeconds = 300;  // to load Triton, on a busy machine
  constexpr double kKernelSeconds = 60;
  const double timeout_s =
      kStartSeconds + kKernelSeconds * static_cast<double>(keys.size() * architectures.size());
  fleet::ProgramEnd end;
  end.status = kNoTriton;
  end.errors = "no Python";
  for (const std::string& python : et_schema::pythons()) {
    fleet::ProgramCall call{et_schema::python_words(python, "kernel_compiler")};
    call.words.insert(call.words.end(),
                      {"--output", folder.path(), "--architectures",
                       fmt::format("sm_{}", fmt::join(architectures, ",sm_")), "--keys", list});
    call.words.insert(call.words.end(), descriptions.begin(), descriptions.end());
    call.timeout_s = timeout_s;
    end = run_in_sandbox(std::move(call), folder.path());
    if (end.status == 0) {
      return;
    }
    if (end.status != kNoTriton) {
      break;
    }
  }
  std::string said = end.errors.substr(0, end.errors.find_last_not_of('\n') + 1);
  said = said.substr(said.rfind('\n') + 1);
  et_schema::ErrorContext context{.field = "--kernels",
                                  .expected = "compile_kernels to end with status 0",
                                  .got = end.timed_out
                                             ? fmt::format("none within {} s", timeout_s)
                                             : fmt::format("status {}: {}", end.status, said),
                                  .hint = "leave it out: replays then stub the kernels"};
  constexpr int kBadInput = 65;
  throw end.status == kBadInput
      ? et_schema::bad_input("the kernels' sources cannot be read", std::move(context))
      : et_schema::run_failed("the kernels were not compiled", std::move(context));
}

KernelsMade read_result(et_schema::Bench& bench, const fs::path& folder) {
  const std::string list = (folder / et_schema::kKernelsName).string();
  const std::string json = et_schema::read_file(list, et_schema::process_limits());
  std::map<std::string, std::string> files;
  const std::vector<et_schema::CompiledKernel> kernels =
      et_schema::parse_kernels(json, list, [&](const std::string& name) -> const std::string* {
        const auto [file, is_new] = files.try_emplace(name);
        if (is_new) {
          file->second =
              et_schema::read_file((folder / name).string(), et_schema::process_limits());
        }
        return &file->second;
      });
  const et_schema::JsonSource source{list, "the compiled kernels cannot be read", ""};
  const nlohmann::json document = et_schema::parse_json(json, source);
  const et_schema::JsonField root(document, source);
  KernelsMade made;
  made.compiler = root.at("compiler").as_text();
  made.kernels = kernels.size();
  for (const et_schema::JsonField& failure : root.at("failures").items()) {
    made.failures.push_back({failure.at("name").as_text(), failure.at("architecture").as_int32(),
                             failure.at("why").as_free_text()});
  }
  std::set<std::string_view> cubins;
  for (const et_schema::CompiledKernel& kernel : kernels) {
    for (const et_schema::KernelBuild& build : kernel.builds) {
      made.bytes += cubins.insert(*build.cubin.bytes).second ? build.cubin.bytes->size() : 0;
    }
  }
  made.cubins = cubins.size();
  std::set<std::string_view> known;
  for (const et_schema::CompiledKernel& kernel : kernels) {
    known.insert(kernel.key);
  }
  bench.programs.edit_each([&](et_schema::Program& program, std::size_t ranks) {
    et_schema::attach_kernels(kernels, program);
    for (const et_schema::Instruction& instruction : program.instructions) {
      if (instruction.kind == et_schema::InstructionKind::kKernel) {
        const auto launch = et_schema::launch_of(instruction);
        (launch && known.contains(launch->key) ? made.launches : made.stubs) += ranks;
      }
    }
  });
  return made;
}

}  // namespace

void add_kernels_option(CommandLine& line, std::vector<int>& architectures) {
  line.add_list(
          "--kernels SM",
          [&architectures](const std::vector<std::string>& names) -> std::string {
            std::set<int> numbers;
            for (const std::string& name : names) {
              const bool is_named = name.starts_with("sm_");
              const double number = parse_number(is_named ? name.substr(3) : "").value_or(0);
              if (number < 10 || number > 999 || number != std::floor(number)) {
                return fmt::format("{} is no architecture, as sm_80 or sm_90", name);
              }
              numbers.insert(static_cast<int>(number));
            }
            architectures.assign(numbers.begin(), numbers.end());
            return "";
          },
          "Compile the capture's Triton kernels ahead for these GPUs, such as sm_80,sm_90: replays "
          "launch them there instead of stubs. Needs a Python with Triton, and no GPU")
      .splits_at_commas()
      .repeats();
}

KernelsMade compile_kernels(et_schema::Bench& bench, const std::vector<std::string>& traces,
                            const std::vector<int>& architectures) {
  const std::set<std::string> keys = launched_keys(bench);
  if (keys.empty()) {
    throw et_schema::bad_input(
        "the traces have no launch of a Triton kernel that could be compiled",
        {.file = traces.front(),
         .field = "--kernels",
         .expected = "kernels whose launches a capture recorded",
         .got = "none",
         .hint = "capture with scripts/capture of this version, or leave --kernels out"});
  }
  const std::vector<std::string> descriptions = descriptions_beside(traces);
  if (descriptions.empty()) {
    throw et_schema::bad_input("the kernels' sources are missing",
                               {.file = traces.front(),
                                .field = "--kernels",
                                .expected = "rank-R.compiled.json of the capture beside the traces",
                                .got = "none",
                                .hint = "unpack the capture's archive, and capture with sources"});
  }
  const et_schema::TemporaryFolder folder;
  run_compiler(descriptions, keys, architectures, folder);
  return read_result(bench, folder.path());
}

std::size_t remove_kernels(et_schema::Bench& bench) {
  std::set<std::string> keys;
  bench.programs.edit_each([&](et_schema::Program& program, std::size_t) {
    for (const et_schema::CompiledKernel& kernel : program.kernels) {
      keys.insert(kernel.key);
    }
    program.kernels.clear();
  });
  return keys.size();
}

}  // namespace understudy::cli
