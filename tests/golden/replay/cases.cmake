understudy_golden(replay
  bad_device dropped help min_coverage no_iterations no_such_library no_such_rank one_of_eight
  report_json unknown_flag world_size world_size_json)
if(TARGET understudy_backend_mpi)
  understudy_golden(replay eight_ranks rank_under_mpirun under_mpirun)
endif()
