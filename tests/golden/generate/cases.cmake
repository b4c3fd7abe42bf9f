understudy_golden(generate
  bad_regex bad_regex_json batch_bad bench_as_trace chakra chakra_identical chakra_into_input chakra_is_file chakra_link chakra_json
  chakra_narrowed chakra_no_parent chakra_written compiled compiled_refused compiled_unshown copied_rank counters_of_another_step csv dlrm
  emit_foreign emit_json emit_language emit_link emit_missing emit_place emit_python empty_capture empty_indices exclude help
  graph_profile_alone identical json kernels_bad kernels_batch kernels_no_source kernels_none kineto_as_trace linear max_input missing_rank mixed_captures names_hashed not_run
  obfuscate obfuscate_bench obfuscate_chakra obfuscate_json obfuscate_narrowed obfuscate_mix no_backward_alone no_output no_place no_room no_steps no_traces only_comms only_compute output_is_chakra output_is_folder output_is_full
  output_is_link partial partial_of_capture partial_refused profile profile_count profile_dlrm
  profile_gpu_only profile_is_trace profile_json profile_missing profile_none profile_of_capture profile_other profile_twice
  profile_two quiet resnet resnet_all resnet_step size_bad subgraph subgraph_backward subgraph_no_backward two_ranks
  unknown_only unknown_step unknown_subgraph unlinked_fault_counts unlinked_profile version world_usage wrappers)
# With the Triton that the project's environment has: its version decides the machine code.
file(GLOB UNDERSTUDY_TRITON "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/triton")
if(UNDERSTUDY_TRITON)
  understudy_golden(generate kernels kernels_in_sandbox kernels_resized)
endif()
