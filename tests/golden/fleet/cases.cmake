understudy_golden(fleet
  help_report report report_no_fleet report_no_folder report_still_broken report_subsets
  bad_budget bad_tag broken changed damaged drift_between drift_between_unknown folder_of_jobs help
  help_add help_drift help_gc help_history help_import help_init help_jobs help_nightly help_platforms
  help_remove help_select help_verify help_worker history_unknown_job import_no_job import_other_format lost_content
  jobs_csv manifest manifest_flag_in_list manifest_key_twice manifest_no_yaml manifest_tag_map manifest_twice
  manifest_unknown_key manifest_weight no_arguments no_fleet no_trace
  no_jobs no_store not_a_fleet platforms platforms_json platforms_no_baseline remove select select_max_error
  select_nothing store_moved two_jobs unknown_command version)
if(TARGET understudy_cli_replay)
  understudy_golden(fleet empty)
endif()
