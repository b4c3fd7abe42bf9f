understudy_golden(shard
  bad_platform bad_table bare_platform csv cut_any cut_columns cut_rows does_not_fit does_not_fit_json draw draw_and_tables draw_too_small
  draw_heavy draw_without_output heavy_alone help json more_nodes newer_platform no_ranks no_such_file no_tables
  one_rank output_is_input platform text unknown_flag version)
