package readingtest

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
)

// FabricOfLinks returns the manifest of a fabric: nodes that begin with h are hosts.
func FabricOfLinks(links [][2]string) *runfolder.Manifest {
	m := &runfolder.Manifest{Variants: []runfolder.Variant{{Name: "run"}}}
	node, ports := map[string]int32{}, map[int32]int32{}
	number := func(name string) int32 {
		if _, ok := node[name]; !ok {
			kind := runfolder.KindSwitch
			if name[0] == 'h' {
				kind = runfolder.KindHost
			}
			node[name] = int32(len(m.Nodes))
			m.Nodes = append(m.Nodes, runfolder.Node{Node: node[name], Name: name, Kind: kind})
		}
		return node[name]
	}
	for _, l := range links {
		a, b := number(l[0]), number(l[1])
		m.Ports = append(m.Ports, runfolder.Port{Node: a, Port: ports[a], Peer: b, PeerPort: ports[b], RateBPS: 1e9}, runfolder.Port{Node: b, Port: ports[b], Peer: a, PeerPort: ports[a], RateBPS: 1e9})
		ports[a]++
		ports[b]++
	}
	return m
}

// FatTree returns the links of a fat tree of k-port switches.
func FatTree(k int) (links [][2]string) {
	for pod := range k {
		for t := range k / 2 {
			tor := fmt.Sprintf("tor%d", pod*k/2+t)
			for h := range k / 2 {
				links = append(links, [2]string{fmt.Sprintf("h%d", (pod*k/2+t)*k/2+h), tor})
			}
			for a := range k / 2 {
				links = append(links, [2]string{tor, fmt.Sprintf("agg%d", pod*k/2+a)})
			}
		}
		for a := range k / 2 {
			for c := range k / 2 {
				links = append(links, [2]string{fmt.Sprintf("agg%d", pod*k/2+a), fmt.Sprintf("core%d", a*k/2+c)})
			}
		}
	}
	return links
}

// PlantSamples appends a window of samples of a flow, which are all equal. The signal is an
// index of Manifest.Signals.
func PlantSamples(b *metrics.Batch, flow int32, signal uint8, locator int, startUS float64, n, point int64) {
	b.Signals = append(b.Signals, metrics.SignalWindow{Flow: flow, Type: signal, Locator: uint32(locator), Start: units.Time(startUS * float64(units.Microsecond)), Samples: n, PointSum: n * point, PointMax: point, PointMin: point})
}
