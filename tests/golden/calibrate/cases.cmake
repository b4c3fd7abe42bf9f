understudy_golden(calibrate
  bad_budget bad_card bad_class communication communication_json communication_nan csv empty_folder
  for_a_bench help
  job_profiles
  json measuring_flag_with_input missing_column nan_row no_specification nothing_measured nowhere_to_write nowhere_to_write_fit
  other_json output_is_input platform_file platform_files platform_gzipped profile_without_card profiles prose semicolons several_cards size_0 unknown_operator)
if(UNDERSTUDY_BUILD_REPLAYER)
  understudy_golden(calibrate
    interrupted measured platform_of_this_machine rows_of_another_kind)
endif()
if(UNDERSTUDY_BUILD_REPLAYER AND TARGET understudy_backend_mpi)
  understudy_golden(calibrate two_ranks)
endif()
