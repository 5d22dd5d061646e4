package gateway_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
)

// TestPatient: bytes that wait in the socket are read although the deadline has passed, unless
// the reading was ended.
func TestPatient(t *testing.T) {
	near, far := tcp(t)
	defer near.Close()
	defer far.Close()
	if _, err := far.Write([]byte("alive")); err != nil {
		t.Fatal(err)
	}
	past := time.Unix(1, 0)
	b := make([]byte, 10)
	near.SetReadDeadline(past)
	if _, err := gateway.Patient(near, func() bool { return true }).Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ended: error %v, want a timeout", err)
	}
	near.SetReadDeadline(past)
	if n, err := gateway.Patient(near, nil).Read(b); err != nil || string(b[:n]) != "alive" {
		t.Errorf("got %q, %v, want \"alive\"", b[:n], err)
	}
	near.SetReadDeadline(past)
	if _, err := gateway.Patient(near, nil).Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nothing was sent: error %v, want a timeout", err)
	}
}
