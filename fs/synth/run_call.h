// Control requests that start a run and wait for its end.
#pragma once

#include "common/buf.h"
#include "common/fail.h"
#include "fs/synth/control.h"
#include "runner/runs/run.h"

/* Starts a run (into one made by mkdir when not NULL); the call goes on until it has ended, unless
 * it is in the background. */
int run_call_begin(
	struct control_call *call, struct run_request *request, struct run *into, struct fail *f);
void run_call_cancel(struct control_call *call, struct fail *f);

/* The run's id, one line; its result.json. */
int run_call_answer_id(struct control_call *call, struct buf *ret);
int run_call_answer_result(struct control_call *call, struct buf *ret);
