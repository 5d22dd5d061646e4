package reading

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Ports that send for more than fullShare of the time are full. Results list at
// most maxPorts ports.
const (
	FullShare = 0.9
	maxPorts  = 2
)

// PortID names a port within the experiment.
type PortID struct {
	Node int32 `json:"node"`
	Port int32 `json:"port"`
}

// Place names a port for readers: a switch port by the two nodes of its link, a
// host's by the host alone.
type Place struct {
	PortID
	Peer     int32  `json:"peer"`               // the node at the other end of the link
	From     string `json:"from"`               // name of the port's node
	To       string `json:"to"`                 // name of the peer
	NIC      bool   `json:"nic,omitempty"`      // the node is a host: its queue is the one in front of the NIC
	Parallel bool   `json:"parallel,omitempty"` // other links join the same two nodes
	RateBPS  int64  `json:"rateBps"`

	Tier      string `json:"tier,omitempty"`      // of the port's node, as runfolder.Port.Tier
	Direction string `json:"direction,omitempty"` // as runfolder.Port.Direction
}

// Port is a port of a switch, or the NIC of a host, and how it was used while
// measured.
type Port struct {
	Place
	Full bool  `json:"full"` // in some variant
	Use  []Use `json:"use"`  // by variant, without those that lack the port

	Lost []LossIn `json:"lost"` // by variant, without those that lack the port
}

// Use is how a port was used in one variant: medians over the seeds. Times count as
// shares of the measuring window.
type Use struct {
	Variant     string  `json:"variant"`
	Utilisation float64 `json:"utilisation"` // share of the time that the port was sending, line overhead included, also while a fault slows it
	// FullShare is the share of the telemetry windows that are used to FullWindow or more, and
	// Peak the utilisation of the busiest one: a port may be full in bursts and idle between.
	FullShare      float64 `json:"fullShare"`
	Peak           float64 `json:"peak"`
	MeanQueueBytes float64 `json:"meanQueueBytes"` // of the data queue
	PeakQueueBytes float64 `json:"peakQueueBytes"`
	MeanQueueSeeds Spread  `json:"meanQueueSeeds"`    // range of the mean queue over the seeds
	NoQueue        bool    `json:"noQueue,omitempty"` // the queue is not known: the variant has no packets, or has none here
}

// In returns the use in a variant. It reports whether the variant has the port.
func (p *Port) In(variant string) (Use, bool) {
	for _, u := range p.Use {
		if u.Variant == variant {
			return u, true
		}
	}
	return Use{}, false
}

// Busiest returns the use with the highest utilisation.
func (p *Port) Busiest() Use {
	var best Use
	for _, u := range p.Use {
		if u.Utilisation > best.Utilisation {
			best = u
		}
	}
	return best
}

// Fullest returns the use with the most windows that are full, nil if none is.
func (p *Port) Fullest() *Use {
	var most *Use
	for i := range p.Use {
		if u := &p.Use[i]; u.FullShare > 0 && (most == nil || u.FullShare > most.FullShare) {
			most = u
		}
	}
	return most
}

// fullest returns the greatest share of full windows of the variants.
func (p *Port) fullest() float64 {
	if u := p.Fullest(); u != nil {
		return u.FullShare
	}
	return 0
}

// queue returns the sum of the mean queues over the variants.
func (p *Port) queue() (bytes float64) {
	for _, u := range p.Use {
		bytes += u.MeanQueueBytes
	}
	return bytes
}

// deepest returns the greatest mean queue of the variants.
func (p *Port) deepest() (bytes float64) {
	for _, u := range p.Use {
		bytes = max(bytes, u.MeanQueueBytes)
	}
	return bytes
}

// usedPorts returns all ports with their use and what they lost, those of hosts too, in
// the order of the manifest.
func usedPorts(m *runfolder.Manifest, t *Totals) []Port {
	index := map[PortID]int{}
	var all []Port
	for _, v := range m.Variants {
		for _, place := range PlacesOf(m, v.Name) {
			use, measured := t.use(&v, &place)
			lost, ran := t.lost(&v, &place)
			if !measured && !ran {
				continue
			}
			i, known := index[place.PortID]
			if !known {
				i = len(all)
				index[place.PortID] = i
				all = append(all, Port{Place: place})
			}
			if measured {
				all[i].Use = append(all[i].Use, use)
				all[i].Full = all[i].Full || use.Utilisation > FullShare
			}
			if ran {
				all[i].Lost = append(all[i].Lost, lost)
			}
		}
	}
	return all
}

// PlacesOf returns the ports of a variant that have a rate.
func PlacesOf(m *runfolder.Manifest, variant string) []Place {
	nodes := map[int32]runfolder.Node{}
	for _, n := range m.NodesOf(variant) {
		nodes[n.Node] = n
	}
	ports := m.PortsOf(variant)
	links := map[[2]int32]int{}
	for _, p := range ports {
		links[[2]int32{p.Node, p.Peer}]++
	}
	var places []Place
	for _, p := range ports {
		if p.RateBPS > 0 {
			places = append(places, Place{
				PortID: PortID{p.Node, p.Port}, Peer: p.Peer, From: nodes[p.Node].Name, To: nodes[p.Peer].Name,
				NIC: nodes[p.Node].Kind == runfolder.KindHost, Parallel: links[[2]int32{p.Node, p.Peer}] > 1, RateBPS: p.RateBPS,
				Tier: p.Tier, Direction: p.Direction,
			})
		}
	}
	return places
}

