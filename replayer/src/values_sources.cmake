# Sources of tensor contents, equivalents and op libraries.
set(UNDERSTUDY_VALUES_SOURCES
  src/stub.cpp
  src/values.cpp
  src/values_device.cpp
  src/values_draws.cpp
  src/values_reuse.cpp
  src/values_store.cpp
  src/values_scan.cpp
  src/values_sparse.cpp
  src/values_tables.cpp
  src/op_library.cpp
  src/equivalents.cpp
  src/equivalent_attention.cpp
  src/equivalent_attention_kernels.cpp
  src/equivalent_checks.cpp
  src/equivalent_convolution.cpp
  src/equivalent_cudnn_rnn.cpp
  src/equivalent_inputs.cpp
  src/equivalent_jagged.cpp
  src/equivalent_lookup.cpp
  src/equivalent_lookup_update.cpp
  src/equivalent_normalization.cpp
  src/equivalent_other.cpp
  src/equivalent_recurrent.cpp)
# The same bytes everywhere: no fused multiply-add in the arithmetic of values. Loops over elements
# become vector code at this level only.
set_source_files_properties(
  src/values_draws.cpp src/values_reuse.cpp src/values_scan.cpp src/values_store.cpp PROPERTIES
  COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>;-ffp-contract=off"
  SKIP_PRECOMPILE_HEADERS ON)
