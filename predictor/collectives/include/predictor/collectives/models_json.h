#pragma once

#include <string>

#include "predictor/collectives/models.h"

namespace understudy::et_schema {
class JsonField;
}

namespace understudy::predictor {

/// The section `collectives` of a platform file (docs/formats.md): one JSON object.
[[nodiscard]] std::string to_json(const CollectiveModels& models);

/// Reads it back. Throws Error (bad input) with the field: a kind that is not known, lists of
/// different lengths, numbers outside of their range.
[[nodiscard]] CollectiveModels collectives_from_json(const et_schema::JsonField& section);

}  // namespace understudy::predictor
