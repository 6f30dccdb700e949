// Requests on the names and attributes of synthetic files.
#include "fs/synth/synth_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/scope.h"
#include "fs/checkpoint_tree.h"
#include "fs/files/files.h"
#include "fs/parked.h"
#include "fs/synth/control.h"
#include "fs/synth/scratch.h"
#include "fs/synth/synth.h"
#include "fs/synth/synth_handle.h"
#include "fs/synth/synth_refusal.h"

#define ALWAYS_THERE "it is always there"
#define TAKES_REQUESTS                                                                             \
	"it is always there; give it a request by writing, as cp does and mv does not"
#define NO_SUCH_FILE "there is no such file here; ls shows those that are"
#define NO_FILES "no files can be made here; ls shows those that are"
#define NO_LINKS "links can be made below files/ only"
#define NO_DEVICES "no devices, FIFOs and sockets can be made here"

/* Inode numbers of synthetic files: without the instance, so that a control file keeps its number,
 * and away from those of files/, which are a device's below a tag in the high bits. */
uint64_t synth_st_ino(const struct synth_node *n)
{
	struct synth_node plain = *n;

	if (n->slot != SYNTH_SCRATCH)
		plain.instance = 0;
	return synth_ino(&plain);
}

static const char *no_such(const struct synth_node *dir)
{
	return dir->dir->no_such ? dir->dir->no_such : NO_SUCH_FILE;
}

static struct timespec to_timespec(uint64_t usec)
{
	return (struct timespec){.tv_sec = (time_t)(usec / USEC_PER_SEC),
		.tv_nsec = (long)(usec % USEC_PER_SEC) * 1000};
}

mode_t synth_mode(const struct synth_node *n)
{
	const struct synth_file *file = synth_file_of(n);

	if (n->slot == SYNTH_SCRATCH)
		return S_IFREG | 0644;
	if (!file)
		return S_IFDIR | (n->dir->mkdir || n->dir->scratch ? 0755 : 0555);
	if (file->type == SYNTH_LINK)
		return S_IFLNK | 0777;
	if (file->type == SYNTH_FILES_ROOT || file->type == SYNTH_TREE)
		return S_IFDIR | 0755;
	return S_IFREG | file->mode;
}

static int fill_size(struct mount *m, const struct synth_node *n, struct stat *ret)
{
	const struct synth_file *file = synth_file_of(n);
	struct buf target auto_buf = {0};
	uint64_t size = 0;
	int r = 0;

	if (n->slot == SYNTH_SCRATCH) {
		size = scratch_of(m, n)->data.len;
	} else if (file && file->type == SYNTH_LINK) {
		r = file->link(m, n, &target);
		size = target.len;
	} else if (file) {
		r = synth_size(m, n, &size);
	}
	ret->st_size = (off_t)size;
	ret->st_blocks = (blkcnt_t)((size + 511) / 512);
	return r;
}

int synth_stat(struct mount *m, const struct synth_node *n, struct stat *ret)
{
	struct synth_times times = {m->started_usec, m->started_usec};

	*ret = (struct stat){.st_ino = synth_st_ino(n),
		.st_mode = synth_mode(n),
		.st_nlink = 1,
		.st_uid = m->uid,
		.st_gid = m->gid,
		.st_blksize = 4096};
	if (S_ISDIR(ret->st_mode))
		ret->st_nlink = 2;
	if (n->slot == SYNTH_SCRATCH)
		times.changed_usec = scratch_of(m, n)->changed_usec;
	else if (n->dir->times)
		n->dir->times(m, n->object, &times);
	ret->st_mtim = ret->st_ctim = ret->st_atim = to_timespec(times.changed_usec);
	return fill_size(m, n, ret);
}

/* A file server keeps what it has read of a link as long as the link's handle is the same. */
static uint16_t link_instance(struct mount *m, const struct synth_node *n)
{
	struct buf target auto_buf = {0};
	uint16_t hash = 0;

	if (synth_file_of(n)->link(m, n, &target) < 0)
		return 0;
	for (size_t i = 0; i < target.len; i++)
		hash = (uint16_t)(hash * 31 + (unsigned char)target.data[i]);
	return hash;
}

/* Writers of one control file must not share the kernel's inode, which it locks while one of their
 * writes waits: every lookup gives a new node id, under one inode number. */
static void set_instance(struct mount *m, struct synth_node *n)
{
	const struct synth_file *file = synth_file_of(n);

	if (file && (file->control || file->write || file->freeze))
		n->instance = ++m->next_instance;
	else if (file && file->type == SYNTH_LINK)
		n->instance = link_instance(m, n);
}

