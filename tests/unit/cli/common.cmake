# What all programs share.
understudy_test(cli_common_test
  SOURCES command_line_test.cpp json_csv_test.cpp progress_test.cpp run_main_test.cpp
  LIBS understudy::cli_common)
