// Model of std::string and its allocator: the members that libstdc++ keeps instances of, instantiated here from
// its header. Compiled with _GLIBCXX_EXTERN_TEMPLATE=0 (src/CMakeLists.txt), so that the header does not say
// they are elsewhere.
#include <string>

template class std::basic_string<char>;
template class std::allocator<char>;
