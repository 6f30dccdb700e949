// Requests for runs: every key, every refusal, names, environments, timeouts.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/scope.h"
#include "runner/runs/run_request.h"

static int parse(const char *text, struct run_request *ret, struct fail *f)
{
	return run_request_parse(text, strlen(text), ret, f);
}

static void every_key_is_taken(void **state)
{
	struct run_request r auto_call(run_request_clear) = {0};
	struct fail f = {0};

	(void)state;
	assert_int_equal(parse("{\"cmd\":\"ls\",\"cwd\":\"/work\",\"env\":{\"A\":\"1\",\"B\":\"\"},"
			       "\"user\":\"user\",\"timeout\":1.5,\"stdin\":\"x\\u0000y\","
			       "\"stdinOpen\":false,\"id\":\"build-1\",\"background\":true,"
			       "\"shell\":\"/bin/bash\",\"limits\":{\"memory\":\"256M\",\"pids\":9,"
			       "\"cpus\":0.5}}",
				 &r, &f),
		0);
	assert_string_equal(r.cmd, "ls");
	assert_string_equal(r.cwd, "/work");
	assert_string_equal(r.env[0], "A=1");
	assert_string_equal(r.env[1], "B=");
	assert_null(r.env[2]);
	assert_string_equal(r.user, "user");
	assert_true(r.has_timeout);
	assert_int_equal(r.timeout_usec, 1500000);
	assert_int_equal(r.stdin_len, 3);
	assert_string_equal(r.id, "build-1");
	assert_true(r.background);
	assert_string_equal(r.shell, "/bin/bash");
	assert_int_equal(r.limits.memory_bytes, 256 * 1024 * 1024);
	assert_int_equal(r.limits.pids, 9);
	assert_true(r.limits.cpus > 0.4 && r.limits.cpus < 0.6);
}

static void words_are_kept_and_shown_quoted(void **state)
{
	struct run_request r auto_call(run_request_clear) = {0};

	(void)state;
	assert_int_equal(parse("{\"cmd\":[\"echo\",\"a b\",\"it's\",\"\"]}", &r, NULL), 0);
	assert_string_equal(r.argv[1], "a b");
	assert_string_equal(r.argv[3], "");
	assert_null(r.argv[4]);
	assert_string_equal(r.cmd, "echo 'a b' 'it'\\''s' ''");
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"[1]", "object"},
		{"{}", "\"cmd\" is missing"},
		{"{\"cmd\":\"x\",\"color\":1}", "\"color\""},
		{"{\"cmd\":7}", "\"cmd\""},
		{"{\"cmd\":[]}", "empty array"},
		{"{\"cmd\":[\"\"]}", "empty word"},
		{"{\"cmd\":[\"a\",1]}", "\"cmd\""},
		{"{\"cmd\":\"a\\u0000b\"}", "NUL"},
		{"{\"cmd\":\"x\",\"timeout\":-1}", "timeout"},
		{"{\"cmd\":\"x\",\"timeout\":\"5\"}", "timeout"},
		{"{\"cmd\":\"x\",\"timeout\":1e12}", "timeout"},
		{"{\"cmd\":\"x\",\"id\":\"17\"}", "\"id\""},
		{"{\"cmd\":\"x\",\"id\":\"last\"}", "\"id\""},
		{"{\"cmd\":\"x\",\"id\":\"../x\"}", "\"id\""},
		{"{\"cmd\":\"x\",\"env\":[]}", "\"env\""},
		{"{\"cmd\":\"x\",\"env\":{\"A=B\":\"1\"}}", "\"env\""},
		{"{\"cmd\":\"x\",\"env\":{\"A\":1}}", "\"A\""},
		{"{\"cmd\":\"x\",\"background\":\"yes\"}", "\"background\""},
		{"{\"cmd\":[\"x\"],\"shell\":\"/bin/sh\"}", "\"shell\""},
		{"{\"cmd\":\"x\",\"stdin\":\"\",\"stdinOpen\":true}", "stdinOpen"},
		{"{\"cmd\":\"x\",\"limits\":{\"memory\":\"lots\"}}", "memory"},
		{"{\"cmd\":\"x\",\"limits\":{\"luck\":1}}", "luck"},
		{"{\"cmd\":\"\xff\"}", "UTF-8"},
		{"{\"cmd\":\"x\"} extra", "more text"},
		{"{cmd:\"x\"}", "JSON"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct run_request r auto_call(run_request_clear) = {0};
		struct fail f = {0};

		assert_int_equal(parse(bad[i].text, &r, &f), -EINVAL);
		if (!strstr(f.text, bad[i].words))
			fail_msg("%s: \"%s\" does not name %s", bad[i].text, f.text, bad[i].words);
	}
}

static void a_beginning_is_refused(void **state)
{
	struct run_request r auto_call(run_request_clear) = {0};
	struct fail f = {0};

	(void)state;
	assert_int_equal(parse("{\"cmd\":\"x\"", &r, &f), -EINVAL);
	assert_non_null(strstr(f.text, "ends before"));
	assert_int_equal(parse("", &r, &f), -EINVAL);
	assert_non_null(strstr(f.text, "empty"));
}

static void names(void **state)
{
	(void)state;
	assert_true(run_request_name_ok("a"));
	assert_true(run_request_name_ok("1a"));
	assert_true(run_request_name_ok("build-42_x.y"));
	assert_true(run_request_name_ok(
		"0123456789012345678901234567890123456789012345678901234567890abc"));
	assert_false(run_request_name_ok(
		"0123456789012345678901234567890123456789012345678901234567890abcd"));
	assert_false(run_request_name_ok(""));
	assert_false(run_request_name_ok("12"));
	assert_false(run_request_name_ok("last"));
	assert_false(run_request_name_ok(".a"));
	assert_false(run_request_name_ok("-a"));
	assert_false(run_request_name_ok("a/b"));
	assert_false(run_request_name_ok("a b"));
	assert_false(run_request_name_ok("\xc3\xa4"));
}

static void environment_lines(void **state)
{
	char **env auto_call(run_request_free_strings) = NULL;
	struct fail f = {0};
	const char text[] = "A=1\n\n# remark\nB=x=y\nC=";

	(void)state;
	assert_int_equal(run_request_parse_env(text, strlen(text), &env, &f), 0);
	assert_string_equal(env[0], "A=1");
	assert_string_equal(env[1], "B=x=y");
	assert_string_equal(env[2], "C=");
	assert_null(env[3]);
	run_request_free_strings(&env);
	assert_int_equal(run_request_parse_env("A=1\nB\n", 6, &env, &f), -EINVAL);
	assert_non_null(strstr(f.text, "line 2"));
	assert_int_equal(run_request_parse_env("=1\n", 3, &env, &f), -EINVAL);
	assert_int_equal(run_request_parse_env("A=\0", 3, &env, &f), -EINVAL);
}

static void timeouts(void **state)
{
	static const char *const bad[] = {
		"", "-1", "1s", "nan", "inf", "0x10", "1e99", " 5", "1.2.3"};
	uint64_t usec;

	(void)state;
	assert_int_equal(run_request_parse_timeout("0", &usec, NULL), 0);
	assert_int_equal(usec, 0);
	assert_int_equal(run_request_parse_timeout("2.5", &usec, NULL), 0);
	assert_int_equal(usec, 2500000);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(run_request_parse_timeout(bad[i], &usec, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(words_are_kept_and_shown_quoted),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_beginning_is_refused),
		cmocka_unit_test(names),
		cmocka_unit_test(environment_lines),
		cmocka_unit_test(timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
