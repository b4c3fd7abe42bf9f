// A library that needs a symbol which nothing defines, for op_library_test.cpp.
extern "C" int symbol_of_another_libtorch();
extern "C" int understudy_test_call() {
  return symbol_of_another_libtorch();
}
