// Settings: defaults, values, the INI file, -o, and that help and manual page know every key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config.h"
#include "common/config_key.h"
#include "common/config_value.h"
#include "common/scope.h"

static char folder[] = "/tmp/test_config.XXXXXX";
static char file[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof(file), "%s/sandpit.ini", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(folder);
}

static void write_file(const void *data, size_t len)
{
	auto_close int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

/* Reads text as a file; the words of the failure, or "" when it was read. */
static const char *read_text(struct config *c, const char *text, size_t len)
{
	static struct fail f;

	f.text[0] = '\0';
	write_file(text, len);
	assert_int_equal(config_init(c), 0);
	if (config_read_file(c, file, &f) == 0)
		return "";
	assert_true(f.text[0]);
	config_clear(c);
	/* The rest after "FILE:". */
	assert_memory_equal(f.text, file, strlen(file));
	return f.text + strlen(file) + 1;
}

static void assert_refused(const char *text, const char *words)
{
	struct config c;
	const char *got = read_text(&c, text, strlen(text));

	if (strncmp(got, words, strlen(words)) != 0)
		fail_msg("'%s' gave '%s' instead of '%s'", text, got, words);
}

static void test_defaults(void **state)
{
	struct config c;

	(void)state;
	assert_int_equal(config_init(&c), 0);
	assert_null(c.name);
	assert_null(c.net);
	assert_int_equal(c.memory, 0);
	assert_int_equal(c.output_bytes, 64 << 20);
	assert_int_equal(c.max_bytes, 25 << 20);
	assert_int_equal(c.keep, 10);
	assert_int_equal(c.timeout, 0);
	assert_false(c.allow_other);
	config_clear(&c);
}

static void test_bytes(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} cases[] = {{"0", 0, 0}, {"4096", 0, 4096}, {"64M", 0, 64 << 20}, {"64m", 0, 64 << 20},
		{"1G", 0, 1 << 30}, {"1.5G", 0, 3ULL << 29}, {"0.1K", 0, 102}, {"2KiB", 0, 2048},
		{"2KB", 0, 2048}, {"7B", 0, 7}, {"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0}, {"16E", -ERANGE, 0}, {"15E", 0, 15ULL << 60},
		{"", -EINVAL, 0}, {"-1", -EINVAL, 0}, {"+1", -EINVAL, 0}, {" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0}, {"1x", -EINVAL, 0}, {"1.5", -EINVAL, 0}, {"1.G", -EINVAL, 0},
		{".5G", -EINVAL, 0}, {"1.5.5G", -EINVAL, 0}, {"0x10", -EINVAL, 0},
		{"1e3", -EINVAL, 0}, {"M", -EINVAL, 0}, {"1MM", -EINVAL, 0}, {"nan", -EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t value = 0;
		int r = config_parse_bytes(cases[i].text, &value);

		if (r != cases[i].r || value != cases[i].value)
			fail_msg("%s: %d %llu", cases[i].text, r, (unsigned long long)value);
	}
}

static void test_seconds(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_int_equal(config_parse_seconds("30", &value), 0);
	assert_int_equal(value, 30);
	assert_int_equal(config_parse_seconds("2m", &value), 0);
	assert_int_equal(value, 120);
	assert_int_equal(config_parse_seconds("1h", &value), 0);
	assert_int_equal(value, 3600);
	assert_int_equal(config_parse_seconds("-1", &value), -EINVAL);
	assert_int_equal(config_parse_seconds("1.5", &value), -EINVAL);
	assert_int_equal(config_parse_seconds("99999999999d", &value), -ERANGE);
	assert_int_equal(config_parse_seconds("999999999999999999999999", &value), -ERANGE);
	assert_int_equal(value, 3600);
}

static void test_names(void **state)
{
	char longest[CONFIG_NAME_MAX + 2];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[CONFIG_NAME_MAX] = '\0';
	assert_true(config_value_is_name("a"));
	assert_true(config_value_is_name("home-me-box 2"));
	assert_true(config_value_is_name("k\xc3\xa4se"));
	assert_true(config_value_is_name(longest));
	longest[CONFIG_NAME_MAX] = 'a';
	longest[CONFIG_NAME_MAX + 1] = '\0';
	assert_false(config_value_is_name(longest));
	assert_false(config_value_is_name(""));
	assert_false(config_value_is_name("."));
	assert_false(config_value_is_name(".."));
	assert_false(config_value_is_name(".run"));
	assert_false(config_value_is_name("-f"));
	assert_false(config_value_is_name("a/b"));
	assert_false(config_value_is_name("a\nb"));
	assert_false(config_value_is_name("a\x7f"));
}

static void test_file_good(void **state)
{
	static const char text[] = "\xef\xbb\xbf; a comment\r\n# another\r\n[sandpit]\r\n"
				   "memory = 1.5G ; the rest\r\n   pids=100\nnet : none\n"
				   "state = /var/lib/a b\nallow_other = yes\ncpus = 1.5\n"
				   "net_allow = *.debian.org:example.com";
	struct config c;

	(void)state;
	assert_string_equal(read_text(&c, text, sizeof(text) - 1), "");
	assert_int_equal(c.memory, 3ULL << 29);
	assert_int_equal(c.pids, 100);
	assert_string_equal(c.net, "none");
	assert_string_equal(c.state, "/var/lib/a b");
	assert_string_equal(c.net_allow, "*.debian.org:example.com");
	assert_true(c.allow_other);
	assert_true(c.cpus > 1.49 && c.cpus < 1.51);
	config_clear(&c);
	assert_string_equal(read_text(&c, "", 0), "");
	config_clear(&c);
}

static void test_file_bad(void **state)
{
	(void)state;
	assert_refused("[sandpit]\nmemroy = 1G\n", "2: unknown setting 'memroy'");
	assert_refused("memory = lots\n",
		"1: memory: 'lots' is not valid; allowed: 1M to 4E, 0: no limit");
	assert_refused("\n\nmemory = 5\n", "3: memory: '5' is out of range; allowed: ");
	assert_refused("memory =\n", "1: memory: '' is not valid");
	assert_refused("memory = 1G\n\npids = 9\nmemory = 2G\n",
		"4: memory: given twice, first in line 1");
	assert_refused("[other]\nmemory = 1G\n", "2: unknown section [other]");
	assert_refused("[sandpit\nmemory = 1G\n", "1: a section's name lacks");
	assert_refused("[sandpit] memory = 1G\n", "1: something follows");
	assert_refused("[sandpit]\nmemo", "2: neither KEY = VALUE nor");
	assert_refused("= 3\n", "1: unknown setting ''");
	assert_refused(
		"state = here\n", "1: state: 'here' is not valid; allowed: an absolute path");
	assert_refused("name = a/b\n", "1: name: 'a/b' is not valid");
	assert_refused(
		"net = wifi\n", "1: net: 'wifi' is not valid; allowed: user, proxy, none or host");
	assert_refused("timeout = -1\n", "1: timeout: '-1' is not valid");
	assert_refused("cpus = nan\n", "1: cpus: 'nan' is not valid");
	assert_refused(
		"nonempty = perhaps\n", "1: nonempty: 'perhaps' is not valid; allowed: yes or no");
	assert_refused("pids = 9\nnet_allow = a::b\n", "2: net_allow: ");
}

static void test_file_bytes(void **state)
{
	static const char with_nul[] = "pids = 10\nmemory = 1\0G\n";
	auto_free char *huge = malloc(100000);
	struct config c;

	(void)state;
	assert_non_null(huge);
	assert_string_equal(read_text(&c, with_nul, sizeof(with_nul) - 1),
		"2: a NUL byte: this is not a text file");
	memset(huge, 'x', 100000);
	huge[0] = '\n';
	assert_string_equal(read_text(&c, huge, 5000), "2: the line is longer than 4096 bytes");
	assert_non_null(strstr(read_text(&c, huge, 100000), "larger than 64 KiB"));
}

static void test_file_not_readable(void **state)
{
	struct config c;
	struct fail f = {0};

	(void)state;
	assert_int_equal(config_init(&c), 0);
	assert_int_equal(config_read_file(&c, "/nonexistent/a.ini", &f), -ENOENT);
	assert_non_null(strstr(f.text, "/nonexistent/a.ini: No such file"));
	assert_int_equal(config_read_file(&c, folder, &f), -EISDIR);
	write_file("pids = 9\n", 9);
	assert_int_equal(chmod(file, 0), 0);
	if (geteuid() != 0) {
		assert_int_equal(config_read_file(&c, file, &f), -EACCES);
		assert_non_null(strstr(f.text, "Permission denied"));
	}
	unlink(file);
	config_clear(&c);
}

static void test_find_file(void **state)
{
	char path[128];
	char *found = NULL;

	(void)state;
	write_file("", 0);
	snprintf(path, sizeof(path), "%s/sandpit", folder);
	assert_int_equal(symlink(folder, path), 0);
	setenv("XDG_CONFIG_HOME", folder, 1);
	assert_int_equal(config_find_file(&found), 0);
	snprintf(path, sizeof(path), "%s/sandpit/sandpit.ini", folder);
	assert_string_equal(found, path);
	free(found);
	snprintf(path, sizeof(path), "%s/sandpit", folder);
	unlink(path);
	assert_int_equal(config_find_file(&found), 0);
	if (found)
		assert_string_equal(found, "/etc/sandpit.ini");
	free(found);
	unsetenv("XDG_CONFIG_HOME");
}

static int set_options(struct config *c, const char *options, struct fail *f)
{
	int r;

	f->text[0] = '\0';
	assert_int_equal(config_init(c), 0);
	r = config_set_options(c, options, f);
	if (r < 0)
		config_clear(c);
	return r;
}

static void test_options_good(void **state)
{
	struct config c;
	struct fail f;

	(void)state;
	assert_int_equal(set_options(&c,
				 "rw,nosuid,memory=1G,nonempty,state=/a\\,b\\\\c=d,_netdev,"
				 "x-systemd.automount,,net=none,memory=2G,",
				 &f),
		0);
	assert_int_equal(c.memory, 2ULL << 30);
	assert_true(c.nonempty);
	assert_string_equal(c.state, "/a,b\\c=d");
	assert_string_equal(c.net, "none");
	config_clear(&c);
	assert_int_equal(set_options(&c, "", &f), 0);
	config_clear(&c);
	assert_int_equal(set_options(&c, "state=here", &f), 0);
	assert_int_equal(c.state[0], '/');
	assert_non_null(strstr(c.state, "/here"));
	config_clear(&c);
}

static void test_options_bad(void **state)
{
	struct config c;
	struct fail f;

	(void)state;
	assert_int_equal(set_options(&c, "pids=9,memroy=1G", &f), -EINVAL);
	assert_string_equal(
		f.text, "-o: unknown setting 'memroy' (sandpit mount --help lists them)");
	assert_int_equal(set_options(&c, "memory", &f), -EINVAL);
	assert_string_equal(f.text, "-o: memory: needs a value: memory=SIZE");
	assert_int_equal(set_options(&c, "ro", &f), -EINVAL);
	assert_int_equal(set_options(&c, "pids=", &f), -EINVAL);
	assert_string_equal(
		f.text, "-o: pids: '' is not valid; allowed: 8 to 4194304, 0: no limit");
	assert_int_equal(set_options(&c, "nonempty=maybe", &f), -EINVAL);
	assert_int_equal(set_options(&c, "pids=99999999999999999999", &f), -EINVAL);
	assert_non_null(strstr(f.text, "out of range"));
}

/* At most 79 columns, and every key stands in it and in the manual page. */
static void test_help(void **state)
{
	auto_buf struct buf help = {0}, manual = {0};
	auto_close int fd = open("docs/sandpit.ini.5", O_RDONLY | O_CLOEXEC);
	char part[4096], item[80];
	ssize_t len;

	(void)state;
	assert_int_equal(config_help(&help), 0);
	for (const char *line = help.data; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 79);
	assert_true(fd >= 0);
	while ((len = read(fd, part, sizeof(part))) > 0)
		buf_add(&manual, part, (size_t)len);
	for (size_t i = 0; i < config_keys_len; i++) {
		snprintf(item, sizeof(item), "\n  %s", config_keys[i].name);
		assert_true(i == 0 || strstr(help.data, item));
		snprintf(item, sizeof(item), "\n.It Cm %s\n", config_keys[i].name);
		if (!strstr(buf_text(&manual), item))
			fail_msg("docs/sandpit.ini.5 lacks '%s'", config_keys[i].name);
	}
}

static void a_kernel_section_makes_a_language(void **state)
{
	static const char good[] = "[sandpit]\nname = a\n[kernel lua]\ncommand = lua /d.lua x\n"
				   "ready = yes\nenv = A=1 B=2\n";
	static const char *const bad[] = {"[kernel lua]\nready = yes\n",
		"[kernel lua]\ncommand = \n", "[kernel lua]\ncommand = x\nready = maybe\n",
		"[kernel lua]\ncommand = x\nnope = 1\n", "[kernel ../x]\ncommand = x\n"};
	struct config c;

	(void)state;
	assert_string_equal(read_text(&c, good, strlen(good)), "");
	assert_non_null(c.own_kernels);
	assert_string_equal(c.own_kernels->name, "lua");
	assert_string_equal(c.own_kernels->command, "lua /d.lua x");
	assert_true(c.own_kernels->ready);
	assert_false(c.own_kernels->interrupt_frame);
	config_clear(&c);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(*read_text(&c, bad[i], strlen(bad[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_section_makes_a_language),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_file_good),
		cmocka_unit_test(test_file_bad),
		cmocka_unit_test(test_file_bytes),
		cmocka_unit_test(test_file_not_readable),
		cmocka_unit_test(test_find_file),
		cmocka_unit_test(test_options_good),
		cmocka_unit_test(test_options_bad),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
