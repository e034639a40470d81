// Model of std::thread, std::condition_variable and std::call_once: what libstdc++ does out of line to bring
// them to the functions of pthread.h. What does little more is put in place of its calls, so that it is the
// program's line that waits or signals.
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

// Where a std::thread begins (HEDDLE_THREAD_STATE). The thread owns its state, which holds what it is to call.
void* heddle_run_state(void* state) {
  const std::unique_ptr<std::thread::_State> owned(static_cast<std::thread::_State*>(state));
  owned->_M_run();
  return nullptr;
}

}  // namespace

#define IN_PLACE __attribute__((always_inline))

namespace std {

IN_PLACE void thread::_M_start_thread(_State_ptr state, void (*)()) {
  const int error = pthread_create(&_M_id._M_thread, nullptr, heddle_run_state, state.get());
  if (error != 0) __throw_system_error(error);
  state.release();
}

IN_PLACE void thread::join() {
  const int error = _M_id == id() ? EINVAL : pthread_join(_M_id._M_thread, nullptr);
  if (error != 0) __throw_system_error(error);
  _M_id = id();
}

IN_PLACE void thread::detach() {
  const int error = _M_id == id() ? EINVAL : pthread_detach(_M_id._M_thread);
  if (error != 0) __throw_system_error(error);
  _M_id = id();
}

IN_PLACE condition_variable::condition_variable() noexcept = default;
IN_PLACE condition_variable::~condition_variable() noexcept = default;

IN_PLACE void condition_variable::wait(unique_lock<mutex>& lock) {
  _M_cond.wait(*lock.mutex());
}

IN_PLACE void condition_variable::notify_one() noexcept {
  _M_cond.notify_one();
}

IN_PLACE void condition_variable::notify_all() noexcept {
  _M_cond.notify_all();
}

// What the thread inside std::call_once is to call, set by the header's code.
__thread void* __once_callable;
__thread void (*__once_call)();

extern "C" void __once_proxy() {
  __once_call();
}

}  // namespace std

// Destructors of classes whose tables of virtual functions stay in the library: defined as such, they would
// bring tables of their own.
extern "C" {
void _ZNSt6thread6_StateD2Ev(std::thread::_State*) {}
void _ZNSt6thread6_StateD1Ev(std::thread::_State*) {}
}
