// Signals by name, as kill(1) writes them.
#pragma once

/* "TERM", "SIGTERM", "term" or "15": the number, or -EINVAL. */
int signal_name_parse(const char *text);

/* "SIGTERM"; "SIG34" for one without a name. Valid until the thread's next call. */
const char *signal_name(int number);
