// Control requests that execute source in a context and wait for its end.
#pragma once

#include "common/buf.h"
#include "common/fail.h"
#include "fs/synth/control.h"

/* code/NAME/in waits, start does not, in.json waits and takes options. */
int cell_call_begin_in(struct control_call *call, const char *text, size_t len, struct fail *f);
int cell_call_begin_start(struct control_call *call, const char *text, size_t len, struct fail *f);
int cell_call_begin_json(struct control_call *call, const char *text, size_t len, struct fail *f);
void cell_call_cancel(struct control_call *call, struct fail *f);
void cell_call_release(struct control_call *call);

/* The execution number, one line; its result.json. */
int cell_call_answer_count(struct control_call *call, struct buf *ret);
int cell_call_answer_result(struct control_call *call, struct buf *ret);
