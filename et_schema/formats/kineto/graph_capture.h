#pragma once

#include <string_view>

#include "et_schema/formats/kineto/kineto.h"

namespace understudy::et_schema {

/// Returns true for a profile of the pass in which an engine captured CUDA or HIP graphs: it has
/// operators, but most of their launches did not run.
[[nodiscard]] bool is_graph_capture(const Profile& profile);

/// Gives the launches that `capture` captured the device events of a run that launches the same
/// graph, and sets Profile::graph_run. Launches and events are joined in their order, since a
/// runtime's call does not name its kernel. The launch of median length counts; its events follow
/// the last captured call.
///
/// If the capture marks several graphs (vLLM: an annotation capture_16_FULL around each), only the
/// events within one mark stay, which becomes the step 16_FULL. `step` selects it; if empty, the
/// number of events must. Throws Error (bad input) if not exactly one graph fits the run.
void add_graph_run(Profile& capture, const Profile& run, std::string_view step);

}  // namespace understudy::et_schema
