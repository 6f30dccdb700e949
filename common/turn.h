// How long a thread's turns on a processor are.
#pragma once

/* Asks for short turns, which come sooner, for the calling thread; its share of the processor does
 * not change, and what it starts has ordinary turns. Where the kernel cannot (before Linux 6.12),
 * or the thread is not an ordinary one, nothing happens. */
void turn_ask_for_short(void);
