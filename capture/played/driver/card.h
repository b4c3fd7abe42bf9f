#pragma once

#include <cuda.h>

#include "capture/played/played.h"

namespace played {

/// The card that is played, and how many of it a node has.
[[nodiscard]] const Card& card();
[[nodiscard]] int card_count();

/// The card of this thread's current context; the first one if the thread chose none.
[[nodiscard]] int current_card();
[[nodiscard]] CUresult set_current_card(int card);
[[nodiscard]] bool is_in_use(int card);

/// An attribute of a card; refused if it is none that is played.
[[nodiscard]] CUresult attribute_of_card(int* value, CUdevice_attribute attribute, int card);
[[nodiscard]] CUuuid uuid_of_card(int card);

[[nodiscard]] const char* error_name(CUresult error);
[[nodiscard]] const char* error_text(CUresult error);

}  // namespace played
