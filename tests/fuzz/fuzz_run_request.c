// ctl/run.json: any bytes are a request, a beginning of one, or refused with words.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "runner/runs/run_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run_request request;
	struct fail f = {0};
	int r = run_request_parse((const char *)data, size, &request, &f);

	if (r == 0)
		run_request_clear(&request);
	else if (r != -EAGAIN && !*f.text)
		abort();
	return 0;
}
