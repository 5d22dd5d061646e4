package shards

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"
)

// callWithin is how long a shard in a pod waits for its coordinator.
const callWithin = 5 * time.Minute

// ServePod is Serve in a pod: for the first connection to Port on the loopback address,
// which port-forward makes. It gives up when none comes within callWithin.
func ServePod(ctx context.Context, o Options) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(Port)))
	if err != nil {
		return err
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	listener.(*net.TCPListener).SetDeadline(time.Now().Add(callWithin))
	conn, err := listener.Accept()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("no coordinator has called within %v: %w", callWithin, err)
	}
	listener.Close()
	return Serve(ctx, conn, o)
}
