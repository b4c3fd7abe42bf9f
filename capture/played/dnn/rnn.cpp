// cuDNN's recurrent layers: they know where their weights lie; runs are told.
#include <optional>

#include "capture/played/dnn/handle.h"

struct cudnnRNNStruct {
  cudnnRNNMode_t mode;
  bool has_bias;
  int directions;
  int input;
  int hidden;
  int output;  ///< of a projection, or what is hidden
  int layers;
  cudnnDataType_t type;
};

namespace {

constexpr std::size_t kSpace = 1U << 20;  // the real sizes are the library's own

/// A matrix of weights or a bias, in elements of the space of weights.
struct Place {
  std::size_t offset;
  int rows;
  int columns;
};

struct Layout {
  std::optional<Place> matrix;
  std::optional<Place> bias;
  std::size_t elements = 0;
};

int gates_of(cudnnRNNMode_t mode) {
  return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1;
}

std::size_t bytes_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

/// Lays out the weights: first all matrices, then all biases. Each gate has two of each, for its
/// input and its state; a projection's matrix is a layer's last. Returns the places of one gate.
Layout lay_out(const cudnnRNNStruct& rnn, int layer, int gate) {
  Layout layout;
  const int gates = gates_of(rnn.mode);
  const bool has_projection = rnn.output != rnn.hidden;
  for (const bool is_bias : {false, true}) {
    const int count = is_bias && !rnn.has_bias     ? 0
                      : !is_bias && has_projection ? 2 * gates + 1
                                                   : 2 * gates;
    for (int l = 0; l < rnn.layers * rnn.directions; ++l) {
      const int input = l < rnn.directions ? rnn.input : rnn.output * rnn.directions;
      for (int g = 0; g < count; ++g) {
        const int columns = is_bias         ? 1
                            : g < gates     ? input
                            : g < 2 * gates ? rnn.output
                                            : rnn.hidden;
        const Place place{layout.elements, g < 2 * gates ? rnn.hidden : rnn.output, columns};
        if (l == layer && g == gate) {
          (is_bias ? layout.bias : layout.matrix) = place;
        }
        layout.elements += static_cast<std::size_t>(place.rows) * static_cast<std::size_t>(columns);
      }
    }
  }
  return layout;
}

/// Where a place begins, and its shape; a null pointer and no size if there is none.
void tell_place(const std::optional<Place>& place, const cudnnRNNStruct& rnn, const void* weights,
                cudnnTensorDescriptor_t tensor, void** address) {
  const auto [offset, rows, columns] = place.value_or(Place{});
  if (address != nullptr) {
    auto* base = static_cast<char*>(const_cast<void*>(weights));
    *address = place ? base + offset * bytes_of(rnn.type) : nullptr;
  }
  if (tensor != nullptr) {
    *tensor = {rnn.type, {place ? 1 : 0, rows, columns}, {rows * columns, columns, 1}};
  }
}

}  // namespace

extern "C" {

PLAYED_CUDNN(CreateRNNDescriptor, (cudnnRNNDescriptor_t * rnn), *rnn = new cudnnRNNStruct{})
PLAYED_CUDNN(DestroyRNNDescriptor, (cudnnRNNDescriptor_t rnn), delete rnn)
PLAYED_CUDNN(SetRNNDescriptor_v8,
             (cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t, cudnnRNNMode_t mode,
              cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction, cudnnRNNInputMode_t,
              cudnnDataType_t type, cudnnDataType_t, cudnnMathType_t, std::int32_t input,
              std::int32_t hidden, std::int32_t projection, std::int32_t layers,
              cudnnDropoutDescriptor_t, std::uint32_t),
             *rnn = {mode, bias != CUDNN_RNN_NO_BIAS, direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
                     input, hidden, projection > 0 ? projection : hidden, layers, type})
PLAYED_CUDNN(GetRNNWeightSpaceSize, (cudnnHandle_t, cudnnRNNDescriptor_t rnn, std::size_t* bytes),
             *bytes = lay_out(*rnn, -1, -1).elements * bytes_of(rnn->type))

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t rnn, std::int32_t layer,
                                      std::size_t, const void* weights, std::int32_t gate,
                                      cudnnTensorDescriptor_t matrix, void** matrix_address,
                                      cudnnTensorDescriptor_t bias, void** bias_address) {
  const auto layout = lay_out(*rnn, layer, gate);
  tell_place(layout.matrix, *rnn, weights, matrix, matrix_address);
  tell_place(layout.bias, *rnn, weights, bias, bias_address);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t,
                                        cudnnRNNDataDescriptor_t, std::size_t* work,
                                        std::size_t* reserve) {
  *work = kSpace;
  if (reserve != nullptr) {
    *reserve = kSpace;
  }
  return CUDNN_STATUS_SUCCESS;
}
PLAYED_CUDNN(DropoutGetStatesSize, (cudnnHandle_t, std::size_t* bytes), *bytes = kSpace)
}
