understudy_golden(compose
  annotation beside empty help json mix
  no_source no_yaml nothing operators operators_bad output_is_part output_is_source overlap world)
