// Requests of control files and reads of frozen files that the browser answers.
#pragma once

#include "fs/synth/control.h"
#include "fs/synth/synth.h"
#include "kernels/browser/browser.h"

/* The page that a node of browser/ or browser/pages/N/ means; NULL: there is none now. */
struct browser_page *browser_call_page(struct mount *m, const struct synth_node *n);

/* For struct control: the op is the file's name, or the one given. */
int browser_call_begin(struct control_call *call, const char *text, size_t len, struct fail *f);
/* The same, and the browser is started for it. */
int browser_call_begin_starting(
	struct control_call *call, const char *text, size_t len, struct fail *f);
int browser_call_ask(struct control_call *call, const struct browser_ask *ask, struct fail *f);
void browser_call_cancel(struct control_call *call, struct fail *f);
int browser_call_answer(struct control_call *call, struct buf *ret);
void browser_call_release(struct control_call *call);

/* For struct synth_file: what a fresh handle reads of a file that takes requests. */
int browser_call_show(struct mount *m, const struct synth_node *n, struct buf *ret);

/* Of a read: there is no page. -ENXIO, and /error says what to do. */
int browser_call_no_page(struct mount *m, const struct synth_node *n);

/* For struct synth_file: content that the page gives when the file is opened. */
int browser_call_freeze(struct synth_freeze *freeze);
int browser_call_no_size(struct mount *m, const struct synth_node *n, uint64_t *ret);
