//go:build linux

#include "textflag.h"

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVL $72, AX // fcntl
	MOVL $1, DI  // standard output
	MOVL $1, SI  // F_GETFD
	XORL DX, DX
	SYSCALL
	MOVQ AX, ·stdoutAtEntry(SB)
	XORL DX, DX
	JMP  _rt0_amd64_linux(SB)