/* The root's node exists without a lookup, with generation 0. */
static int fill_entry(struct mount *m, const struct synth_node *n, struct fuse_entry_param *ret)
{
	const struct synth_file *file = synth_file_of(n);

	*ret = (struct fuse_entry_param){.generation = m->generation};
	if (file && file->type == SYNTH_FILES_ROOT)
		return files_root_entry(m->files, ret);
	ret->ino = synth_ino(n);
	if (ret->ino == FUSE_ROOT_ID)
		ret->generation = 0;
	return synth_stat(m, n, &ret->attr);
}

static void reply_node(struct mount *m, fuse_req_t req, const struct synth_node *n)
{
	struct fuse_entry_param entry;
	int r = fill_entry(m, n, &entry);

	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_entry(req, &entry);
}

static void reply_entry(struct mount *m, fuse_req_t req, struct synth_node *n)
{
	const struct synth_file *file = synth_file_of(n);

	if (file && file->type == SYNTH_TREE) {
		checkpoint_tree_lookup(m, req, n);
		return;
	}
	set_instance(m, n);
	reply_node(m, req, n);
}

/* "." of any node: how a file server comes back to one whose id it has kept. Ids that no lookup gives
 * are forged: those of entries that stand for directories, which have ids of their own. */
static void reply_again(struct mount *m, fuse_req_t req, fuse_ino_t ino, const struct synth_node *n)
{
	const struct synth_file *file = synth_file_of(n);
	bool forged = synth_ino(n) != ino;
	bool gone = file && file->present && !file->present(m, n);

	if (file && file->type != SYNTH_FILE && file->type != SYNTH_LINK)
		forged = true;
	if (forged || gone)
		fuse_reply_err(req, ESTALE);
	else
		reply_node(m, req, n);
}

void synth_parent(struct mount *m, const struct synth_node *n, struct synth_node *ret)
{
	*ret = (struct synth_node){.dir = &synth_root};
	if (n->dir->parent)
		n->dir->parent(m, n->object, ret);
}

void synth_lookup(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct synth_node dir, child;
	int r = synth_node_of(m, parent, &dir);

	if (r == 0 && !strcmp(name, ".")) {
		reply_again(m, req, parent, &dir);
		return;
	}
	if (r == 0 && !strcmp(name, "..")) {
		synth_parent(m, &dir, &child);
		reply_entry(m, req, &child);
		return;
	}
	if (r == 0)
		r = synth_child(m, &dir, name, &child);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		reply_entry(m, req, &child);
}

static void reply_attr(struct mount *m, fuse_req_t req, const struct synth_node *n)
{
	struct stat st;
	int r = synth_stat(m, n, &st);

	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_attr(req, &st, 0);
}

void synth_getattr(struct mount *m, fuse_req_t req, fuse_ino_t ino)
{
	struct synth_node n;
	int r = synth_node_of(m, ino, &n);

	/* The kernel asks so before it reads a directory. */
	if (r == 0 && !n.slot && n.dir->whole)
		removals_note(m, fuse_req_ctx(req)->pid, &n);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		reply_attr(m, req, &n);
}

/* Editors and cp set sizes, times and modes of what they write; on a file that takes writes that
 * means nothing but for what was written so far, and is let pass. */
void synth_setattr(struct mount *m, fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
	struct fuse_file_info *fi)
{
	const struct synth_file *file;
	struct synth_node n;
	int r = synth_node_of(m, ino, &n);

	file = r == 0 ? synth_file_of(&n) : NULL;
	if (r == 0 && n.slot == SYNTH_SCRATCH && (to_set & FUSE_SET_ATTR_SIZE))
		r = synth_scratch_done(
			m, &n, scratch_truncate(scratch_of(m, &n), (uint64_t)attr->st_size));
	else if (r == 0 && n.slot != SYNTH_SCRATCH && !(file && (file->control || file->write)))
		r = to_set & FUSE_SET_ATTR_SIZE
			    ? synth_refuse_node(m, &n, -EACCES, ONLY_READ)
			    : synth_refuse_node(m, &n, -EPERM, "its mode and owner are fixed");
	else if (r == 0 && fi && (to_set & FUSE_SET_ATTR_SIZE))
		synth_handle_truncate(fi, (uint64_t)attr->st_size);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		reply_attr(m, req, &n);
}

void synth_readlink(struct mount *m, fuse_req_t req, fuse_ino_t ino)
{
	struct buf target auto_buf = {0};
	struct synth_node n;
	const struct synth_file *file;
	int r = synth_node_of(m, ino, &n);

	file = r == 0 ? synth_file_of(&n) : NULL;
	if (r == 0)
		r = file && file->link ? file->link(m, &n, &target) : -EINVAL;
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_readlink(req, buf_text(&target));
}

