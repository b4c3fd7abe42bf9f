# Lifetimes, on programs made by hand as the replayer's tests make them.
understudy_test(lifetimes_test
  SOURCES lifetimes_test.cpp open_comms_test.cpp report_gpu_test.cpp
  LIBS understudy_format_samples
  INCLUDES "${PROJECT_SOURCE_DIR}/tests/unit/replayer")
