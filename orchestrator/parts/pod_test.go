package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// Only the connection that shows the run's key is admitted: one that is silent holds nothing
// up, and one with another key or with too little is closed.
func TestAdmit(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	key := NewKey()
	type result struct {
		conn net.Conn
		err  error
	}
	got := make(chan result, 1)
	go func() {
		conn, err := admit(context.Background(), listener, key.Digest())
		got <- result{conn, err}
	}()
	call := func(text string) net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	call("") // silent
	other := NewKey()
	for what, text := range map[string]string{"another key": string(other[:]), "a digest": key.Digest()} {
		if n, err := call(text).Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: read %d bytes, want the end", what, n)
		}
	}
	caller := call("")
	if err := key.Show(caller); err != nil {
		t.Fatal(err)
	}
	r := <-got
	if r.err != nil {
		t.Fatal(r.err)
	}
	defer r.conn.Close()
	if _, err := io.WriteString(r.conn, "x"); err != nil {
		t.Fatal(err)
	}
	if text := make([]byte, 1); readOne(t, caller, text) != "x" {
		t.Errorf("the admitted connection sent %q", text)
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the listener is still open")
	}
}

func readOne(t *testing.T, conn net.Conn, text []byte) string {
	t.Helper()
	if _, err := io.ReadFull(conn, text); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// When the context ends, nobody is admitted any more, and its cause is the error.
func TestAdmitEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := admit(ctx, listener, NewKey().Digest()); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

// A key does not get into logs, and a digest that is none is refused.
func TestKey(t *testing.T) {
	key := NewKey()
	if text := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); text != "key key key key" {
		t.Errorf("printed as %q", text)
	}
	if err := ServePod(context.Background(), Options{}, "00ff"); err == nil || !strings.Contains(err.Error(), "no digest") {
		t.Errorf("a short digest: %v", err)
	}
}
