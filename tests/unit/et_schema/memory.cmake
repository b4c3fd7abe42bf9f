# Lifetimes, on programs made by hand as the replayer's tests make them.
understudy_test(lifetimes_test
  SOURCES model/accelerator_test.cpp model/lifetimes_test.cpp model/open_comms_test.cpp model/slot_extent_test.cpp
    model/sparse_content_test.cpp model/tensor_layout_test.cpp formats/report/report_gpu_test.cpp
  LIBS understudy_format_samples
  INCLUDES "${PROJECT_SOURCE_DIR}/tests/unit/replayer")
