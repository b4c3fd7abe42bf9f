// How libFuzzer changes the traces of the fuzzer `program`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "json_mutation.h"
#include "properties.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Three of four mutations are of the trace's structure, the rest of its bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  understudy::fuzz::Random random(seed);
  if (random.below(4) == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  const std::string mutated = understudy::fuzz::mutate_json(
      std::string(data, data + size), understudy::fuzz::trace_texts(), random);
  if (mutated.size() > max_size) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::copy(mutated.begin(), mutated.end(), data);
  return mutated.size();
}
