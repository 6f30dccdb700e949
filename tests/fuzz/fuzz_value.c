// The value files of ctl/: environment lines, timeouts, names and signals from any bytes.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/signal_name.h"
#include "runner/runs/run_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	char **env = NULL;
	struct fail f = {0};
	uint64_t usec;

	if (!text)
		return 0;
	if (run_request_parse_env((const char *)data, size, &env, &f) < 0 && !*f.text)
		abort();
	run_request_free_strings(&env);
	run_request_parse_timeout(text, &usec, &f);
	run_request_name_ok(text);
	signal_name_parse(text);
	free(text);
	return 0;
}
