understudy_golden(compare
  bad_margin bench both_forms busy busy_veto damaged different_benchmarks different_benchmarks_allowed devices devices_csv devices_json devices_one devices_unlike faster few
  filtered help interrupted lost_in_every_step lost_step json_error max_input never newer no_b no_such_file not_a_report one_input one_operator_more other_counts other_operators
  moved_into_a_graph names not_run_and_run not_run_batch not_run_bench not_run_card not_run_compiled not_run_json not_run_layer not_run_relu not_run_same page profile profiles same several slow slow_csv slow_json step_first threads trace unknown_flag unsure version)
