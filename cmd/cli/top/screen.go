package top

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Control sequences of terminals (ECMA-48, and xterm's for the alternate screen).
const (
	alternate   = "\x1b[?1049h\x1b[?25l" // another screen, no cursor
	original    = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearToEnd  = "\x1b[J"
	clearOfLine = "\x1b[K"
	bold        = "\x1b[1m"
	plain       = "\x1b[m"
)

// Screen is a terminal whose content is drawn again and again. Build it with OpenScreen,
// and end it with Close.
type Screen struct {
	out   *os.File
	in    *os.File
	state *term.State // of in before; nil: in is no terminal
	stop  [2]*os.File // a pipe: closing the second end ends readKeys
	keys  chan byte
	shut  bool
}

// OpenScreen takes a terminal over. in is where keys come from; it need not be a terminal.
// The error says why the terminal cannot be used; nothing has changed then.
func OpenScreen(out, in *os.File) (*Screen, error) {
	s := &Screen{out: out, in: in, keys: make(chan byte, 16)}
	if !term.IsTerminal(int(in.Fd())) {
		return s, s.write(alternate)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.stop = [2]*os.File{read, write}
	if s.state, err = term.MakeRaw(int(in.Fd())); err != nil {
		read.Close()
		write.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	go s.readKeys()
	if err := s.write(alternate); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Keys returns the bytes that the user types. In a terminal, Ctrl-C is one of them.
func (s *Screen) Keys() <-chan byte { return s.keys }

// Quits reports whether a key ends the program.
func Quits(key byte) bool {
	const ctrlC, ctrlD = 3, 4
	return key == 'q' || key == 'Q' || key == ctrlC || key == ctrlD
}

// readKeys reads keys until Close.
func (s *Screen) readKeys() {
	defer s.stop[0].Close()
	fds := []unix.PollFd{{Fd: int32(s.in.Fd()), Events: unix.POLLIN}, {Fd: int32(s.stop[0].Fd()), Events: unix.POLLIN}}
	b := make([]byte, 1)
	for {
		_, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil || fds[1].Revents != 0 {
			return
		}
		if n, err := unix.Read(int(fds[0].Fd), b); err != nil || n == 0 {
			return // the terminal is gone; a signal says so too
		}
		select {
		case s.keys <- b[0]:
		default: // nobody listens just now
		}
	}
}

// Size returns the size of the terminal, 80 by 24 if it does not say.
func (s *Screen) Size() Size {
	width, rows, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || rows <= 0 {
		return Size{Width: 80, Rows: 24}
	}
	return Size{Width: width, Rows: rows}
}

// Draw shows lines in place of those before. Lines that are all capitals and headings are
// bold.
func (s *Screen) Draw(lines []string) error {
	var b strings.Builder
	b.WriteString(home)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if title(line) {
			line = bold + line + plain
		}
		b.WriteString(line + clearOfLine)
	}
	b.WriteString(clearToEnd)
	return s.write(b.String())
}

// title reports whether a line is the heading of columns.
func title(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	return word == "PORT" || word == "NAMED" || word == "FLOW" || word == "NO"
}

func (s *Screen) write(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// Close restores the terminal. It may be repeated.
func (s *Screen) Close() {
	if s.shut {
		return
	}
	s.shut = true
	s.write(original) //nolint:errcheck // the terminal is gone
	if s.state != nil {
		term.Restore(int(s.in.Fd()), s.state) //nolint:errcheck // as above
		s.stop[1].Close()
	}
}

// Print writes lines to a file that is no terminal.
func Print(to io.Writer, lines []string) error {
	w := bufio.NewWriter(to)
	for _, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	return w.Flush()
}
