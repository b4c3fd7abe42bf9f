int understudy_absent_function();
int understudy_absent_function() {
  return 1;
}
