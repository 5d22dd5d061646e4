package backend

import (
	"context"
	"fmt"

	"github.com/csiglab/csiglab/nodes/emu/gateway"
	"github.com/csiglab/csiglab/nodes/emu/lockstep/shared"
	"github.com/csiglab/csiglab/nodes/netio"
	"github.com/csiglab/csiglab/units"
)

// otherParts is the gateway of this part under lockstep, which runs beside its nodes.
type otherParts struct {
	conn   netio.Conn
	cancel context.CancelCauseFunc
	ended  chan struct{}
	// Final once ended is closed.
	end    units.Time
	result gateway.Result
	err    error
}

// joinParts waits until this part is connected to all others, and starts its gateway. It
// returns nil for a run that is not cut.
func joinParts(ctx context.Context, c *crew, board *shared.Board) (*otherParts, error) {
	if c.run.Part == nil {
		return nil, nil
	}
	if err := board.Partition(*c.run.partition(), true); err != nil {
		return nil, err
	}
	conn, err := c.net.stubs.open(c.run, c.links)
	if err != nil {
		return nil, fmt.Errorf("stubs of cut links: %w", err)
	}
	streams, err := c.peers.wait(ctx)
	if err != nil {
		conn.Close()
		return nil, err
	}
	o := &otherParts{conn: conn, ended: make(chan struct{})}
	ctx, o.cancel = context.WithCancelCause(ctx)
	config := gateway.Config{
		Part: c.run.Part.Index, Names: c.run.Part.Names, Board: board, Stubs: c.net.stubs.gatewayStubs(c.run), Conn: conn,
		Run: c.run.mark(), MaxFrame: c.run.MaxFrame(), FrameTimeout: c.run.FrameTimeout, Peers: streams,
	}
	go func() {
		defer close(o.ended)
		o.end, o.result, o.err = gateway.Run(ctx, config)
	}()
	return o, nil
}

// ends returns a channel that is closed when the run is over in all parts or the gateway has
// failed; nil for a run that is not cut. o may be nil.
func (o *otherParts) ends() <-chan struct{} {
	if o == nil {
		return nil
	}
	return o.ended
}

// insteadOf returns the gateway's error if it has one, which is the reason of err: nodes come
// to a halt when another part is gone. o may be nil.
func (o *otherParts) insteadOf(err error) error {
	if o == nil {
		return err
	}
	select {
	case <-o.ended:
		if o.err != nil {
			return o.err
		}
	default:
	}
	return err
}

// fail ends the gateway with an error of this part, which it tells the others. o may be nil.
func (o *otherParts) fail(err error) {
	if o != nil {
		o.cancel(err)
	}
}

// close ends the gateway. o may be nil.
func (o *otherParts) close() {
	if o == nil {
		return
	}
	o.cancel(nil)
	<-o.ended
	o.conn.Close()
}
