// Package sumtrim is a type of CSIG signal for csiglab: sumTrimTxByte, the bytes that a port
// has sent in trimmed packets. The sources name it and define nothing
// (docs/reference/references.md#signal-types). Here it is the sum of the last csig.interval, and the
// tag brings back the sum of the worst port.
package sumtrim

import "github.com/csiglab/csiglab/nodes/csig"

// Type is T in the tag, by which a controller asks for the signal: Output.Wants[Type] = 1.
const Type csig.Type = 4

func init() {
	csig.Register(csig.Signal{
		Name:     "sum-trim-tx-byte",
		Doc:      "most bytes that a port sent in trimmed packets in csig.interval",
		Type:     Type,
		Unit:     csig.Bytes,
		Compact:  "geo(64B)", // 0, 64 B and so on, three steps to the double, up to 64 KiB
		Wide:     "linear(1B)",
		Windowed: true,
		Value:    func(in *csig.Inputs) uint64 { return uint64(in.TrimmedSent) },
	})
}
