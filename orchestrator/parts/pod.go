package parts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// Key is what a coordinator shows to the shards of its run in pods, so that nobody else who
// reaches the loopback address of a pod can order them. It is made for one run; a pod knows
// its digest alone.
type Key [32]byte

// NewKey returns a key of random bytes.
func NewKey() (k Key) {
	rand.Read(k[:])
	return k
}

// Digest returns what the pods know: the SHA-256 of the key, in hexadecimal.
func (k Key) Digest() string {
	sum := sha256.Sum256(k[:])
	return hex.EncodeToString(sum[:])
}

// Show writes the key to a connection to a shard in a pod, before anything else.
func (k Key) Show(conn net.Conn) error {
	_, err := conn.Write(k[:])
	return err
}

// String hides the key from logs.
func (Key) String() string { return "key" }

// GoString hides the key from logs.
func (Key) GoString() string { return "key" }

// Limits of connections to a shard in a pod.
const (
	callWithin = 5 * time.Minute // the coordinator calls
	showWithin = 10 * time.Second
	atOnce     = 32 // connections without a key
)

// ServePod is Serve in a pod: for the first connection to Port on the loopback address,
// which port-forward makes, that shows the key of a digest. It gives up when none comes
// within callWithin.
func ServePod(ctx context.Context, o Options, digest string) error {
	if sum, err := hex.DecodeString(digest); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%q is no digest of a key", digest)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(Port)))
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, callWithin, fmt.Errorf("no coordinator has called within %v", callWithin))
	defer cancel()
	conn, err := admit(waiting, listener, digest)
	if err != nil {
		return err
	}
	return Serve(ctx, conn, o)
}

// admit returns the first connection to a listener, which it closes, that shows the key of a
// digest. It closes the others.
func admit(ctx context.Context, listener net.Listener, digest string) (net.Conn, error) {
	defer listener.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	admitted, failed := make(chan net.Conn), make(chan error, 1)
	go func() {
		for room := make(chan struct{}, atOnce); ; {
			room <- struct{}{}
			conn, err := listener.Accept()
			if err != nil {
				failed <- err
				return
			}
			go func() {
				defer func() { <-room }()
				if !shows(ctx, conn, digest) {
					conn.Close()
					return
				}
				select {
				case admitted <- conn:
				case <-ctx.Done():
					conn.Close()
				}
			}()
		}
	}()
	select {
	case conn := <-admitted:
		return conn, nil
	case err := <-failed:
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// shows reports whether a connection begins with the key of a digest.
func shows(ctx context.Context, conn net.Conn, digest string) bool {
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })() //nolint:errcheck // it is closed
	conn.SetReadDeadline(time.Now().Add(showWithin))
	var k Key
	if _, err := io.ReadFull(conn, k[:]); err != nil {
		return false
	}
	if subtle.ConstantTimeCompare([]byte(k.Digest()), []byte(digest)) != 1 {
		return false
	}
	return conn.SetReadDeadline(time.Time{}) == nil
}
