#pragma once

#include <string>
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

/// Whether the text is made of words of this project's own sentences, classes and flags, and of
/// numbers: "captured range", "--batch 32". A benchmark of somebody else can hold any text in the
/// place of one.
[[nodiscard]] bool is_public_sentence(std::string_view text);

/// The schema of a private operator under another name: "private::op1(Tensor arg0, int[] arg1) ->
/// Tensor". PyTorch's types and what is written stay; names, defaults, sizes of lists and types of
/// others' do not.
[[nodiscard]] std::string hidden_schema(std::string_view schema, std::string_view name);

/// One significant digit: 0.00035 → 0.0003 or 0.0004. Near 1 that of the distance to it, 0.9987 →
/// 0.999: what decays goes on to do so, and a bound below 1 stays below. Whole numbers of more than
/// one digit are cut, not rounded, 255 → 200: what they bound stays in its bounds.
[[nodiscard]] double rounded(double value);

/// Whether a real number among a public operator's arguments tells how large its result is.
[[nodiscard]] bool tells_size(std::string_view op, std::string_view argument);

}  // namespace understudy::generator
