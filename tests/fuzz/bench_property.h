#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace understudy::et_schema {

/// What holds of any bytes given as a benchmark: they are refused with an Error, or what was read
/// is written and read again as the same. The first byte chooses the part: the whole file, the
/// manifest, a program, or both packed into a zip. Anything but an Error ends the process.
void check_bench_property(std::string_view input);

/// Inputs from which mutations start.
[[nodiscard]] std::vector<std::string> bench_seeds();

/// The same for reports: of a job, or of one rank.
void check_report_property(std::string_view input);
[[nodiscard]] std::vector<std::string> report_seeds();

}  // namespace understudy::et_schema
