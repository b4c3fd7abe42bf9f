understudy_golden(replay
  bad_device help min_coverage no_iterations no_such_library no_such_rank one_of_eight report_json
  unknown_flag world_size world_size_json)
