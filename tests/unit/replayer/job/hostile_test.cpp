// Benchmarks that call any operator of the dispatcher with any arguments: whoever replays a
// stranger's file keeps his own, and is told which operator a crash was in.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cli/sandbox/sandbox.h"
#include "et_schema/base/error.h"
#include "et_schema/formats/bench/bench.h"
#include "program_builder.h"
#include "replayer/job/replay.h"
#include "testing/temporary_folder.h"

namespace understudy::replayer {
namespace {

using testing::ProgramBuilder;
using testing::Sizes;

constexpr int kDefaultBenchmarks = 400;
constexpr unsigned kSecondsEach = 20;
constexpr std::string_view kRan = "the operator ran\n";
constexpr rlim_t kMemoryBytes = rlim_t{6} << 30U;

/// Arguments that an adversary, or chance, would give.
class Hostile {
 public:
  explicit Hostile(std::uint64_t seed) : random_(seed) {}

  et_schema::Bench bench_of(const c10::OperatorHandle& handle) {
    shape_ = sizes();
    const c10::FunctionSchema& schema = handle.schema();
    std::vector<et_schema::Argument> arguments;
    for (const c10::Argument& argument : schema.arguments()) {
      arguments.push_back(value(argument.real_type()->str()));
    }
    std::vector<et_schema::Argument> results;
    for (const c10::Argument& result : schema.returns()) {
      const bool is_tensor = result.type()->str() == "Tensor";
      results.push_back(is_tensor ? testing::ref(builder_.intermediate(dtype(), shape_))
                                  : testing::none());
    }
    builder_.add_op(c10::toString(schema), std::move(arguments), std::move(results));
    et_schema::Bench bench;
    bench.groups = {{}};
    bench.sources = {{}};
    bench.programs = {std::move(builder_.program())};
    for (et_schema::Storage& storage : bench.programs.edit(0).storages) {
      storage.device = {};
    }
    return bench;
  }

 private:
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& choices) {
    return choices[random_() % N];
  }
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  Sizes sizes() {
    Sizes sizes(random_() % 5);
    for (std::int64_t& size : sizes) {
      size = one_of(std::array<std::int64_t, 8>{0, 1, 1, 2, 3, 4, 8, 33});
    }
    return sizes;
  }
  et_schema::DType dtype() {
    using et_schema::DType;
    return one_of(std::array{DType::kFloat32, DType::kFloat32, DType::kFloat64, DType::kInt64,
                             DType::kInt64, DType::kInt32, DType::kBool, DType::kUInt8,
                             DType::kBFloat16, DType::kComplexFloat64});
  }
  std::int64_t integer() {
    constexpr std::int64_t kHuge = std::int64_t{1} << 40U;
    return chance(85) ? one_of(std::array<std::int64_t, 7>{-1, 0, 0, 1, 1, 2, 3})
                      : one_of(std::array<std::int64_t, 6>{
                            -2, 64, -kHuge, kHuge, std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::min()});
  }
  et_schema::Argument tensor() {
    constexpr std::int64_t kHuge = std::int64_t{1} << 40U;
    const et_schema::DType type = dtype();
    et_schema::ValueRule rule = testing::constant(1);
    if (type == et_schema::DType::kInt64 || type == et_schema::DType::kInt32) {
      const bool fits = type == et_schema::DType::kInt32;
      const std::int64_t most = fits ? std::numeric_limits<std::int32_t>::max() : kHuge;
      rule.kind = one_of(std::array{
          et_schema::ValueRule::Kind(et_schema::ValueRule::Integers{.low = 0, .high = 1}),
          et_schema::ValueRule::Kind(et_schema::ValueRule::Integers{.low = most - 8, .high = most}),
          et_schema::ValueRule::Kind(
              et_schema::ValueRule::Integers{.low = -most, .high = -most + 8})});
    }
    return testing::ref(builder_.external(type, chance(75) ? shape_ : sizes(), rule));
  }
  et_schema::Argument list(const std::string& item) {
    et_schema::Argument::List items;
    for (std::size_t i = random_() % 4; i > 0; --i) {
      items.push_back(value(item));
    }
    return testing::list(std::move(items));
  }
  et_schema::Argument value(std::string type) {
    if (type.ends_with('?')) {
      if (chance(50)) {
        return testing::none();
      }
      type.pop_back();
    }
    if (type.ends_with(']')) {
      return list(type.substr(0, type.rfind('[')));
    }
    if (type == "Tensor") {
      return tensor();
    }
    if (type == "bool") {
      return testing::flag(chance(50));
    }
    if (type == "float" || (type == "Scalar" && chance(30))) {
      return testing::real(one_of(std::array{0.0, 1.0, 0.5, -1.0, 1e300}));
    }
    if (type == "str") {
      return {std::string(one_of(std::array{"sum", "mean", "none", "tanh", "constant", "reflect",
                                            "/tmp/understudy-stranger", "relative-stranger"}))};
    }
    if (type == "Device") {
      return {et_schema::Argument::DeviceRef{}};
    }
    return testing::number(integer());
  }

