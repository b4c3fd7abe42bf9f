# Every sample, with its own collectives: a break in one of them must not pass.
understudy_golden_folder(samples replay
  compiled compiled_optimizer dlrm_dense dlrm_sparse embedding_uniform embedding_zipf gpt_adamw_foreach
  gpt_adamw_fused linear mlp resnet18 resnet_ddp speech_encoder)
if(TARGET understudy_backend_mpi)
  understudy_golden_folder(samples replay dlrm_8gpu gpt_ddp gpt_ddp_gloo)
endif()
file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fleet_samples/*/manifest.json")
foreach(manifest IN LISTS found)
  get_filename_component(sample "${manifest}" DIRECTORY)
  get_filename_component(sample "${sample}" NAME)
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/samples/${sample}.txt")
    message(FATAL_ERROR "fleet_samples/${sample} is replayed by no test: write tests/golden/samples/${sample}.txt")
  endif()
endforeach()
# Minutes of a core: what takes longest starts first.
if(TEST golden.samples.resnet_ddp)
  set_tests_properties(golden.samples.resnet_ddp PROPERTIES COST 1000)
endif()
