#pragma once

namespace understudy::et_schema {

/// Tells the core that a spin loop waits, which spares the core's other hardware thread.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // "yield" does nothing on cores without SMT
#endif
}

}  // namespace understudy::et_schema
