understudy_golden(understudy
  completion_bash help help_of_a_verb no_verb script_in_a_build status_of_the_verb unknown_shell unknown_verb
  verb version)
