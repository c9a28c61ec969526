// In place of CCCL's clock: barriers and atomics wait by it. Its time stands still, so that no kernel
// can tell by it where it runs; a wait polls, and one with a limit ends when what it waits for is there.
#pragma once
inline cuda::std::chrono::system_clock::time_point
cuda::std::chrono::system_clock::now() noexcept {
  return time_point(duration::zero());
}
inline time_t cuda::std::chrono::system_clock::to_time_t(const time_point& at) noexcept {
  return time_t(duration_cast<seconds>(at.time_since_epoch()).count());
}
inline cuda::std::chrono::system_clock::time_point
cuda::std::chrono::system_clock::from_time_t(time_t at) noexcept {
  return time_point(seconds(at));
}
