// Recurrent layers and cells: cuDNN, MIOpen, oneDNN and LibTorch's fused cells.

#include <array>

#include "meta_call.h"

namespace understudy::replayer {
namespace {

MetaResults lstm_cell(const MetaCall& call) {
  const at::Tensor cell = call.tensor("cx");
  return {plain(cell), plain(cell), plain(call.tensor("input_gates"))};
}
MetaResults lstm_cell_backward(const MetaCall& call) {
  const at::Tensor gates = call.tensor("workspace");
  return {plain(gates), plain(call.tensor("cx")),
          call.flag("has_bias") ? sized(gates, {gates.size(1)}) : at::Tensor()};
}

MetaResults gru_cell(const MetaCall& call) {
  constexpr std::int64_t kKept = 5;  // gates and activations saved for the backward
  const at::Tensor hidden = call.tensor("hx");
  return {plain(hidden), sized(hidden, {hidden.size(0), hidden.size(1) * kKept})};
}

/// The reserve for the backward is left empty, since only the library knows its size.
MetaResults layers(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor hidden = call.tensor("hx");
  const at::Tensor cell = call.tensor("cx");
  const std::vector<std::int64_t> packed = call.integers("batch_sizes");
  const bool transposes = packed.empty() && call.flag("batch_first");
  const std::int64_t directions = call.flag("bidirectional") ? 2 : 1;
  const std::int64_t width = call.integer("hidden_size");
  const std::int64_t out = call.integer("proj_size") != 0 ? call.integer("proj_size") : width;
  const std::int64_t batch = packed.empty() ? input.size(transposes ? 0 : 1) : packed.front();
  const std::int64_t count = call.integer("num_layers") * directions;
  const at::Tensor output =
      packed.empty() ? sized(input, {input.size(transposes ? 1 : 0), batch, out * directions})
                     : sized(input, {input.size(0), out * directions});
  const at::Tensor weights = call.tensor("weight_buf");
  std::int64_t parameters = 0;
  for (const at::Tensor& weight : call.tensors("weight")) {
    parameters += weight.numel();
  }
  return {transposes ? output.transpose(0, 1) : output, sized(hidden, {count, batch, out}),
          cell.defined() ? sized(cell, {count, batch, width}) : sized(input, {0}),
          sized(input, {0}, at::kByte), weights.defined() ? weights : sized(input, {parameters})};
}

MetaResults layers_backward(const MetaCall& call) {
  const at::Tensor cell = call.tensor("cx");
  c10::List<at::Tensor> weights;
  for (const at::Tensor& weight : call.tensors("weight")) {
    weights.push_back(call.wants(3) ? plain(weight) : at::Tensor());
  }
  return {plain(call.tensor("input")), plain(call.tensor("hx")),
          cell.defined() ? plain(cell) : at::Tensor(), weights};
}

MetaResults flat_weights(const MetaCall& call) {
  std::int64_t parameters = 0;
  const std::vector<at::Tensor> weights = call.tensors("weight_arr");
  TORCH_CHECK(!weights.empty(), "no weights");
  for (const at::Tensor& weight : weights) {
    parameters += weight.numel();
  }
  return {sized(weights.front(), {parameters})};
}

MetaResults cpu_layer(const MetaCall& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor hidden = call.tensor("hx_");
  const at::Tensor cell = call.tensor("cx_");
  return {sized(input, {input.size(0), input.size(1), call.integer("hidden_size")}), plain(hidden),
          plain(cell), sized(input, {0}, at::kByte)};
}
MetaResults cpu_layer_backward(const MetaCall& call) {
  const at::Tensor bias = call.tensor("weight3");
  return {plain(call.tensor("input")),
          plain(call.tensor("weight1")),
          plain(call.tensor("weight2")),
          plain(bias),
          plain(bias),
          plain(call.tensor("hx_")),
          plain(call.tensor("cx_tmp"))};
}

constexpr std::array<MetaRow, 8> kRows = {
    {{"_thnn_fused_lstm_cell", lstm_cell},
     {"_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward},
     {"_thnn_fused_gru_cell", gru_cell},
     {"_cudnn_rnn miopen_rnn", layers},
     {"_cudnn_rnn_backward miopen_rnn_backward", layers_backward},
     {"_cudnn_rnn_flatten_weight", flat_weights},
     {"mkldnn_rnn_layer", cpu_layer},
     {"mkldnn_rnn_layer_backward", cpu_layer_backward}}};

}  // namespace

std::span<const MetaRow> recurrent_meta_rows() {
  return kRows;
}

}  // namespace understudy::replayer
