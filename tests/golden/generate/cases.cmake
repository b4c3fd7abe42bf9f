understudy_golden(generate
  bad_regex bad_regex_json bench_as_trace compiled compiled_refused compiled_unshown csv dlrm exclude help identical json kineto_as_trace
  linear missing_rank no_output no_place no_room no_steps only_comms only_compute output_is_folder output_is_full
  bad_regex bad_regex_json bench_as_trace csv dlrm exclude help identical json kineto_as_trace
  linear max_input missing_rank no_output no_place no_room no_steps only_comms only_compute output_is_folder output_is_full output_is_link
  profile profile_and_none profile_count profile_dlrm profile_is_trace profile_json profile_missing
  profile_none profile_of_capture profile_other profile_twice profile_two
  mixed_captures names_hashed names_kept no_backward_alone partial partial_of_capture partial_refused quiet
  subgraph_backward subgraph_no_backward
  resnet resnet_all resnet_step subgraph two_ranks unknown_only unknown_step unknown_subgraph unlinked_fault_counts
  unlinked_profile
  version wrappers)
