understudy_golden(calibrate
  bad_card csv empty_folder help json missing_column nan_row no_specification other_json output_is_input
  platform_file several_cards size_0 unknown_operator)
