understudy_golden(shard
  bad_platform bad_table bare_platform csv cut_any cut_columns cut_rows does_not_fit does_not_fit_json help json more_nodes newer_platform
  no_ranks no_such_file no_tables one_rank text timed_tables unknown_flag version)
