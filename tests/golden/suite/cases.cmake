understudy_golden(suite
  bad_save csv empty fails fails_all fails_json help json no_folder no_gpu no_reference other_benchmark other_device page save text unknown_flag
  version)
