understudy_golden(replay
  bad_device dropped help min_coverage no_iterations no_room_for_report no_such_library no_such_rank
  one_of_eight operator_throws operator_throws_continued out_of_memory out_of_memory_before
  output_is_full report_json unknown_flag world_size world_size_json)
if(TARGET understudy_backend_mpi)
  understudy_golden(replay
    eight_ranks rank_under_mpirun ranks_bad_library ranks_call_missing ranks_damaged_bench
    ranks_fewer ranks_killed ranks_min_coverage ranks_mismatch ranks_mismatch_size
    ranks_newer_bench ranks_no_gpu_on_one ranks_no_library_on_one ranks_operator_throws
    ranks_operator_throws_json ranks_other_arguments ranks_out_of_memory ranks_report_elsewhere
    ranks_unknown_flag ranks_unknown_flag_on_one ranks_world_size under_mpirun)
endif()
