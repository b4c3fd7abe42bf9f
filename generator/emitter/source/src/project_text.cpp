#include "project_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "et_schema/base/version.h"
#include "foreign_text.h"

namespace understudy::emitter {
namespace {

std::set<std::string> distinct(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

/// Joins texts with a prefix and a suffix each: "make_step_rank0, make_step_rank1".
std::string joined(std::string_view before, const std::vector<std::string>& texts,
                   std::string_view behind) {
  std::string all;
  for (const std::string& text : texts) {
    all += fmt::format("{}{}{}{}", all.empty() ? "" : ", ", before, text, behind);
  }
  return all;
}

std::string cmake_text(const ProjectParts& parts) {
  std::string sources = "main.cpp";
  for (const std::string& step : distinct(parts.step_of)) {
    sources += " " + step + ".cpp";
  }
  std::string text = fmt::format(R"cmake(cmake_minimum_required(VERSION 3.18)
project(bench LANGUAGES CXX)

# LibTorch: an unpacked libtorch, or the folder of an installed torch wheel. Without it the torch of the
# python3 on the path is taken, but for one in this folder.
set(TORCH_ROOT "" CACHE PATH "Folder that holds include/ and lib/libtorch.so")
if(NOT TORCH_ROOT)
  execute_process(COMMAND python3 -I -c "import site, sys; sys.path.append(site.getusersitepackages()); import torch, os; print(os.path.dirname(torch.__file__), end='')"
                  OUTPUT_VARIABLE TORCH_ROOT ERROR_QUIET)
endif()
if(NOT EXISTS "${{TORCH_ROOT}}/lib/libtorch.so")
  message(FATAL_ERROR "No LibTorch: give its folder with -DTORCH_ROOT=")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_executable(bench {})
target_compile_features(bench PRIVATE cxx_std_20)
target_compile_options(bench PRIVATE -Wall -Wextra -Werror)
# LibTorch is built with it, and checks in its headers read what is there without it only.
target_compile_definitions(bench PRIVATE NDEBUG)
# The steps call LibTorch and compute nothing themselves.
set_source_files_properties({} PROPERTIES COMPILE_OPTIONS -O1)
target_include_directories(bench SYSTEM PRIVATE
  "${{TORCH_ROOT}}/include" "${{TORCH_ROOT}}/include/torch/csrc/api/include")
target_link_directories(bench PRIVATE "${{TORCH_ROOT}}/lib")
target_link_libraries(bench PRIVATE torch torch_cpu c10 ${{CMAKE_DL_LIBS}})
if(EXISTS "${{TORCH_ROOT}}/lib/libtorch_cuda.so")
  # Nothing here calls it by name: its operators register themselves.
  target_link_libraries(bench PRIVATE -Wl,--no-as-needed torch_cuda c10_cuda)
  target_link_options(bench PRIVATE -Wl,--allow-shlib-undefined)
endif()
set_target_properties(bench PROPERTIES BUILD_RPATH "${{TORCH_ROOT}}/lib")
)cmake",
                                 sources, sources.substr(9));
  if (parts.communicates) {
    text += R"cmake(
find_package(MPI REQUIRED COMPONENTS CXX)
target_link_libraries(bench PRIVATE MPI::MPI_CXX)
target_compile_definitions(bench PRIVATE BENCH_MPI OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
)cmake";
  }
  return text;
}

std::string main_text(const ProjectParts& parts) {
  std::string text = "#include \"bench/run.h\"\n\n";
  for (const std::string& step : distinct(parts.step_of)) {
    text += fmt::format("std::unique_ptr<bench::Step> make_{}();\n", step);
  }
  text += "\nint main(int argc, char** argv) {\n  const bench::Job job = {\n";
  text += fmt::format(
      "      .name = {},\n      .ranks = {{{}}},\n      .groups = {{{}}},\n      .report =\n{},\n  "
      "}};\n",
      text_literal(parts.name), joined("make_", parts.step_of, ""), joined("{", parts.groups, "}"),
      lines_literal(parts.report, 10));
  return text + "  return bench::run(argc, argv, job);\n}\n";
}

std::string readme_text(const ProjectParts& parts, bool is_python) {
  const std::size_t ranks = parts.step_of.size();
  const std::string launcher = ranks == 1 ? "" : fmt::format("mpirun -np {} ", ranks);
  const std::string build =
      is_python
          ? ""
          : "    cmake -B build -DTORCH_ROOT=/path/to/libtorch && cmake --build build --parallel\n";
  const std::string run =
      is_python ? (ranks == 1 ? "python3 main.py"
                              : fmt::format("torchrun --nproc-per-node {} main.py", ranks))
                : launcher + "build/bench";
  std::string text = fmt::format(
      "# {}\n\n"
      "A training step of {} rank{}, replayed without its model and its data: the operators that "
      "were\n"
      "recorded, in their order, on tensors of their shapes. Needs {}.\n\n"
      "{}    {}\n    {} --help\n\n",
      commented(parts.name), ranks, ranks == 1 ? "" : "s",
      is_python ? "PyTorch" : (parts.communicates ? "LibTorch and MPI" : "LibTorch"), build, run,
      run);
  text += fmt::format(
      "`main{0}` starts it, `step_rank*{0}` hold the step, `bench/` makes tensors and measures.\n",
      is_python ? ".py" : ".cpp");
  std::set<std::string> sources;
  for (const std::string& source : parts.source_of) {
    sources.insert(commented(source));
  }
  text += fmt::format("\nMade by understudy {} from {}.\n", et_schema::kToolVersion,
                      fmt::join(sources, ", "));
  return text;
}

}  // namespace

std::map<std::string, std::string> cpp_project(const ProjectParts& parts) {
  std::map<std::string, std::string> files;
  files["CMakeLists.txt"] = cmake_text(parts);
  files["main.cpp"] = main_text(parts);
  files["README.md"] = readme_text(parts, false);
  for (const auto& [path, text] : runtime_files()) {
    const bool is_mpi = path.find("comms_mpi") != std::string::npos ||
                        path.find("communicate") != std::string::npos;
    const bool is_needed = (parts.communicates || !is_mpi) &&
                           (parts.has_rows || path.find("rows") == std::string::npos);
    if (path.ends_with(".h") && is_needed) {
      files[path] = std::string(text);
    }
  }
  return files;
}

std::map<std::string, std::string> python_project(const ProjectParts& parts) {
  std::map<std::string, std::string> files;
  files["README.md"] = readme_text(parts, true);
  files["report.json"] = parts.report;
  for (const auto& [path, text] : runtime_files()) {
    if (path.ends_with(".py")) {
      files[path] = std::string(text);
    }
  }
  std::string text = "import bench\n";
  for (const std::string& step : distinct(parts.step_of)) {
    text += fmt::format("import {}\n", step);
  }
  text += fmt::format("\nif __name__ == \"__main__\":\n    bench.run({}, [{}], [{}])\n",
                      text_literal(parts.name), joined("", parts.step_of, ".Step"),
                      joined("[", parts.groups, "]"));
  files["main.py"] = text;
  return files;
}

}  // namespace understudy::emitter
