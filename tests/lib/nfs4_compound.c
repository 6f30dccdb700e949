// One NFSv4 compound request, composed on the command line: for handles that a client keeps, forges or
// sends twice, which no library would do for it. No state is opened: reads and writes carry the
// special state id of zeros (RFC 7530, 9.1.4.3).
//
// nfs4_compound PORT OP [ARG...] OP [ARG...] ...: each OP prints `OP STATUS [DATA]`; the first that
// fails ends the request, as the protocol has it. STATUS is NFS4_OK or the error's name.
#include <ctype.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>

#define OPS_MAX 32

static nfs_argop4 ops[OPS_MAX];
static const char *op_names[OPS_MAX];
static unsigned ops_len;
static bool done;
static int result;

static void die(const char *what)
{
	fprintf(stderr, "nfs4_compound: %s\n", what);
	exit(2);
}

/* A ^ is sent as NUL. */
static component4 text_of(char *text)
{
	component4 name = {.utf8string_len = (u_int)strlen(text), .utf8string_val = text};

	while ((text = strchr(text, '^')))
		*text++ = '\0';
	return name;
}

static nfs_fh4 handle_of(const char *hex)
{
	size_t len = strlen(hex) / 2;
	char *bytes = malloc(len + 1);

	for (size_t i = 0; i < len; i++) {
		unsigned byte = 0;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			die("a handle is hexadecimal");
		bytes[i] = (char)byte;
	}
	return (nfs_fh4){.nfs_fh4_len = (u_int)len, .nfs_fh4_val = bytes};
}

/* The text, or standard input for "-". */
static char *data_of(char *text, u_int *ret_len)
{
	static char data[1 << 20];

	if (strcmp(text, "-")) {
		*ret_len = (u_int)strlen(text);
		return text;
	}
	*ret_len = (u_int)fread(data, 1, sizeof(data), stdin);
	return data;
}

static bitmap4 attributes(uint32_t bits)
{
	uint32_t *words = calloc(1, sizeof(*words));

	*words = bits;
	return (bitmap4){.bitmap4_len = 1, .bitmap4_val = words};
}

static void fill_create(CREATE4args *create, const char *kind, char *name)
{
	create->objtype.type = *kind == 'b'   ? NF4BLK
			       : *kind == 'c' ? NF4CHR
			       : *kind == 's' ? NF4SOCK
			       : *kind == 'f' ? NF4FIFO
					      : NF4DIR;
	create->objtype.createtype4_u.devdata = (specdata4){.specdata1 = 1, .specdata2 = 3};
	create->objname = text_of(name);
}

struct op {
	const char *name;
	nfs_opnum4 number;
	int args;
};

static const struct op table[] = {
	{"root", OP_PUTROOTFH, 0}, {"fh", OP_PUTFH, 1}, /* HEX */
	{"lookup", OP_LOOKUP, 1}, /* NAME */
	{"lookupp", OP_LOOKUPP, 0}, {"getfh", OP_GETFH, 0}, {"savefh", OP_SAVEFH, 0},
	{"size", OP_GETATTR, 0}, {"read", OP_READ, 2}, /* OFFSET LENGTH */
	{"write", OP_WRITE, 3}, /* OFFSET unstable|stable TEXT */
	{"commit", OP_COMMIT, 0}, {"create", OP_CREATE, 2}, /* block|char|socket|fifo|dir NAME */
	{"remove", OP_REMOVE, 1}, /* NAME */
	{"rename", OP_RENAME, 2}, /* OLD NEW: from the saved directory */
	{"link", OP_LINK, 1}, /* NAME: of the saved file */
	{"list", OP_READDIR, 2}, /* COOKIE BYTES */
};

static void add_op(const struct op *op, char **args)
{
	nfs_argop4 *arg = &ops[ops_len];

	arg->argop = op->number;
	op_names[ops_len++] = op->name;
	switch (op->number) {
	case OP_PUTFH:
		arg->nfs_argop4_u.opputfh.object = handle_of(args[0]);
		break;
	case OP_LOOKUP:
		arg->nfs_argop4_u.oplookup.objname = text_of(args[0]);
		break;
	case OP_GETATTR:
		arg->nfs_argop4_u.opgetattr.attr_request = attributes(1U << FATTR4_SIZE);
		break;
	case OP_READ:
		arg->nfs_argop4_u.opread.offset = strtoull(args[0], NULL, 0);
		arg->nfs_argop4_u.opread.count = (count4)strtoul(args[1], NULL, 0);
		break;
	case OP_WRITE:
		arg->nfs_argop4_u.opwrite.offset = strtoull(args[0], NULL, 0);
		arg->nfs_argop4_u.opwrite.stable = *args[1] == 's' ? FILE_SYNC4 : UNSTABLE4;
		arg->nfs_argop4_u.opwrite.data.data_val =
			data_of(args[2], &arg->nfs_argop4_u.opwrite.data.data_len);
		break;
	case OP_CREATE:
		fill_create(&arg->nfs_argop4_u.opcreate, args[0], args[1]);
		break;
	case OP_REMOVE:
		arg->nfs_argop4_u.opremove.target = text_of(args[0]);
		break;
	case OP_RENAME:
		arg->nfs_argop4_u.oprename.oldname = text_of(args[0]);
		arg->nfs_argop4_u.oprename.newname = text_of(args[1]);
		break;
	case OP_LINK:
		arg->nfs_argop4_u.oplink.newname = text_of(args[0]);
		break;
	case OP_READDIR:
		arg->nfs_argop4_u.opreaddir.cookie = strtoull(args[0], NULL, 0);
		arg->nfs_argop4_u.opreaddir.dircount = arg->nfs_argop4_u.opreaddir.maxcount =
			(count4)strtoul(args[1], NULL, 0);
		arg->nfs_argop4_u.opreaddir.attr_request = attributes(0);
		break;
	default:
		break;
	}
}