void synth_mkdir(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct synth_node dir, child;
	struct fail f = {0};
	int r = synth_node_of(m, parent, &dir);

	if (r == 0 && synth_child(m, &dir, name, &child) == 0)
		r = -EEXIST;
	else if (r == 0 && !dir.dir->mkdir)
		r = synth_refuse(m, &dir, name, -EACCES, "no directories can be made here");
	else if (r == 0) {
		r = dir.dir->mkdir(m, dir.object, name, &child, &f);
		if (r < 0)
			synth_failed(m, &dir, name, r, &f);
	}
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		reply_entry(m, req, &child);
}

static int remove_part(
	struct mount *m, fuse_req_t req, const struct synth_node *dir, const char *name)
{
	if (removals_has(m, fuse_req_ctx(req)->pid))
		return 0;
	return synth_refuse(m, dir, name, -EPERM, "it goes with its directory only: rm -r that");
}

/* mv from another file system removes first what it then makes. */
static int refuse_unlink(struct mount *m, const struct synth_node *dir, const char *name,
	const struct synth_node *child)
{
	const struct synth_file *file = synth_file_of(child);

	return synth_refuse(
		m, dir, name, -EACCES, file && file->control ? TAKES_REQUESTS : ALWAYS_THERE);
}

void synth_unlink(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct synth_node dir, child;
	struct fail f = {0};
	int r = synth_node_of(m, parent, &dir);

	if (r == 0)
		r = synth_child(m, &dir, name, &child);
	if (r == 0 && child.slot == SYNTH_SCRATCH) {
		scratch_unlink(scratch_of(m, &child));
	} else if (r == 0 && dir.dir->whole) {
		r = remove_part(m, req, &dir, name);
	} else if (r == 0 && !dir.dir->unlink) {
		r = refuse_unlink(m, &dir, name, &child);
	} else if (r == 0) {
		r = dir.dir->unlink(m, &child, &f);
		if (r < 0)
			synth_failed(m, &dir, name, r, &f);
	}
	fuse_reply_err(req, -r);
}

/* Directories that were made by somebody, not those of the tables. */
static bool is_removable(
	const struct synth_node *dir, const struct synth_node *child, const char *name)
{
	return dir->dir->rmdir && child->dir != dir->dir && !synth_find(dir->dir, name);
}

void synth_rmdir(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	const struct synth_file *file;
	struct synth_node dir, child;
	struct fail f = {0};
	int r = synth_node_of(m, parent, &dir);

	if (r == 0)
		r = synth_child(m, &dir, name, &child);
	file = r == 0 ? synth_file_of(&child) : NULL;
	if (file && file->type == SYNTH_TREE) {
		fuse_reply_err(req, -remove_part(m, req, &dir, name));
		return;
	}
	if (r == 0 && !S_ISDIR(synth_mode(&child)))
		r = -ENOTDIR;
	if (r == 0 && !is_removable(&dir, &child, name)) {
		r = synth_refuse(m, &dir, name, -EBUSY, ALWAYS_THERE);
	} else if (r == 0) {
		r = dir.dir->rmdir(m, &child, &f);
		if (r < 0)
			synth_failed(m, &dir, name, r, &f);
	}
	fuse_reply_err(req, -r);
}

/* A control file renamed away: an editor's backup. The file stays, the new name is a copy. */
static int copy_to_scratch(
	struct mount *m, const struct synth_node *dir, const struct synth_node *n, const char *name)
{
	struct buf content auto_buf = {0};
	struct synth_node other;
	struct scratch *s;
	int r = synth_content(m, n, &content);

	if (r < 0)
		return r;
	if (scratch_find(m, dir, name, &other))
		scratch_unlink(scratch_of(m, &other));
	r = scratch_create(m, dir, name, 0, &s);
	if (r == 0)
		r = scratch_write(s, buf_text(&content), content.len, 0);
	return r == -ENOENT ? -EACCES : r;
}

struct renamed {
	struct control_handle control;
};

static void free_renamed(void *handle)
{
	struct renamed *renamed = handle;

	control_release(&renamed->control);
	free(renamed);
}

static void renamed_over(struct parked *p, bool at_deadline)
{
	struct renamed *renamed = p->handle;

	(void)at_deadline;
	parked_reply(p, renamed->control.call.error);
}

static void rename_interrupted(struct parked *p)
{
	control_cancel(&((struct renamed *)p->handle)->control);
}

/* A temporary file renamed over a control file is its request. The kernel holds the directory's
 * lock meanwhile, so a request that takes long goes on by itself after a moment. */
