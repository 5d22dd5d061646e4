// Package commandtest supports tests of commands.
package commandtest

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// PseudoTerminal returns both ends of a pseudo-terminal: what is written on screen is read from
// user.
func PseudoTerminal(t *testing.T) (user, screen *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { user.Close() })
	number, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	return user, screen
}
