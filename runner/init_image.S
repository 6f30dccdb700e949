/* The init program's bytes, so that the daemon can run it from a sealed memory file. */
	.section .rodata
	.global sandbox_init_image, sandbox_init_image_end
	.balign 16
sandbox_init_image:
	.incbin INIT_PATH
sandbox_init_image_end:
	.section .note.GNU-stack, "", @progbits
