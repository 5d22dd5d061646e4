//go:build linux

#include "textflag.h"

#define leastAddresses 1600000000 // bytes

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVD $25, R8 // fcntl
	MOVD $1, R0  // standard output
	MOVD $1, R1  // F_GETFD
	MOVD $0, R2
	SVC
	MOVD R0, ·stdoutAtEntry(SB)

	MOVD $163, R8 // getrlimit
	MOVD $9, R0   // RLIMIT_AS
	MOVD $·addressLimit(SB), R1
	SVC
	CBNZ R0, start
	MOVD ·addressLimit(SB), R1
	MOVD $leastAddresses, R2
	CMP  R2, R1
	BHS  start // unsigned: no limit is the largest number

	MOVD $64, R8 // write
	MOVD $2, R0  // standard error
	MOVD ·tooSmall+0(SB), R1
	MOVD ·tooSmall+8(SB), R2
	SVC
	MOVD $94, R8 // exit_group
	MOVD $3, R0  // exitInfrastructure
	SVC

start:
	MOVD $0, R0
	B    _rt0_arm64_linux(SB)
