package gateway_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
)

// prompts returns both ends of a TCP connection.
func prompts(t *testing.T) (a, b net.Conn) {
	a, b = tcp(t)
	a, b = gateway.Prompt(a), gateway.Prompt(b)
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

// More than the sockets hold goes through, and ends with io.EOF.
func TestPromptCarries(t *testing.T) {
	a, b := prompts(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	wrote := make(chan error, 1)
	go func() {
		_, err := a.Write(want)
		wrote <- errors.Join(err, a.Close())
	}()
	time.Sleep(20 * time.Millisecond) // the writer waits for room
	got, err := io.ReadAll(b)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes and %v, want %d", len(got), err, len(want))
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// What ends a read and a write that wait, for a moment or for longer.
func TestPromptEnds(t *testing.T) {
	for _, wait := range []time.Duration{time.Millisecond, 20 * time.Millisecond} {
		for _, test := range []struct {
			name string
			end  func(c net.Conn)
			want error
		}{
			{"close", func(c net.Conn) { c.Close() }, net.ErrClosed},
			{"deadline", func(c net.Conn) { c.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		} {
			a, _ := prompts(t)
			a.SetDeadline(time.Now().Add(time.Minute))
			ended := make(chan error, 2)
			go func() {
				_, err := a.Read(make([]byte, 1))
				ended <- err
			}()
			go func() {
				_, err := a.Write(make([]byte, 64<<20)) // nobody reads
				ended <- err
			}()
			time.Sleep(wait)
			test.end(a)
			for range 2 {
				if err := <-ended; !errors.Is(err, test.want) {
					t.Errorf("%s after %v: %v, want %v", test.name, wait, err, test.want)
				}
			}
		}
	}
}

func TestPromptDeadline(t *testing.T) {
	a, b := prompts(t)
	const within = 20 * time.Millisecond
	began := time.Now()
	a.SetReadDeadline(began.Add(within))
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) < within {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	a.SetReadDeadline(time.Time{})
	go b.Write([]byte{7})
	var got [1]byte
	if _, err := a.Read(got[:]); err != nil || got[0] != 7 {
		t.Errorf("got %v and %v without a deadline", got, err)
	}
}