static void show_data(const char *data, u_int len)
{
	putchar(' ');
	for (u_int i = 0; i < len; i++) {
		if (isprint((unsigned char)data[i]) && data[i] != '\\')
			putchar(data[i]);
		else
			printf("\\x%02x", (unsigned char)data[i]);
	}
}

static void show_size(const fattr4 *attr)
{
	uint64_t size = 0;

	for (u_int i = 0; i < attr->attr_vals.attrlist4_len; i++)
		size = size << 8 | (unsigned char)attr->attr_vals.attrlist4_val[i];
	printf(" %llu", (unsigned long long)size);
}

static void show_handle(const nfs_fh4 *fh)
{
	putchar(' ');
	for (u_int i = 0; i < fh->nfs_fh4_len; i++)
		printf("%02x", (unsigned char)fh->nfs_fh4_val[i]);
}

static void show_list(const dirlist4 *list)
{
	for (const entry4 *entry = list->entries; entry; entry = entry->nextentry)
		printf("\n%llu %.*s", (unsigned long long)entry->cookie,
			(int)entry->name.utf8string_len, entry->name.utf8string_val);
	if (list->eof)
		printf("\nend");
}

static void show(const char *name, const nfs_resop4 *res)
{
	/* The status is the first member of every result. */
	nfsstat4 status = res->nfs_resop4_u.opputfh.status;

	printf("%s %s", name, status == NFS4_OK ? "NFS4_OK" : nfsstat4_to_str((int)status));
	if (status == NFS4_OK && res->resop == OP_READ)
		show_data(res->nfs_resop4_u.opread.READ4res_u.resok4.data.data_val,
			res->nfs_resop4_u.opread.READ4res_u.resok4.data.data_len);
	else if (status == NFS4_OK && res->resop == OP_GETFH)
		show_handle(&res->nfs_resop4_u.opgetfh.GETFH4res_u.resok4.object);
	else if (status == NFS4_OK && res->resop == OP_GETATTR)
		show_size(&res->nfs_resop4_u.opgetattr.GETATTR4res_u.resok4.obj_attributes);
	else if (status == NFS4_OK && res->resop == OP_WRITE)
		printf(" %u", res->nfs_resop4_u.opwrite.WRITE4res_u.resok4.count);
	else if (status == NFS4_OK && res->resop == OP_READDIR)
		show_list(&res->nfs_resop4_u.opreaddir.READDIR4res_u.resok4.reply);
	putchar('\n');
	if (status != NFS4_OK)
		result = 1;
}

static void on_answer(struct rpc_context *rpc, int status, void *data, void *arg)
{
	const COMPOUND4res *res = data;

	(void)rpc;
	(void)arg;
	done = true;
	if (status != RPC_STATUS_SUCCESS) {
		printf("rpc %s\n", status == RPC_STATUS_ERROR ? (char *)data : "cancelled");
		result = 2;
		return;
	}
	for (u_int i = 0; i < res->resarray.resarray_len; i++)
		show(op_names[i], &res->resarray.resarray_val[i]);
	if (res->status != NFS4_OK)
		result = 1;
}

static void on_connect(struct rpc_context *rpc, int status, void *data, void *arg)
{
	COMPOUND4args args = {0};

	(void)data;
	(void)arg;
	if (status != RPC_STATUS_SUCCESS)
		die("cannot connect");
	args.argarray.argarray_len = ops_len;
	args.argarray.argarray_val = ops;
	if (rpc_nfs4_compound_async(rpc, on_answer, &args, NULL) != 0)
		die("cannot send");
}

static void parse(char **words)
{
	while (*words) {
		size_t i = 0;

		while (i < sizeof(table) / sizeof(*table) && strcmp(table[i].name, *words))
			i++;
		if (i == sizeof(table) / sizeof(*table) || ops_len == OPS_MAX)
			die(*words);
		for (int arg = 1; arg <= table[i].args; arg++)
			if (!words[arg])
				die("an argument is missing");
		add_op(&table[i], words + 1);
		words += 1 + table[i].args;
	}
}

int main(int argc, char **argv)
{
	struct rpc_context *rpc = rpc_init_context();

	if (argc < 3 || !rpc)
		die("usage: PORT OP...");
	parse(argv + 2);
	if (rpc_connect_port_async(
		    rpc, "127.0.0.1", atoi(argv[1]), NFS4_PROGRAM, NFS_V4, on_connect, NULL) != 0)
		die("cannot connect");
	while (!done) {
		struct pollfd wait = {
			.fd = rpc_get_fd(rpc), .events = (short)rpc_which_events(rpc)};

		if (poll(&wait, 1, 60000) <= 0 || rpc_service(rpc, wait.revents) < 0)
			die("no answer");
	}
	fflush(stdout);
	/* Without a word to the server, as a client does that vanishes. */
	_exit(result);
}
