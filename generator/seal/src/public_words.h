#pragma once

#include <string_view>

namespace understudy::generator {

/// Whether a label is PyTorch's own or fbgemm's: its substitute is found by its name.
[[nodiscard]] bool is_public_label(std::string_view name);

/// Whether a text is one of the values that public operators take: "mean", "bilinear", "reflect".
[[nodiscard]] bool is_public_text(std::string_view text);

/// Whether a backend of communication is one of PyTorch's.
[[nodiscard]] bool is_public_backend(std::string_view name);

/// Whether a recorded tag is one of PyTorch's types: "Generator", "Stream".
[[nodiscard]] bool is_public_tag(std::string_view tag);

}  // namespace understudy::generator
