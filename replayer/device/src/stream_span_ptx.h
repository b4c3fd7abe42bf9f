#pragma once

namespace understudy::replayer {

/// The kernels of a StreamSpan, for GPUs since Pascal; CUDA's driver compiles them when they are
/// loaded. `at` is the address of the time. %globaltimer counts nanoseconds, in steps of 32 to 1024
/// ns.
inline constexpr const char* kStreamSpanPtx = R"(.version 6.0
.target sm_60
.address_size 64

.visible .entry understudy_note(.param .u64 at) {
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [at];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u64 %rd3, %globaltimer;
  st.global.u64 [%rd2], %rd3;
  ret;
}

.visible .entry understudy_wait(.param .u64 at, .param .u64 ns) {
  .reg .pred %p<2>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [ns];
  cvta.to.global.u64 %rd3, %rd1;
  ld.global.u64 %rd4, [%rd3];
  add.u64 %rd4, %rd4, %rd2;
again:
  mov.u64 %rd5, %globaltimer;
  setp.lt.u64 %p1, %rd5, %rd4;
  @%p1 bra again;
  ret;
}
)";

}  // namespace understudy::replayer