static void rename_over(struct mount *m, fuse_req_t req, struct scratch *s, struct synth_node *n)
{
	struct renamed *renamed = calloc(1, sizeof(*renamed));
	struct parked *p;
	int r;

	if (!renamed) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	control_open(&renamed->control, m, n, false);
	r = control_perform(&renamed->control, buf_text(&s->data), s->data.len);
	if (r >= 0)
		scratch_unlink(s);
	p = r == CONTROL_WAIT
		    ? parked_new(m, req, renamed, &renamed->control.call.ended, renamed_over)
		    : NULL;
	if (!p) {
		free_renamed(renamed);
		fuse_reply_err(req, r == CONTROL_WAIT ? ENOMEM : -r);
		return;
	}
	p->interrupted = rename_interrupted;
	p->drop = free_renamed;
	parked_deadline(p, CONTROL_GRACE_USEC);
}

static int rename_within(struct mount *m, const struct synth_node *dir, struct synth_node *from,
	const struct synth_node *to, const char *newname)
{
	const struct synth_file *file = synth_file_of(from);
	bool temporary = from->slot == SYNTH_SCRATCH;
	int r;

	if (to && to->slot != SYNTH_SCRATCH)
		return synth_refuse_node(m, to, -EACCES, ALWAYS_THERE);
	if (!temporary && !(file && file->control))
		return synth_refuse_node(m, from, -EACCES, "it keeps its name");
	r = temporary ? scratch_rename(m, scratch_of(m, from), newname)
		      : copy_to_scratch(m, dir, from, newname);
	return r == -EACCES ? synth_refuse(m, dir, newname, r, no_such(dir)) : r;
}

void synth_rename(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t newparent, const char *newname, unsigned int flags)
{
	struct synth_node dir, from, to;
	bool exists = false;
	int r = synth_node_of(m, parent, &dir);

	if (r == 0)
		r = synth_child(m, &dir, name, &from);
	if (r == 0 && parent != newparent)
		r = -EXDEV;
	if (r == 0)
		exists = synth_child(m, &dir, newname, &to) == 0;
	if (r == 0 && (flags & ~(unsigned)RENAME_NOREPLACE))
		r = -EINVAL;
	if (r == 0 && exists && (flags & RENAME_NOREPLACE))
		r = -EEXIST;
	if (r == 0 && exists && from.slot == SYNTH_SCRATCH && synth_file_of(&to) &&
		synth_file_of(&to)->control) {
		rename_over(m, req, scratch_of(m, &from), &to);
		return;
	}
	if (r == 0)
		r = rename_within(m, &dir, &from, exists ? &to : NULL, newname);
	fuse_reply_err(req, -r);
}

static int create(
	struct mount *m, fuse_ino_t parent, const char *name, int flags, struct scratch **ret)
{
	struct synth_node dir, child;
	struct fail f = {0};
	int r = synth_node_of(m, parent, &dir);

	if (r < 0)
		return r;
	if (synth_child(m, &dir, name, &child) == 0)
		return -EEXIST;
	if (!dir.dir->scratch)
		return synth_refuse(m, &dir, name, -EACCES, NO_FILES);
	r = scratch_create(m, &dir, name, flags, ret);
	if (r == -ENOENT)
		fail_set(&f, r, "%s", no_such(&dir));
	else if (r == -ENOSPC)
		fail_set(&f, r, "there are %d temporary files here, as many as may be; remove some",
			SCRATCH_FILES);
	return r < 0 ? synth_failed(m, &dir, name, r, &f) : 0;
}

void synth_mknod(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct scratch *s;
	int r = S_ISREG(mode) ? create(m, parent, name, 0, &s)
			      : synth_refuse_at(m, parent, name, -EPERM, NO_DEVICES);

	if (r < 0)
		fuse_reply_err(req, -r);
	else
		reply_entry(m, req, &s->node);
}

void synth_symlink(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, -synth_refuse_at(m, parent, name, -EACCES, NO_LINKS));
}

void synth_link(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	fuse_reply_err(req, -synth_refuse_at(m, parent, name, -EPERM, NO_LINKS));
}

void synth_create(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name,
	struct fuse_file_info *fi)
{
	struct fuse_entry_param entry;
	struct scratch *s;
	int r = create(m, parent, name, fi->flags, &s);

	if (r == 0)
		r = fill_entry(m, &s->node, &entry);
	if (r == 0)
		r = synth_handle_open(m, &s->node, fuse_req_ctx(req)->pid, fi);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_create(req, &entry, fi) == -ENOENT)
		synth_handle_close(fi);
}

void synth_access(struct mount *m, fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct synth_node n;
	const struct synth_file *file;
	int r = synth_node_of(m, ino, &n);

	file = r == 0 ? synth_file_of(&n) : NULL;
	/* What may be removed with its directory counts as writable, so that `rm -r` does not ask. */
	if (r == 0 && (mask & W_OK) && file && !file->control && !file->write && !n.dir->unlink &&
		!n.dir->whole)
		r = -EACCES;
	if (r == 0 && (mask & X_OK) && !S_ISDIR(synth_mode(&n)))
		r = -EACCES;
	fuse_reply_err(req, -r);
}
