#pragma once

#include <string>

#include "predictor/embedding/fitted.h"

namespace understudy::predictor {

/// The section `embedding` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const EmbeddingModel& model);

/// Reads it back. Throws Error (bad input) with the field.
[[nodiscard]] EmbeddingModel embedding_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
