package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Device is what vectors test. A request has its configuration: each begins with a device that
// has seen nothing.
type Device interface {
	// Run returns the frames that leave, those of a port in their order. The error wraps
	// ErrCannot if the device lacks what the request asks for, and ErrDevice if the device can
	// answer no other request.
	Run(ctx context.Context, r *Request) ([]Frame, error)
	Close() error
}

// Errors of Device.
var (
	ErrCannot = errors.New("the device cannot do this")
	ErrDevice = errors.New("the device does not answer")
)

// Request is a vector without what must come out.
type Request struct {
	Vector string  `json:"vector"`
	Device *Setup  `json:"device"`
	Frames []Frame `json:"frames"`
}

// Answer is what a program says to a request, in one line of JSON.
type Answer struct {
	Vector string  `json:"vector"` // of the request
	Frames []Frame `json:"frames"`
	// Cannot is why the device cannot be tested so, such as a format that it does not have. Error
	// is what went wrong.
	Cannot string `json:"cannot,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Patience is how long a program may take for an answer.
const Patience = 30 * time.Second

// longest is how long a line of the protocol may be.
const longest = 16 << 20

// Program is a Device outside of this process. It reads a Request per line from standard input
// and writes an Answer per line; what it writes to standard error goes to the caller's.
type Program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte // closed when standard output ends
	err   error       // of reading; valid when lines is closed
}

// Start starts a program. words are the program and its arguments.
func Start(words []string) (*Program, error) {
	p := &Program{cmd: exec.Command(words[0], words[1:]...), lines: make(chan []byte)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.in = in
	go func() {
		defer close(p.lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, longest)
		for scanner.Scan() {
			p.lines <- append([]byte(nil), scanner.Bytes()...)
		}
		p.err = scanner.Err()
	}()
	return p, nil
}

// Run implements Device.
func (p *Program) Run(ctx context.Context, r *Request) ([]Frame, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, Patience)
	defer stop()
	written := make(chan error, 1)
	go func() {
		_, err := p.in.Write(append(data, '\n'))
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			return nil, fmt.Errorf("%w: it takes no request: %v", ErrDevice, err)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %v", ErrDevice, ended(ctx))
	}
	var a Answer
	select {
	case line, ok := <-p.lines:
		switch {
		case !ok && p.err != nil:
			return nil, fmt.Errorf("%w: %v", ErrDevice, p.err)
		case !ok:
			return nil, fmt.Errorf("%w: it has ended", ErrDevice)
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("%w in JSON: %v: %.80q", ErrDevice, err, line)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %v", ErrDevice, ended(ctx))
	}
	switch {
	case a.Vector != r.Vector:
		return nil, fmt.Errorf("%w: an answer to %q, want one to %q", ErrDevice, a.Vector, r.Vector)
	case a.Cannot != "":
		return nil, fmt.Errorf("%w: %s", ErrCannot, a.Cannot)
	case a.Error != "":
		return nil, errors.New(strings.TrimSpace(a.Error))
	}
	return a.Frames, nil
}

// ended says why a context is done.
func ended(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("no answer for %v", Patience)
	}
	return "interrupted"
}

// Close ends the program: it closes its standard input, and kills it if it does not end by
// itself within a second.
func (p *Program) Close() error {
	p.in.Close()
	kill := time.AfterFunc(time.Second, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	go func() {
		for range p.lines { // so that it is not stuck writing
		}
	}()
	p.cmd.Wait() //nolint:errcheck // how a device ends is no rule
	return nil
}

// Serve answers the requests of in for a device, until in ends. It is the program's side of
// Program.
func Serve(ctx context.Context, d Device, in io.Reader, out io.Writer) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, longest)
	for scanner.Scan() {
		var r Request
		if err := json.Unmarshal(scanner.Bytes(), &r); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		a := Answer{Vector: r.Vector}
		frames, err := d.Run(ctx, &r)
		switch {
		case errors.Is(err, ErrCannot):
			a.Cannot = err.Error()
		case err != nil:
			a.Error = err.Error()
		}
		a.Frames = frames
		data, err := json.Marshal(&a)
		if err != nil {
			return err
		}
		if _, err := out.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return scanner.Err()
}
