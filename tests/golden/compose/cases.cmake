understudy_golden(compose
  annotation beside empty help json mix
  no_source no_yaml nothing operators output_is_source overlap world)
