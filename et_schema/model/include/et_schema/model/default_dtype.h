#pragma once

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The type that PyTorch gave floating results where nothing else told one, as
/// torch.set_default_dtype() sets it and no trace says: told by the first instruction that shows
/// it, float32 where none does.
[[nodiscard]] DType default_dtype(const Program& program);

}  // namespace understudy::et_schema
