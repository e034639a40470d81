// Model of what libstdc++ does when a thread ends (condition_variable.cc, future.cc): the state of a promise
// whose value was set by set_value_at_thread_exit becomes ready. As there, a key of the C library whose
// destructor runs what was registered, the youngest first.
#include <cstdlib>
#include <future>
#include <memory>

namespace {

pthread_key_t heddle_exit_key;
pthread_once_t heddle_exit_once = PTHREAD_ONCE_INIT;

void heddle_run_at_exit(void* registered) {
  auto* each = static_cast<std::__at_thread_exit_elt*>(registered);
  while (each != nullptr) {
    std::__at_thread_exit_elt* next = each->_M_next;  // it ends with its call
    each->_M_cb(each);
    each = next;
  }
}

// Of the thread that ends the process, whose keys have no destructors run.
void heddle_run_at_process_exit() {
  void* registered = pthread_getspecific(heddle_exit_key);
  pthread_setspecific(heddle_exit_key, nullptr);
  heddle_run_at_exit(registered);
}

void heddle_make_exit_key() {
  pthread_key_create(&heddle_exit_key, heddle_run_at_exit);
  std::atexit(heddle_run_at_process_exit);
}

}  // namespace

namespace std {

void __future_base::_State_baseV2::_Make_ready::_S_run(void* made) {
  const unique_ptr<_Make_ready> owned(static_cast<_Make_ready*>(made));
  if (const auto state = owned->_M_shared_state.lock())
    state->_M_status._M_store_notify_all(_Status::__ready, memory_order_release);
}

void __future_base::_State_baseV2::_Make_ready::_M_set() {
  _M_cb = &_Make_ready::_S_run;
  pthread_once(&heddle_exit_once, heddle_make_exit_key);
  _M_next = static_cast<__at_thread_exit_elt*>(pthread_getspecific(heddle_exit_key));
  pthread_setspecific(heddle_exit_key, this);
}

}  // namespace std
