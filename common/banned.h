// Turns calls that cannot be made safely into compile errors. Included by every file through the
// Makefile's -include.
#pragma once

#include <stdio.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef gets
#undef strtok

#define strcpy(x, y) banned_use_memcpy_or_buf_instead_of_strcpy
#define strcat(x, y) banned_use_buf_instead_of_strcat
#define strncpy(x, y, n) banned_use_memcpy_instead_of_strncpy
#define strncat(x, y, n) banned_use_buf_instead_of_strncat
#define sprintf(...) banned_use_snprintf_instead_of_sprintf
#define vsprintf(...) banned_use_vsnprintf_instead_of_vsprintf
#define gets(x) banned_gets
#define strtok(x, y) banned_use_strsep_instead_of_strtok
