understudy_golden(compose
  annotation beside circle empty fit fit_apart fit_json fit_no_time fit_no_times fit_no_whole help json list mix
  no_source no_yaml nothing operators operators_bad output_is_part output_is_source overlap world)
