//go:build linux

#include "textflag.h"

// func entry()
TEXT ·entry(SB), NOSPLIT|NOFRAME, $0
	MOVD $25, R8 // fcntl
	MOVD $1, R0  // standard output
	MOVD $1, R1  // F_GETFD
	MOVD $0, R2
	SVC
	MOVD R0, ·stdoutAtEntry(SB)
	MOVD $0, R0
	B    _rt0_arm64_linux(SB)
