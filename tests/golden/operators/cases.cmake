understudy_golden(operators
  help of_inspect roofline roofline_without_ceilings two_benchmarks rows_with_device)
if(TARGET understudy_cli_replay)
  understudy_golden(operators bench bench_refused table)
endif()
