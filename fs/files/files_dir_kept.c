// Directories that are listed in parts, between two of them.
#include "fs/files/files_dir.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/scope.h"

#define DIRS_MAX 32 /* that are kept between requests */

/* Who has not come back for the next part for so long has left, and is not on his way with the last one. */
#define LEFT_USEC (10 * USEC_PER_SEC)

void files_dir_free(struct files_dir *dir)
{
	if (!dir)
		return;
	close_fd(&dir->fd);
	free(dir);
}

void files_dirs_free(struct files *files)
{
	while (!list_empty(&files->dirs)) {
		struct files_dir *dir = list_entry(files->dirs.next, struct files_dir, link);

		list_remove(&dir->link);
		files_dir_free(dir);
	}
}

static bool is_likelier(const struct files_dir *dir, const struct files_dir *other, pid_t reader)
{
	if (!other || (dir->reader == reader) != (other->reader == reader))
		return !other || dir->reader == reader;
	return dir->begun_usec > other->begun_usec;
}

/* The one that was begun last, of the same reader if there is one: what an overlay merges it lists as it
 * was when it was opened. */
struct files_dir *files_dir_take(struct files *files, fuse_ino_t ino, off_t off, pid_t reader)
{
	struct files_dir *found = NULL;
	struct list *item;

	pthread_mutex_lock(&files->dirs_lock);
	list_for_each(item, &files->dirs)
	{
		struct files_dir *dir = list_entry(item, struct files_dir, link);

		if (dir->node == ino && dir->next_off == off && is_likelier(dir, found, reader))
			found = dir;
	}
	if (found) {
		list_remove(&found->link);
		files->dirs_len--;
	}
	pthread_mutex_unlock(&files->dirs_lock);
	return found;
}

void files_dir_keep(struct files *files, struct files_dir *dir)
{
	struct files_dir *oldest = NULL;

	pthread_mutex_lock(&files->dirs_lock);
	dir->told_usec = clock_monotonic_usec();
	list_add_tail(&files->dirs, &dir->link);
	if (files->dirs_len < DIRS_MAX) {
		files->dirs_len++;
	} else {
		oldest = list_entry(files->dirs.next, struct files_dir, link);
		list_remove(&oldest->link);
		files->dirs_dropped_usec = oldest->told_usec;
	}
	pthread_mutex_unlock(&files->dirs_lock);
	files_dir_free(oldest);
}

bool files_dirs_on_way(struct files *files, uint64_t ino, uint64_t until_usec)
{
	uint64_t now = clock_monotonic_usec();
	uint64_t since = now > LEFT_USEC ? now - LEFT_USEC : 0;
	struct list *item;
	bool is;

	pthread_mutex_lock(&files->dirs_lock);
	is = files->dirs_dropped_usec > since;
	list_for_each(item, &files->dirs)
	{
		const struct files_dir *dir = list_entry(item, struct files_dir, link);

		is = is || ((!ino || dir->node == ino) && dir->told_usec > since &&
				   dir->told_usec <= until_usec);
	}
	pthread_mutex_unlock(&files->dirs_lock);
	return is;
}
