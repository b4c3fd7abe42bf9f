// A library that is no module of ours.
int understudy_not_a_backend();
int understudy_not_a_backend() {
  return 0;
}
