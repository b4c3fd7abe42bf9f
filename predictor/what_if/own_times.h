#pragma once

#include <compare>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "predictor/simulate/simulate.h"

namespace understudy::predictor {

struct WhatIf;

/// A part of the time that a rank takes by itself, without communication and waits.
struct OwnPart {
  bool on_device = false;
  std::string name;  ///< a class of operators, kIssuing, kCalls, kBetween or kUnheld
  auto operator<=>(const OwnPart&) const = default;
};
inline constexpr const char* kIssuing = "issuing to the device";
inline constexpr const char* kCalls = "calls of communication";
inline constexpr const char* kBetween = "between operators";
inline constexpr const char* kUnheld = "work of no operator";

/// An estimate of an instruction's cost, and the part that it belongs to.
struct OwnEstimate {
  OwnPart part;
  Estimate* estimate = nullptr;
};
[[nodiscard]] std::vector<OwnEstimate> own_estimates(const Program& program,
                                                     const Instruction& instruction,
                                                     PlayedCost& cost);

/// Returns true if the operator runs on a CPU, where its time is the host's.
[[nodiscard]] bool is_work_of_host(const Program& program, const Instruction& instruction,
                                   const OperatorCost& cost);

/// ns by part.
using OwnTimes = std::map<OwnPart, double>;
/// Returns the own times of each of the job's programs. `simulation` must be without questions.
[[nodiscard]] std::vector<OwnTimes> own_times(const Job& job, const Simulation& simulation);

/// Returns the lower median, so that with two ranks the faster one is usual. `times_ns` must not be
/// empty.
[[nodiscard]] double usual_ns(std::vector<double> times_ns);

/// Returns true if ranks send to each other, as the stages of a pipeline do.
[[nodiscard]] bool has_messages(const Job& job);

/// Returns the usual time of each part, of all ranks but those in `left_out` (ascending). With
/// messages, ranks differ in what they do, and only those that have the part count.
[[nodiscard]] OwnTimes usual_times(const Job& job, const std::vector<OwnTimes>& times,
                                   const std::vector<int>& left_out);

/// Gives each rank or node that a question names programs of its own, which are returned and must
/// outlive the job. Costs must be made of the job afterwards. Throws Error (usage) if the job has
/// no such rank.
[[nodiscard]] std::deque<Program> split_ranks(Job& job, const std::vector<WhatIf>& questions);

/// Returns the questions with WhatIf::of_ranks set for this job. `simulation` must be without
/// questions.
[[nodiscard]] std::vector<WhatIf> about_ranks(const Job& job, const Simulation& simulation,
                                              std::vector<WhatIf> questions);

/// Returns the question what the step would be if these ranks took the usual times of the others.
[[nodiscard]] WhatIf even_ranks(const Job& job, const std::vector<OwnTimes>& times,
                                const std::vector<int>& ranks);

}  // namespace understudy::predictor
