// cuDNN's graphs: descriptors keep what they are told, one engine is found for each graph, and its
// execution is told by the graph's operations and their sizes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <vector>

#include "capture/played/dnn/handle.h"

namespace {

struct Value {
  std::vector<char> bytes;
  std::int64_t count;
  std::vector<std::string> labels;  ///< copied: the descriptors may be gone by then
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, Value> attributes;
  /// Of a tensor its sizes; of an operation, a graph, and the graph's engines, configurations and
  /// plans what is told of them.
  std::string label;
};

Descriptor& get(void* descriptor) {
  return *static_cast<Descriptor*>(descriptor);
}

std::size_t width(cudnnBackendAttributeType_t type) {
  static const std::map<cudnnBackendAttributeType_t, std::size_t> kOther = {
      {CUDNN_TYPE_INT64, 8},   {CUDNN_TYPE_DOUBLE, 8},    {CUDNN_TYPE_VOID_PTR, 8},
      {CUDNN_TYPE_HANDLE, 8},  {CUDNN_TYPE_FRACTION, 16}, {CUDNN_TYPE_BACKEND_DESCRIPTOR, 8},
      {CUDNN_TYPE_BOOLEAN, 1}, {CUDNN_TYPE_CHAR, 1}};
  const auto found = kOther.find(type);
  return found == kOther.end() ? 4 : found->second;
}

template <typename T>
std::vector<T> list(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  const auto found = descriptor.attributes.find(name);
  if (found == descriptor.attributes.end()) {
    return {};
  }
  std::vector<T> values(found->second.bytes.size() / sizeof(T));
  std::memcpy(values.data(), found->second.bytes.data(), values.size() * sizeof(T));
  return values;
}

std::string operation_name(cudnnBackendDescriptorType_t type) {
  static const std::map<cudnnBackendDescriptorType_t, const char*> kNames = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, "conv"},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, "conv_data"},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, "conv_filter"},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "matmul"},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise"},
#if CUDNN_VERSION >= 91700
    {CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, "attention"},
    {CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, "attention_backward"},
#endif
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, "reshape"},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "reduction"}
  };
  const auto found = kNames.find(type);
  return found == kNames.end() ? fmt::format("op{}", static_cast<int>(type)) : found->second;
}

/// The operation with the sizes of its tensors, as "conv[4,3,64,64][64,3,7,7][4,64,32,32]"; of
/// pointwise ones the name is enough.
std::string describe(const Descriptor& operation) {
  std::string label = operation_name(operation.type);
  if (operation.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    return label;
  }
  for (const auto& [name, value] : operation.attributes) {
    for (const std::string& told : value.labels) {
      label += told.starts_with('[') ? told : "";  // a tensor
    }
  }
  return label;
}

/// What an engine, its configuration and its plan are of.
bool names_graph(cudnnBackendAttributeName_t name) {
  return name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH ||
         name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH || name == CUDNN_ATTR_ENGINECFG_ENGINE ||
         name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG;
}

}  // namespace

extern "C" {

PLAYED_CUDNN(BackendCreateDescriptor,
             (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor),
             *descriptor = new Descriptor{.type = type, .attributes = {}, .label = {}})
PLAYED_CUDNN(BackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor),
             delete static_cast<Descriptor*>(descriptor))

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  auto& is = get(descriptor);
  const auto* bytes = static_cast<const char*>(values);
  const auto size = static_cast<std::ptrdiff_t>(width(type)) * count;
  Value& told =
      is.attributes.insert_or_assign(name, Value{{bytes, bytes + size}, count, {}}).first->second;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (const auto* each : list<const Descriptor*>(is, name)) {
      told.labels.push_back(each == nullptr ? "" : each->label);
    }
  }
  if (names_graph(name)) {
    is.label = told.labels.at(0);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  auto& is = get(descriptor);
  if (is.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    const auto& operations = is.attributes[CUDNN_ATTR_OPERATIONGRAPH_OPS].labels;
    is.label = fmt::format("{}", fmt::join(operations, "+"));
  } else if (is.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    const auto sizes = list<std::int64_t>(is, CUDNN_ATTR_TENSOR_DIMENSIONS);
    is.label = fmt::format("[{}]", fmt::join(sizes, ","));
  } else if (is.label.empty()) {
    is.label = describe(is);
  }
  return CUDNN_STATUS_SUCCESS;
}

/// What was told, one engine for each graph, no notes and no knobs; other numbers are 0.
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t wanted,
                                       std::int64_t* count, void* values) {
  const auto& is = get(descriptor);
  const bool is_asked = wanted > 0 && values != nullptr;
  std::int64_t found = 1;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS || name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    if (is_asked) {
      static_cast<Descriptor**>(values)[0]->label = is.label;
    }
  } else if (const auto told = is.attributes.find(name); told != is.attributes.end()) {
    found = told->second.count;
    if (is_asked) {
      std::memcpy(
          values, told->second.bytes.data(),
          std::min(told->second.bytes.size(), width(type) * static_cast<std::size_t>(wanted)));
    }
  } else if (type == CUDNN_TYPE_NUMERICAL_NOTE || type == CUDNN_TYPE_BEHAVIOR_NOTE ||
             type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    found = 0;
  } else if (is_asked) {
    std::memset(values, 0, width(type));
  }
  if (count != nullptr) {
    *count = found;
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Which of its tensors a graph writes is not looked at: none is known afterwards.
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t arguments) {
  const auto written = list<const void*>(get(arguments), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  played::issue("cudnn:" + get(plan).label, handle->stream, written.data(), written.size());
  return CUDNN_STATUS_SUCCESS;
}
}
