# Writes to a file that others read, read anew and have mapped, and looks each time whether all see it.
# readers.py FILE SECONDS   says what was not seen
import mmap
import os
import random
import sys
import time

PAGES = 64
SIZE = 4096 * PAGES
path = sys.argv[1]
end = time.time() + float(sys.argv[2])


def read_on(anew):
    fd = os.open(path, os.O_RDONLY)
    while time.time() < end:
        if anew:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(fd, SIZE, 0)
    os._exit(0)


with open(path, 'wb') as file:
    file.write(bytes(SIZE))
readers = []
for anew in (True, False):
    readers.append(os.fork())
    if readers[-1] == 0:
        read_on(anew)
reader = os.open(path, os.O_RDONLY)
mapping = mmap.mmap(reader, SIZE, mmap.MAP_SHARED, mmap.PROT_READ)
writers = [os.open(path, os.O_WRONLY), os.open(path, os.O_RDWR)]
count = 0
while time.time() < end:
    count += 1
    at = random.randrange(PAGES) * 4096 + random.choice((0, 8, 4000))
    data = b'%08d' % count
    os.pwrite(random.choice(writers), data, at)
    if os.pread(reader, 8, at) != data or mapping[at:at + 8] != data:
        sys.exit('write %d at %d was not seen' % (count, at))
for pid in readers:
    os.waitpid(pid, 0)
if count < 10:
    sys.exit('%d writes only' % count)
