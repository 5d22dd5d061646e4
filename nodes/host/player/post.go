package player

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Post is the next message of a connection that this host sends.
type Post struct {
	Flow int        // the connection's
	Size units.Size // payload bytes, positive
	Tag  metrics.Tag
	// Total is the payload bytes of all messages in a row on this connection that have this
	// tag; 0: not known.
	Total units.Size
}

// Posts returns the messages to send since the last call, in order. The slice is valid
// until the next call of any method.
func (p *Player) Posts() []Post {
	out := p.posts
	p.posts = p.posts[:0]
	return out
}

// OnMessageSent records that so many messages of a connection, in all, have been
// acknowledged.
func (p *Player) OnMessageSent(now units.Time, flow, count int) {}

// OnMessageReceived records that so many messages of a connection, in all, have been
// received.
func (p *Player) OnMessageReceived(now units.Time, flow, count int) {}
