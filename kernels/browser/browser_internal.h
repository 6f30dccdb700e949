// What the files of the browser share.
#pragma once

#include "kernels/browser/browser.h"
#include "kernels/browser/browser_wire.h"

/* browser.c */
int browser_start(struct browser *b, struct fail *f);

/* browser_request.c */
struct browser_request *browser_request_find(struct browser *b, uint32_t id);
void browser_request_send(struct browser_request *request);
void browser_request_end(struct browser_request *request, int error, const char *words, size_t len);
/* Ends those that were sent; the others wait on. */
void browser_request_fail_sent(struct browser *b, int error, const char *words);
void browser_request_fail_all(struct browser *b, int error, const char *words);

/* browser_frame.c */
void browser_frame(struct browser *b, const struct kernel_frame *frame);

/* browser_settings.c: the driver's configuration. */
int browser_settings_write(const struct browser *b, struct buf *ret);