  std::mt19937_64 random_;
  ProgramBuilder builder_;
  Sizes shape_;
};

/// How a process that replays it ended.
struct Ending {
  int status = 0;
  std::string said;
};

/// In the child: as the program does, but for its arguments.
[[noreturn]] void replay_and_end(const et_schema::Bench& bench) {
  const rlimit memory{kMemoryBytes, kMemoryBytes};
  setrlimit(RLIMIT_DATA, &memory);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(kSecondsEach);
  int status = 0;
  try {
    cli::Sandbox sandbox;
    sandbox.confine_files(cli::Sandboxing::kAuto, {});
    sandbox.deny_calls();
    ReplayOptions options;
    options.threads = 1;
    options.iterations = 1;
    options.warmup = 0;
    options.passes = 1;
    options.continue_on_error = true;
    options.guards_memory = true;
    const auto backend = backends::make_single_backend({});
    const RankRun run =
        replay_rank(et_schema::read_bench_bytes(et_schema::bench_bytes(bench), "hostile.et"), 0,
                    *backend, options);
    if (run.report.coverage.exact > 0) {
      static_cast<void>(!write(STDERR_FILENO, kRan.data(), kRan.size()));
    }
  } catch (const et_schema::Error& error) {
    status = static_cast<int>(error.kind());
    const std::string text = et_schema::to_text(error);
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  } catch (const std::exception& error) {
    status = 70;
    static_cast<void>(!write(STDERR_FILENO, error.what(), std::string(error.what()).size()));
  }
  _exit(status);
}

Ending replay_apart(const et_schema::Bench& bench, const std::filesystem::path& folder) {
  const std::filesystem::path said = folder / "said";
  static_cast<void>(fflush(nullptr));  // or the child prints it again
  const pid_t child = fork();
  if (child == 0) {
    static_cast<void>(!freopen(said.c_str(), "w", stderr));
    std::filesystem::current_path(folder / "here");
    replay_and_end(bench);
  }
  Ending ending;
  waitpid(child, &ending.status, 0);
  std::ifstream file(said);
  ending.said = std::string(std::istreambuf_iterator<char>(file), {});
  return ending;
}

std::vector<c10::OperatorHandle> all_operators() {
  std::map<std::string, c10::OperatorHandle> handles;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (const auto handle = c10::Dispatcher::singleton().findSchema(name)) {
      handles.emplace(c10::toString(name), *handle);
    }
  }
  std::vector<c10::OperatorHandle> result;
  for (const auto& [name, handle] : handles) {
    result.push_back(handle);
  }
  return result;
}

int benchmarks_asked() {
  const char* text = std::getenv("UNDERSTUDY_HOSTILE_BENCHMARKS");
  return text == nullptr ? kDefaultBenchmarks : std::atoi(text);
}

/// UNDERSTUDY_HOSTILE_BENCHMARKS=10000 replays more.
TEST(HostileBenchmarks, ChangeNothingAndNameTheOperatorTheyCrashIn) {
  const testing_files::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  std::filesystem::create_directory(folder / "here");
  const std::vector<c10::OperatorHandle> operators = all_operators();
  ASSERT_GT(operators.size(), 3000U);
  std::map<std::string, int> endings;
  std::mt19937_64 random(1);
  for (int i = 0; i < benchmarks_asked(); ++i) {
    const c10::OperatorHandle& handle = operators[random() % operators.size()];
    const std::string name = c10::toString(handle.operator_name());
    const et_schema::Bench bench = Hostile(static_cast<std::uint64_t>(i)).bench_of(handle);
    const Ending ending = replay_apart(bench, folder);
    const bool has_crashed = ending.said.find(" crashed\n") != std::string::npos ||
                             ending.said.find(" reaches beyond its") != std::string::npos;
    if (WIFSIGNALED(ending.status)) {
      ++endings[fmt::format("signal {}", WTERMSIG(ending.status))];
      ADD_FAILURE() << i << ": " << name << " ended by signal " << WTERMSIG(ending.status) << "\n"
                    << ending.said;
      continue;
    }
    const int status = WEXITSTATUS(ending.status);
    const bool has_run = ending.said.find(kRan) != std::string::npos;
    ++endings[has_crashed ? "named crash"
              : has_run   ? "the operator ran"
                          : fmt::format("status {}", status)];
    EXPECT_TRUE(status == 0 || status == 1 || status == 65) << i << ": " << name << "\n"
                                                            << ending.said;
    if (has_crashed) {
      EXPECT_NE(ending.said.find("replay: " + name + " "), std::string::npos) << ending.said;
      if (std::getenv("UNDERSTUDY_HOSTILE_BENCHMARKS") != nullptr) {
        fmt::print("{}: {} crashed\n", i, name);
      }
    }
  }
  for (const auto& [ending, count] : endings) {
    fmt::print("{}: {}\n", ending, count);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "here"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/understudy-stranger"));
}

}  // namespace
}  // namespace understudy::replayer
