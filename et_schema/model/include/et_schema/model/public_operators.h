#pragma once

#include <string_view>

namespace understudy::et_schema {

/// Whether a release of PyTorch, fbgemm, torchvision or torchaudio registers an operator of this
/// name: "aten::add.Tensor", or "aten::add" where the overload is not known. Another name or
/// overload in their namespaces is somebody's own. scripts/public_operators makes the list.
[[nodiscard]] bool is_public_operator(std::string_view name);

}  // namespace understudy::et_schema