// use returns how a port was used in a variant. It reports whether a run of the
// variant was measured.
func (t *Totals) use(v *runfolder.Variant, p *Place) (Use, bool) {
	var busy, queues, peaks, full, most []float64
	for _, seed := range t.Seeds[v.Name] {
		r := RunID{v.Name, seed}
		span := t.Measured(r)
		if !(span > 0) {
			continue
		}
		sums := t.Ports[r][p.PortID]
		if sums == nil {
			sums = &PortSums{}
		}
		busy = append(busy, sums.BusyUS/span)
		queues = append(queues, sums.QueueByteNS/1000/span)
		peaks = append(peaks, float64(sums.QueueMax))
		most = append(most, sums.Peak)
		full = append(full, float64(sums.Full)/float64(max(1, t.WindowsIn(r))))
	}
	if len(busy) == 0 {
		return Use{}, false
	}
	return Use{Variant: v.Name, Utilisation: runfolder.Median(busy), FullShare: runfolder.Median(full), Peak: runfolder.Median(most), MeanQueueBytes: runfolder.Median(queues),
		PeakQueueBytes: runfolder.Median(peaks), MeanQueueSeeds: SpreadOf(queues), NoQueue: v.Flow || v.Hybrid && runfolder.Median(peaks) == 0}, true
}

// lost returns what a port lost in a variant. It reports whether the variant has a run.
func (t *Totals) lost(v *runfolder.Variant, p *Place) (LossIn, bool) {
	seeds := t.Seeds[v.Name]
	dropped, trimmed := make([]float64, len(seeds)), make([]float64, len(seeds))
	for i, seed := range seeds {
		if sums := t.Ports[RunID{v.Name, seed}][p.PortID]; sums != nil {
			dropped[i], trimmed[i] = float64(sums.Dropped), float64(sums.Trimmed)
		}
	}
	if len(seeds) == 0 {
		return LossIn{}, false
	}
	return LossIn{v.Name, runfolder.Median(dropped), runfolder.Median(trimmed)}, true
}

// busiestPorts returns the ports that limit the flows: those that are full in some
// variant, the deepest mean queue over the variants first. Where a packet or more
// waits at some of them, the others merely carry what these let through, and are left
// out; where none waits, the NICs of hosts come first. When no port is full it returns
// those with the most windows in which they are, and then the busiest ones.
func busiestPorts(m *runfolder.Manifest, all []Port) []Port {
	full, used := []Port{}, []Port{}
	for _, p := range all {
		if p.Full {
			full = append(full, p)
		} else if p.Busiest().Utilisation > 0 {
			used = append(used, p)
		}
	}
	if len(full) == 0 {
		return First(used, maxPorts, func(a, b *Port) int {
			return cmp.Or(cmp.Compare(b.fullest(), a.fullest()), cmp.Compare(b.Busiest().Utilisation, a.Busiest().Utilisation))
		})
	}
	packet := float64(m.Variants[0].MTU)
	free := func(p Port) bool { return p.deepest() < packet }
	if slices.ContainsFunc(full, func(p Port) bool { return !free(p) }) {
		full = slices.DeleteFunc(full, free)
		return First(full, maxPorts, func(a, b *Port) int { return cmp.Compare(b.queue(), a.queue()) })
	}
	return First(full, maxPorts, func(a, b *Port) int {
		if a.NIC != b.NIC {
			if a.NIC {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.queue(), a.queue())
	})
}

// First returns the first n elements that a stable sort by compare would leave, without
// sorting the others.
func First[T any](all []T, n int, compare func(a, b *T) int) []T {
	list := make([]T, 0, n+1)
	for i := range all {
		if len(list) == n && compare(&list[n-1], &all[i]) <= 0 {
			continue
		}
		at := len(list)
		for at > 0 && compare(&list[at-1], &all[i]) > 0 {
			at--
		}
		list = slices.Insert(list, at, all[i])
		list = list[:min(n, len(list))]
	}
	return list
}

// Loss is a port that dropped or trimmed packets.
type Loss struct {
	Place
	Variants []LossIn `json:"variants"` // by variant, without those that lack the port
}

// LossIn is what a port lost in one variant over the whole run: medians over the
// seeds.
type LossIn struct {
	Variant string  `json:"variant"`
	Dropped float64 `json:"dropped"` // packets
	Trimmed float64 `json:"trimmed"` // packets
}

// maxLosses bounds the list of ports that lost packets.
const maxLosses = 3

// losses returns the ports that dropped the most packets, and then those that trimmed
// the most.
func losses(ports []Port) []Loss {
	all := []Loss{}
	for i := range ports {
		if p := &ports[i]; len(p.Lost) > 0 {
			all = append(all, Loss{p.Place, p.Lost})
		}
	}
	sums := func(l Loss) (dropped, trimmed float64) {
		for _, v := range l.Variants {
			dropped, trimmed = dropped+v.Dropped, trimmed+v.Trimmed
		}
		return dropped, trimmed
	}
	all = slices.DeleteFunc(all, func(l Loss) bool {
		dropped, trimmed := sums(l)
		return dropped+trimmed == 0
	})
	return First(all, maxLosses, func(a, b *Loss) int {
		ad, at := sums(*a)
		bd, bt := sums(*b)
		return cmp.Or(cmp.Compare(bd, ad), cmp.Compare(bt, at))
	})
}

// Name returns the port's name as tables of records have it.
func (p *Place) Name() string {
	if p.Parallel {
		return p.From + ":" + strconv.Itoa(int(p.Port)) + "-" + p.To
	}
	return p.From + "-" + p.To
}
