#include "et_schema/formats/pytorch_et/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/unpack.h"
#include "et_schema/formats/capture/capture_origin.h"
#include "et_schema/formats/capture/index_uses.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/formats/pytorch_et/process_groups.h"
#include "importers.h"

namespace understudy::et_schema {
namespace {

namespace fs = std::filesystem;

/// Returns the folders in `path`, sorted; none if `path` is not a folder.
std::vector<std::string> folders_in(const std::string& path) {
  std::error_code error;
  std::vector<std::string> folders;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code no_status;
    if (entry->is_directory(no_status)) {
      folders.push_back(entry->path().string());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

/// Returns the error for a benchmark among inputs that must be traces: alone, or with other inputs.
Error bench_among(const std::string& path, const std::vector<std::string>& paths) {
  const auto other = std::ranges::find_if(paths, [&](const auto& given) { return given != path; });
  const bool is_alone = other == paths.end();
  return bad_input(
      "no trace found",
      {.file = path,
       .expected = "PyTorch execution traces or Chakra traces, one a rank, plain or gzipped",
       .got = is_alone ? "a benchmark (bench.et)"
                       : fmt::format("a benchmark (bench.et), with {} beside it", *other),
       .hint = is_alone ? "replay takes it; traces are what it was made from"
                        : "give one benchmark alone, or traces without it"});
}

/// Returns "other files: a.txt and 3 more". `names` must not be empty.
std::string and_more(std::string_view what, const std::vector<std::string>& names) {
  return fmt::format("{}{}{}", what, names.front(),
                     names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

Error no_traces(const std::string& path, const std::vector<std::string>& paths,
                const TraceSet& set) {
  std::error_code error;
  const bool is_bench =
      fs::is_regular_file(path, error) &&
      std::find(set.others.begin(), set.others.end(), path + "/manifest.json") != set.others.end();
  if (is_bench) {
    return bench_among(path, paths);
  }
  const bool is_profiles = !set.kineto.empty();
  const std::vector<std::string> folders = folders_in(path);
  std::string got = is_profiles           ? and_more("Kineto files: ", set.kineto)
                    : !set.others.empty() ? and_more("other files: ", set.others)
                    : !folders.empty()    ? and_more("no files, but folders: ", folders)
                                          : "none";
  std::string hint;
  if (!folders.empty()) {  // each may contain a job
    hint = fmt::format("give the folder of one job's traces, perhaps {}", folders.front());
  } else if (is_profiles) {
    hint = "give the execution traces of the same run, or the profiles alone, without other files";
  }
  return bad_input(
      "no trace found",
      {.file = path,
       .expected = "PyTorch execution traces or Chakra traces, one a rank, plain or gzipped",
       .got = std::move(got),
       .hint = std::move(hint)});
}

/// Returns the only file whose name is that of a trace, though its content is not.
std::optional<std::string> meant_for_trace(const std::vector<std::string>& others) {
  std::optional<std::string> meant;
  for (const std::string& name : others) {
    std::error_code error;
    const bool has_name = name.ends_with(".json") || name.ends_with(".gz") || name.ends_with(".et");
    const bool is_capture = fs::path(name).filename() == kCaptureName;
    if (has_name && !is_capture && fs::is_regular_file(name, error)) {
      if (meant) {
        return std::nullopt;
      }
      meant = name;
    }
  }
  return meant;
}

/// A file of a trace whose rank is not known yet.
struct ReadFile {
  const Importer* importer;
  std::string name;
  ReadTrace trace;
};

/// Refuses traces of two formats. They may be of the same job, and the user must choose one.
void refuse_mixture(const std::vector<ReadFile>& files) {
  if (files.empty()) {
    return;
  }
  const ReadFile& first = *std::ranges::min_element(files, {}, &ReadFile::importer);
  const ReadFile& other = *std::ranges::max_element(files, {}, &ReadFile::importer);
  if (first.importer != other.importer) {
    throw bad_input("two formats in one input",
                    {.file = other.name,
                     .expected = fmt::format("{}, as {}", first.importer->name, first.name),
                     .got = other.importer->name,
                     .hint = "give the files of one of the formats"});
  }
}

/// Returns the ranks that the files' contents tell if all do, and differ; otherwise those of their
/// names.
std::vector<int> ranks_of(const std::vector<ReadFile>& files) {
  std::vector<std::string> names;
  std::vector<int> told;
  for (const ReadFile& file : files) {
    names.push_back(file.name);
    if (file.trace.rank) {
      told.push_back(*file.trace.rank);
    }
  }
  return std::set(told.begin(), told.end()).size() == files.size() ? told : ranks_from_names(names);
}

/// Makes the traces after all ranks are known, since the rank is part of a trace.
std::vector<Trace> make_traces(const std::vector<ReadFile>& files,
                               const std::vector<ProcessGroup>& groups) {
  const std::vector<int> ranks = ranks_of(files);
  std::vector<Trace> traces;
  for (std::size_t i = 0; i < files.size(); ++i) {
    traces.push_back(
        files[i].trace.make(ranks[i], static_cast<std::int64_t>(files.size()), groups));
  }
  return traces;
}

void check_ranks(const std::vector<Trace>& traces, RankGaps gaps) {
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (i > 0 && traces[i].rank == traces[i - 1].rank) {
      throw bad_input("two files for one rank",
                      {.file = traces[i].file,
                       .rank = traces[i].rank,
                       .expected = "one file for each rank",
                       .got = fmt::format("this file and {}", traces[i - 1].file),
                       .hint = "give one of them only"});
    }
    if (gaps == RankGaps::kRefused && traces[i].rank != static_cast<int>(i)) {
      throw bad_input(
          fmt::format("rank {} is missing", i),
          {.file = traces[i].file,
           .expected = fmt::format("ranks 0 to {}, for {} files", traces.size() - 1, traces.size()),
           .got = fmt::format("rank {} after {} of them", traces[i].rank, i),
           .hint = "give the files of all ranks, or one file alone"});
    }
  }
}

using UsesByStem = std::map<std::string, IndexUses>;

/// Reads the file of index values beside a trace that was named alone.
void read_index_uses_beside(const std::string& trace, UnpackBudget& budget, UsesByStem& uses) {
  for (const char* ending : {".indices.json.gz", ".indices.json"}) {
    const std::string stem = stem_of_trace(trace);
    std::error_code error;
    if (fs::is_regular_file(stem + ending, error)) {
      read_input_files(stem + ending, budget, [&](InputFile&& file) {
        uses.insert_or_assign(stem, parse_index_uses(file.data, stem + ending));
        budget.keep(file.data.size());
      });
      return;
    }
  }
}

/// Reads the capture.json beside a trace that was named alone.
void read_capture_beside(const std::string& trace, UnpackBudget& budget, CaptureOrigins& origins) {
  const std::string name = folder_of(trace) + std::string(kCaptureName);
  std::error_code error;
  if (!origins.has_folder_of(trace) && fs::is_regular_file(name, error)) {
    read_input_files(name, budget, [&](InputFile&& file) { origins.add(name, file.data); });
  }
}

void attach_index_uses(std::vector<Trace>& traces, UsesByStem& uses) {
  for (Trace& trace : traces) {
    if (const auto found = uses.find(stem_of_trace(trace.file)); found != uses.end()) {
      trace.index_uses = std::move(found->second);
    }
  }
}

/// Returns true if traces of profiles that record their ranks are all of a job's.
bool are_all_ranks(const std::vector<Trace>& traces) {
  std::set<std::int64_t> told;
  std::int64_t world_size = 0;
  for (const Trace& trace : traces) {
    told.insert(trace.rank);
    for (const ProcessGroup& group : trace.process_groups) {
      world_size = std::max(world_size, group.size);
    }
  }
  return told.size() == traces.size() && static_cast<std::int64_t>(told.size()) == world_size &&
         *told.begin() == 0 && *told.rbegin() == world_size - 1;
}

/// Makes traces of the Kineto profiles among the inputs. Profiles that record their ranks are the
/// job if all ranks are there: others, as that of an engine's front end, are left out.
void read_profiles_alone(const std::vector<std::string>& paths, const ReadLimits& limits,
                         const TraceOfProfile& of_profile, TraceSet& set) {
  std::vector<Trace> unranked;
  std::optional<Error> refused;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    UnpackBudget budget(limits);  // profiles are not kept
    read_input_files(path, budget, [&](InputFile&& file) {
      if (classify_json(file.data) != JsonKind::kKineto) {
        return;
      }
      try {
        Trace trace = of_profile(file.data, file.name);
        (trace.process_groups.empty() ? unranked : set.traces).push_back(std::move(trace));
      } catch (const Error& error) {
        if (!refused) {
          refused = error;
        }
        set.kineto.push_back(file.name);
      }
    });
  }
  const bool is_job = set.traces.size() > 1 && are_all_ranks(set.traces);
  if (refused && !is_job) {
    throw *refused;
  }
  for (Trace& trace : unranked) {
    if (is_job) {
      set.kineto.push_back(trace.file);
    } else {
      set.traces.push_back(std::move(trace));
    }
  }
  std::set<int> told;
  for (const Trace& trace : set.traces) {
    told.insert(trace.rank);
    names.push_back(trace.file);
  }
  if (told.size() < set.traces.size()) {
    const std::vector<int> ranks = ranks_from_names(names);
    for (std::size_t i = 0; i < set.traces.size(); ++i) {
      set.traces[i].rank = ranks[i];
    }
  }
}

void sort_ranks(std::vector<Trace>& traces, RankGaps gaps) {
  std::ranges::sort(traces, {}, &Trace::rank);
  if (traces.size() > 1) {
    check_ranks(traces, gaps);
  }
}

}  // namespace

TraceSet read_trace_set(const std::vector<std::string>& paths, const ReadLimits& limits,
                        RankGaps gaps, const TraceOfProfile& of_profile) {
  TraceSet set;
  CaptureOrigins origins;
  UsesByStem uses;
  std::vector<ProcessGroup> groups;
  std::vector<ReadFile> files;
  UnpackBudget budget(limits);
  for (const std::string& path : paths) {
    const std::size_t before = files.size();
    const std::size_t profiles_before = set.kineto.size();
    read_input_files(path, budget, [&](InputFile&& file) {
      if (const auto stem = stem_of_index_uses(file.name); stem && file.name != path) {
        uses.insert_or_assign(*stem, parse_index_uses(file.data, file.name));
        budget.keep(file.data.size());
        return;
      }
      // A file that the user named must be a trace; otherwise the reader's error says what it is.
      const Importer* importer = importer_of(file.data);
      const bool is_profile = importer == nullptr && classify_json(file.data) == JsonKind::kKineto;
      if (importer == nullptr && file.name == path && !(is_profile && of_profile)) {
        importer = importers().data();
      }
      if (importer == nullptr) {
        if (is_profile) {
          set.kineto.push_back(file.name);
        } else if (auto listed = read_comm_groups(file.data)) {
          groups = std::move(*listed);
        } else {
          set.others.push_back(file.name);
          origins.add(file.name, file.data);
        }
        return;
      }
      files.push_back({importer, file.name, importer->read(file.data, file.name)});
      budget.keep(file.data.size());
      if (file.name == path) {
        read_index_uses_beside(path, budget, uses);
        read_capture_beside(path, budget, origins);
      }
    });
    if (of_profile && files.size() == before && set.kineto.size() > profiles_before) {
      set.profiles.push_back(path);
    } else if (files.size() == before) {
      if (const auto meant = meant_for_trace(set.others); meant && *meant != path) {
        static_cast<void>(read_trace_set({*meant}, limits, gaps));  // throws the error of this file
      }
      throw no_traces(path, paths, set);
    }
  }
  if (files.empty()) {
    set.kineto.clear();
    set.profiles.clear();
    read_profiles_alone(paths, limits, of_profile, set);
    sort_ranks(set.traces, gaps);
    return set;
  }
  refuse_mixture(files);
  set.traces = make_traces(files, groups);
  attach_index_uses(set.traces, uses);
  origins.attach(set.traces);
  sort_ranks(set.traces, gaps);
  return set;
}

std::vector<Trace> read_traces(const std::vector<std::string>& paths, const ReadLimits& limits) {
  return read_trace_set(paths, limits).traces;
}

}  // namespace understudy::et_schema
