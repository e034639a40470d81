// Models of functions of the C library whose result lies in a place of their own, so that what threads do to
// each other by it is seen. The work is done by their kin that are told where to put it.
#include <grp.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

// Reports name these. localtime and gmtime have one place, asctime and ctime have one.
static tm localtime_result;
static char asctime_result[64];

namespace {

// asctime_r takes 26 bytes for granted, and so refuses years of more than four characters.
char* as_text(const tm* time) {
  if (time == nullptr || (time->tm_year >= -2899 && time->tm_year <= 8099))
    return asctime_r(time, asctime_result);
  const char* const days = "SunMonTueWedThuFriSat";
  const char* const months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::snprintf(asctime_result, sizeof asctime_result, "%.3s %.3s%3d %.2d:%.2d:%.2d %ld\n",
                time->tm_wday < 0 || time->tm_wday > 6 ? "???" : days + 3 * time->tm_wday,
                time->tm_mon < 0 || time->tm_mon > 11 ? "???" : months + 3 * time->tm_mon, time->tm_mday,
                time->tm_hour, time->tm_min, time->tm_sec, time->tm_year + 1900L);
  return asctime_result;
}

// An entry of a database, with its texts in memory that grows as it must. The C library has such a lock too.
template <typename Entry>
struct Found {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Entry entry = {};
  char* texts = nullptr;
  size_t size = 0;

  // `find` takes the entry, the texts, their size and where the result goes, and gives an error number.
  template <typename Find>
  Entry* get(Find find) {
    pthread_mutex_lock(&lock);
    Entry* result = nullptr;
    int error = texts == nullptr ? ERANGE : find(&entry, texts, size, &result);
    while (error == ERANGE) {
      size = size == 0 ? 1024 : size * 2;
      std::free(texts);
      texts = static_cast<char*>(std::malloc(size));
      error = texts == nullptr ? ENOMEM : find(&entry, texts, size, &result);
    }
    if (texts == nullptr) size = 0;
    pthread_mutex_unlock(&lock);
    if (error != 0) errno = error;
    return result;
  }
};

Found<passwd> user_by_name, user_by_id;
Found<group> group_by_name, group_by_id;
Found<hostent> host_by_name, host_by_address;
Found<servent> service_by_name, service_by_port;
Found<protoent> protocol_by_name, protocol_by_number;

}  // namespace

extern "C" {

tm* localtime(const time_t* time) noexcept {
  return localtime_r(time, &localtime_result);
}

tm* gmtime(const time_t* time) noexcept {
  return gmtime_r(time, &localtime_result);
}

char* asctime(const tm* time) noexcept {
  return as_text(time);
}

char* ctime(const time_t* time) noexcept {
  const tm* const local = localtime_r(time, &localtime_result);
  return local == nullptr ? nullptr : as_text(local);
}

char* ecvt(double value, int digits, int* point, int* sign) noexcept {
  static char text[20];
  return ecvt_r(value, digits, point, sign, text, sizeof text) == 0 ? text : nullptr;
}

char* fcvt(double value, int digits, int* point, int* sign) noexcept {
  static char text[400];
  return fcvt_r(value, digits, point, sign, text, sizeof text) == 0 ? text : nullptr;
}

char* l64a(long number) noexcept {
  static char text[7];
  auto left = static_cast<unsigned>(number);
  int used = 0;
  for (; left != 0; left >>= 6)
    text[used++] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[left & 63];
  text[used] = 0;
  return text;
}

double lgamma(double value) noexcept {
  return lgamma_r(value, &signgam);
}

float lgammaf(float value) noexcept {
  return lgammaf_r(value, &signgam);
}

passwd* getpwnam(const char* name) {
  return user_by_name.get([=](auto... to) { return getpwnam_r(name, to...); });
}

passwd* getpwuid(uid_t id) {
  return user_by_id.get([=](auto... to) { return getpwuid_r(id, to...); });
}

group* getgrnam(const char* name) {
  return group_by_name.get([=](auto... to) { return getgrnam_r(name, to...); });
}

group* getgrgid(gid_t id) {
  return group_by_id.get([=](auto... to) { return getgrgid_r(id, to...); });
}

hostent* gethostbyname(const char* name) {
  return host_by_name.get([=](auto... to) { return gethostbyname_r(name, to..., &h_errno); });
}

hostent* gethostbyaddr(const void* address, socklen_t length, int family) {
  return host_by_address.get(
      [=](auto... to) { return gethostbyaddr_r(address, length, family, to..., &h_errno); });
}

servent* getservbyname(const char* name, const char* protocol) {
  return service_by_name.get([=](auto... to) { return getservbyname_r(name, protocol, to...); });
}

servent* getservbyport(int port, const char* protocol) {
  return service_by_port.get([=](auto... to) { return getservbyport_r(port, protocol, to...); });
}

protoent* getprotobyname(const char* name) {
  return protocol_by_name.get([=](auto... to) { return getprotobyname_r(name, to...); });
}

protoent* getprotobynumber(int number) {
  return protocol_by_number.get([=](auto... to) { return getprotobynumber_r(number, to...); });
}

}  // extern "C"
