//go:build linux

#include "textflag.h"

#define leastAddresses 1600000000 // bytes

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVL $72, AX // fcntl
	MOVL $1, DI  // standard output
	MOVL $1, SI  // F_GETFD
	XORL DX, DX
	SYSCALL
	MOVQ AX, ·stdoutAtEntry(SB)

	MOVL $97, AX // getrlimit
	MOVL $9, DI  // RLIMIT_AS
	LEAQ ·addressLimit(SB), SI
	SYSCALL
	TESTQ AX, AX
	JNE   start
	MOVQ  $leastAddresses, CX
	CMPQ  ·addressLimit(SB), CX
	JCC   start // unsigned: no limit is the largest number

	MOVL $1, AX // write
	MOVL $2, DI // standard error
	MOVQ ·tooSmall+0(SB), SI
	MOVQ ·tooSmall+8(SB), DX
	SYSCALL
	MOVL $231, AX // exit_group
	MOVL $3, DI   // exitInfrastructure
	SYSCALL

start:
	XORL DX, DX
	JMP  _rt0_amd64_linux(SB)
