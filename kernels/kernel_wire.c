// The framed protocol between the daemon and a kernel's driver.
#include "kernels/kernel_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define FIELD_HEADER 8

static uint32_t get32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static void put32(unsigned char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

ssize_t kernel_wire_frame(const void *data, size_t len, struct kernel_frame *ret)
{
	const unsigned char *at = data;
	uint32_t size;

	if (len < KERNEL_WIRE_HEADER)
		return 0;
	size = get32(at);
	if (size > KERNEL_WIRE_MAX || at[5] || at[6] || at[7])
		return -EPROTO;
	if (len - KERNEL_WIRE_HEADER < size)
		return 0;
	*ret = (struct kernel_frame){.type = at[4],
		.execution = get32(at + 8),
		.payload = at + KERNEL_WIRE_HEADER,
		.len = size};
	return (ssize_t)(KERNEL_WIRE_HEADER + size);
}

int kernel_wire_field(struct kernel_frame *frame, struct kernel_field *ret)
{
	uint64_t name_len, len;

	if (frame->len == 0)
		return 0;
	if (frame->len < FIELD_HEADER)
		return -EPROTO;
	name_len = get32(frame->payload);
	len = get32(frame->payload + 4);
	if (name_len + len > frame->len - FIELD_HEADER)
		return -EPROTO;
	*ret = (struct kernel_field){
		.name = (const char *)frame->payload + FIELD_HEADER,
		.name_len = (size_t)name_len,
		.value = frame->payload + FIELD_HEADER + name_len,
		.len = (size_t)len,
	};
	frame->payload += FIELD_HEADER + name_len + len;
	frame->len -= FIELD_HEADER + (size_t)(name_len + len);
	return 1;
}

bool kernel_wire_find(const struct kernel_frame *frame, const char *name, struct kernel_field *ret)
{
	struct kernel_frame rest = *frame;

	while (kernel_wire_field(&rest, ret) > 0)
		if (kernel_wire_is(ret, name))
			return true;
	return false;
}

size_t kernel_wire_begin(struct buf *to, enum kernel_frame_type type, uint32_t execution)
{
	unsigned char header[KERNEL_WIRE_HEADER] = {0};
	size_t start = to->len;

	header[4] = (unsigned char)type;
	put32(header + 8, execution);
	buf_add(to, header, sizeof(header));
	return start;
}

void kernel_wire_add(struct buf *to, const char *name, const void *value, size_t len)
{
	unsigned char header[FIELD_HEADER];

	put32(header, (uint32_t)strlen(name));
	put32(header + 4, (uint32_t)len);
	buf_add(to, header, sizeof(header));
	buf_add_str(to, name);
	buf_add(to, value, len);
}

void kernel_wire_end(struct buf *to, size_t start)
{
	if (to->error == 0)
		put32((unsigned char *)to->data + start,
			(uint32_t)(to->len - start - KERNEL_WIRE_HEADER));
}
