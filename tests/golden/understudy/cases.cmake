understudy_golden(understudy
  completion_help help help_of_a_verb links no_verb script_in_a_build status_of_the_verb unknown_shell unknown_verb verb)
if(TARGET understudy_cli_replay)
  understudy_golden(understudy completion_bash version)
endif()
