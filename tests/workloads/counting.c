/* Stands before a SQLite library and counts what its client does with it; the totals are said on
   standard error when the client ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

enum { ROW = 100 };

static long prepared, rows, integers, texts, resets;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

int sqlite3_prepare_v2(void *connection, const char *text, int size, void **statement,
                       const char **rest) {
  prepared++;
  return ((int (*)(void *, const char *, int, void **, const char **))next("sqlite3_prepare_v2"))(
      connection, text, size, statement, rest);
}

int sqlite3_step(void *statement) {
  int code = ((int (*)(void *))next("sqlite3_step"))(statement);
  rows += code == ROW;
  return code;
}

int64_t sqlite3_column_int64(void *statement, int column) {
  integers++;
  return ((int64_t(*)(void *, int))next("sqlite3_column_int64"))(statement, column);
}

const unsigned char *sqlite3_column_text(void *statement, int column) {
  texts++;
  return ((const unsigned char *(*)(void *, int))next("sqlite3_column_text"))(statement, column);
}

int sqlite3_reset(void *statement) {
  resets++;
  return ((int (*)(void *))next("sqlite3_reset"))(statement);
}

__attribute__((destructor)) static void say(void) {
  fprintf(stderr, "counted prepared=%ld rows=%ld integers=%ld texts=%ld resets=%ld\n", prepared,
          rows, integers, texts, resets);
}
