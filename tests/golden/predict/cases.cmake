understudy_golden(predict
  page page_of_operators
  bad_batch batch_recorded help no_platform operators operators_card operators_output output_is_platform platform_newer platform_other unknown_device unmodelled)
understudy_golden(predict
  bad_what_if batch batch_of_nothing batch_without_rule csv dlrm_world_size explain explain_top idle_what_if json no_costs no_network no_such_file one_output overlap
  platform_step recorded recorded_dlrm report_to_compare streams trace unknown_flag nothing two_costs two_what_ifs unlinked version world_size world_size_of_one)
