understudy_golden(understudy
  completion_help help_of_a_verb script_in_a_build status_of_the_verb unknown_shell verb)
# What names all verbs is not the same where `replay` is not built.
if(TARGET understudy_cli_replay)
  understudy_golden(understudy completion_bash help no_verb unknown_verb version)
endif()
