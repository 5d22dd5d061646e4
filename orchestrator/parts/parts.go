// Package parts runs a plan in several parts. It cuts the fabric where the lookahead is largest,
// then balances the predicted load, then lets the fewest frames cross (Cut):
//
//	plan ─▶ pieces: nodes that links shorter than the largest possible cut join
//	     ─▶ pods, else racks, else pieces, into parts of about the same load
//	     ─▶ moves between parts while fewer frames cross
//
// Each part has a kernel of its own: a pod of a cluster (package pods), or a supervisor on this machine
// (Local). The coordinator, in csiglab, orders the parts over one connection each, and merges
// their records and outcomes. A shard, Serve, makes its part with the backend of network
// namespaces as it is. Shards carry frames to each other by TCP with mutual TLS, of an authority
// made for the run; in real time by Tunnels.
//
//	csiglab: Coordinate ── connection (port-forward, Unix socket) ──▶ Serve: shard 0 ── netns
//	                    ── connection ─────────────────────────────▶ Serve: shard 1 ── netns
//	                                       shard 0 ══ TLS: bounds, frames ══ shard 1
//
// The messages on a connection, in order:
//
//	shard        hello ─────▶ ready ──────▶ deployed, records, progress … ─▶ files ─▶ outcome or failure
//	coordinator        order ──────▶ go ──────────▶ end (of a held run)            ─▶ stop
//
// Both sides show life every second. A side that hears nothing for long gives the other up.
package parts

import (
	"context"
	"net"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Port is where a shard in a pod takes the connection of the coordinator, on the loopback
// address; PeerPort is where it takes those of other shards, on the pod's address.
const (
	Port     = 7701
	PeerPort = 7702
)

// Shard is a shard as its coordinator reaches it.
type Shard struct {
	Name    string   // for errors, such as "shard 1 (pod x on node-b)"
	Conn    net.Conn // Coordinate closes it
	Address string   // where other shards reach it, as HOST:PORT; empty: the shard says where
	// Fate returns why the shard's connection has broken, in words, where the caller can find
	// out; may be nil.
	Fate func(ctx context.Context) string
	// Place is where csiglab exec and capture find the shard's nodes.
	Place runs.Shard
}

// Options are what a shard may do.
type Options struct {
	Listen string // address for other shards, as HOST:PORT
	Folder string // for the run's files
	// Tunnels permits links in real time, which need NET_ADMIN in this network namespace.
	Tunnels bool
	// Identity is that of this csiglab (trial.Identity). Runs of another one are refused.
	Identity string
	// Backend runs the part; nil: network namespaces.
	Backend backend.Backend
}
