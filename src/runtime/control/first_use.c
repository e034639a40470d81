/* What the C++ library computes when it is first needed, and remembers: characters of the classic locale, the
 * fill character of the standard streams. Code of its headers looks whether it was computed, so which thread
 * did it would show. It is done before the first execution instead.
 *
 * Layouts are those of the C++ ABI: where a stream has its virtual base std::basic_ios stands before its table
 * of virtual functions.
 */
#include <stddef.h>

#include "runtime/control/control.h"

__attribute__((weak)) extern const void* _ZNSt6locale7classicEv(void);
__attribute__((weak)) extern const void* _ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale(const void* locale);
__attribute__((weak)) extern void _ZNKSt5ctypeIcE13_M_widen_initEv(const void* facet);
__attribute__((weak)) extern char _ZNKSt9basic_iosIcSt11char_traitsIcEE4fillEv(const void* stream);
__attribute__((weak)) extern const char _ZSt4cout, _ZSt4cerr, _ZSt4clog;

static void fill_is_known(const char* stream) {
  if (stream == NULL) return;
  const ptrdiff_t* virtuals = *(const ptrdiff_t* const*)stream;
  if (virtuals != NULL) _ZNKSt9basic_iosIcSt11char_traitsIcEE4fillEv(stream + virtuals[-3]);
}

void rt_first_uses(void) {
  if (_ZNSt6locale7classicEv == NULL || _ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale == NULL ||
      _ZNKSt5ctypeIcE13_M_widen_initEv == NULL || _ZNKSt9basic_iosIcSt11char_traitsIcEE4fillEv == NULL)
    return;
  const void* locale = _ZNSt6locale7classicEv();
  _ZNKSt5ctypeIcE13_M_widen_initEv(_ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale(locale));
  fill_is_known(&_ZSt4cout);
  fill_is_known(&_ZSt4cerr);
  fill_is_known(&_ZSt4clog);
}
