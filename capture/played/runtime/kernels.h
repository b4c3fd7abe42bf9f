#pragma once

namespace played {

/// A variable of the card, by the host's stand-in for it; null: it is none.
[[nodiscard]] void* variable_of(const void* host);

}  // namespace played
