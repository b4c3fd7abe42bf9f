understudy_golden(suite
  bad_save csv empty fails fails_all help json no_folder no_reference other_benchmark other_device page save slow slow_no_class text unknown_flag
  version)
