#pragma once

#include <string>
#include <string_view>

namespace understudy::generator {

/// Returns true if a label is PyTorch's own or fbgemm's. A replay finds its substitute by name.
[[nodiscard]] bool is_public_label(std::string_view name);

/// Returns true if a text is a value that public operators accept: "mean", "bilinear", "reflect".
[[nodiscard]] bool is_public_text(std::string_view text);

/// Replaces the letters of an equation such as einsum's by the first ones of the alphabet, in the
/// same order: an equation without "->" sorts the dimensions of its result. Returns false, and
/// changes nothing, if the text has other signs than such equations have.
[[nodiscard]] bool rename_letters(std::string& equation);

/// Returns true if a communication backend is one of PyTorch's.
[[nodiscard]] bool is_public_backend(std::string_view name);

/// Returns true if a recorded tag is one of PyTorch's types: "Generator", "Stream".
[[nodiscard]] bool is_public_tag(std::string_view tag);

/// Returns true if the text consists only of numbers and words of this project's own sentences,
/// classes and flags: "captured range", "--batch 32". A benchmark of another origin may hold any
/// text here, so texts are checked.
[[nodiscard]] bool is_public_sentence(std::string_view text);

/// Returns the schema of a private operator under another name: "private::op1(Tensor arg0, int[]
/// arg1) -> Tensor". Keeps PyTorch's types and the marks of written arguments; removes names,
/// defaults, sizes of lists and foreign types.
[[nodiscard]] std::string hidden_schema(std::string_view schema, std::string_view name);

/// Rounds to one significant digit: 0.00035 → 0.0003 or 0.0004. Near 1, rounds the distance to 1,
/// 0.9987 → 0.999, so that decay factors and bounds below 1 stay below 1. Whole numbers with
/// several digits are truncated, 255 → 200, so that bounded values stay in their bounds.
[[nodiscard]] double rounded(double value);

/// Returns true if a real argument of a public operator decides the size of its result.
[[nodiscard]] bool tells_size(std::string_view op, std::string_view argument);

}  // namespace understudy::generator
