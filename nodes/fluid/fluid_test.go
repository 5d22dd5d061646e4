package fluid_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/fluid"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

const (
	delay = units.Microsecond
	gbps  = 1e-3 / 8 // bytes a picosecond
)

// fair is the law of equal shares.
var fair = fluid.Law{Weight: 1, Intercept: 1, Low: 1}

// config returns a network of ports of the given rates in Gb/s, and flows over them. Each flow has a
// host of its own at both ends.
func config(rates []float64, ways ...[]fluid.Way) fluid.Config {
	c := fluid.Config{
		Node: 100, Name: "fluid", Delay: delay, Links: 2 * len(ways), Packet: 1064, Header: 64, Records: 10 * units.Microsecond,
		Measure: metrics.Span{To: units.Never}, Epochs: []fluid.Epoch{{Ways: ways}},
	}
	for i, r := range rates {
		c.Ports = append(c.Ports, fluid.Port{Node: int32(i), Link: -1})
		c.Epochs[0].Rates = append(c.Epochs[0].Rates, units.Rate(r*float64(units.Gbps)))
	}
	for i := range ways {
		c.Flows = append(c.Flows, fluid.Flow{ID: i, Source: 2 * i, Sink: 2*i + 1, Law: fair, Latency: 4 * delay, Reply: 3 * delay})
	}
	return c
}

// way returns the ports, each with all of a flow's bytes.
func way(ports ...int32) (ways []fluid.Way) {
	for _, p := range ports {
		ways = append(ways, fluid.Way{Port: p, Share: 1})
	}
	return ways
}

// driver plays a network.
type driver struct {
	t       testing.TB
	network *fluid.Network
	pool    wire.Pool
	records metrics.Batch
	now     units.Time
	heard   map[fluid.Notice]units.Time // when hosts hear it
	told    []told
}

func drive(t testing.TB, c fluid.Config) *driver {
	t.Helper()
	d := &driver{t: t, heard: map[fluid.Notice]units.Time{}}
	var err error
	if d.network, err = fluid.New(c, &d.pool, &d.records); err != nil {
		t.Fatal(err)
	}
	return d
}

// post tells the network of a message at a time.
func (d *driver) post(at units.Time, flow int, size, total units.Size) {
	d.t.Helper()
	d.until(at.Add(delay) - 1)
	for _, m := range fluid.Post(nil, uint32(flow), size, total) {
		p := d.pool.Get()
		p.Build(wire.Addresses{}, wire.Control, 0, wire.NotECT, 0)
		p.SetControl(m.Flow, m.Code)
		d.network.Receive(at.Add(delay), 2*flow, p)
	}
}

// until plays everything up to a time.
func (d *driver) until(to units.Time) {
	for at := d.network.NextTimeout(); at <= to; at = d.network.NextTimeout() {
		if at < d.now {
			d.t.Fatalf("a timeout at %v after one at %v", at, d.now)
		}
		d.now = at
		d.network.HandleTimeout(at)
		for port := d.network.Ready().NextWithout(make([]uint64, len(d.network.Ready())), 0); port >= 0; {
			p, departs, ok := d.network.Transmit(at, port)
			if !ok || departs != at {
				d.t.Fatalf("port %d: %v, %v", port, departs, ok)
			}
			if of, rate, ok := fluid.ReadTaken(p); ok {
				d.told = append(d.told, told{at.Add(delay), of, rate})
			} else {
				d.heard[fluid.ReadNotice(p.Flow(), p.PSN())] = at.Add(delay)
			}
			d.pool.Put(p)
			port = d.network.Ready().NextWithout(make([]uint64, len(d.network.Ready())), 0)
		}
	}
}

// received returns when the receiver of a flow hears that so many messages have arrived.
func (d *driver) received(flow, messages int) units.Time {
	d.t.Helper()
	at, ok := d.heard[fluid.Notice{Flow: uint32(flow), Messages: messages, Received: true}]
	if !ok {
		d.t.Fatalf("flow %d: nothing heard of message %d; heard %v", flow, messages, d.heard)
	}
	return at
}

// took returns how long bytes on the line take at a rate in Gb/s.
func took(bytes, rate float64) units.Duration {
	return units.Duration(math.Ceil(bytes / (rate * gbps)))
}

// near reports whether times differ by next to nothing.
func near(got, want units.Time) bool { return max(got-want, want-got) < 1000 }

// Two flows share a port of 100 Gb/s, until one has sent all; then the other has it for itself.
func TestShare(t *testing.T) {
	d := drive(t, config([]float64{100}, way(0), way(0)))
	d.post(0, 0, 1_000_000, 0)
	d.post(0, 1, 3_000_000, 0)
	d.until(units.Never - 1)
	// 1000 packets of 1064 bytes, and 3000.
	first := units.Time(took(1_064_000, 50))
	if got := d.received(0, 1); !near(got, first.Add(4*delay)) {
		t.Errorf("the first arrives at %v, want %v", got, first.Add(4*delay))
	}
	second := units.Time(took(4*1_064_000, 100))
	if got := d.received(1, 1); !near(got, second.Add(4*delay)) {
		t.Errorf("the second arrives at %v, want %v", got, second.Add(4*delay))
	}
	if got := d.heard[fluid.Notice{Flow: 1, Messages: 1}]; !near(got, second.Add(7*delay)) {
		t.Errorf("the second is acknowledged at %v, want %v", got, second.Add(7*delay))
	}
}

// The parking lot of max-min fairness: a long flow over three ports, and a short one at each. The
// short one at the narrowest port gets half of it, as the long one does; the others what is left.
func TestMaxMin(t *testing.T) {
	d := drive(t, config([]float64{100, 40, 100}, way(0, 1, 2), way(0), way(1), way(2)))
	for flow, size := range []units.Size{2_000_000, 8_000_000, 2_000_000, 8_000_000} {
		d.post(0, flow, size, 0)
	}
	d.until(units.Never - 1)
	for flow, want := range []float64{20, 80, 20, 80} {
		rate := map[int]float64{0: 2_128_000, 1: 8_512_000, 2: 2_128_000, 3: 8_512_000}[flow]
		if got := d.received(flow, 1); !near(got, units.Time(took(rate, want)).Add(4*delay)) {
			t.Errorf("flow %d arrives at %v, want at %g Gb/s %v", flow, got, want, units.Time(took(rate, want)).Add(4*delay))
		}
	}
}

// Messages of a connection follow each other without a gap.
func TestMessages(t *testing.T) {
	d := drive(t, config([]float64{100}, way(0)))
	for range 3 {
		d.post(0, 0, 1_000_000, 0)
	}
	d.until(units.Never - 1)
	for k := range 3 {
		want := units.Time(took(float64(k+1)*1_064_000, 100)).Add(4 * delay)
		if got := d.received(0, k+1); !near(got, want) {
			t.Errorf("message %d arrives at %v, want %v", k, got, want)
		}
	}
}

// A message of more bytes than a code can say is told in pieces.
func TestPieces(t *testing.T) {
	const size = 5_000_000_000
	if n := len(fluid.Post(nil, 0, size, size)); n < 2 {
		t.Fatalf("%d pieces", n)
	}
	d := drive(t, config([]float64{100}, way(0)))
	d.post(0, 0, size, size)
	d.until(units.Never - 1)
	if got, want := d.received(0, 1), units.Time(took(size/1000*1064, 100)).Add(4*delay); !near(got, want) {
		t.Errorf("arrives at %v, want %v", got, want)
	}
}

// A port that slows in the middle of a message.
func TestEpochs(t *testing.T) {
	c := config([]float64{100}, way(0))
	half := units.Time(took(1_064_000/2, 100))
	c.Epochs = append(c.Epochs, fluid.Epoch{From: half, Rates: []units.Rate{25 * units.Gbps}, Ways: c.Epochs[0].Ways})
	d := drive(t, c)
	d.post(0, 0, 1_000_000, 0)
	d.post(0, 0, 1_000_000, 0)
	d.until(units.Never - 1)
	if got, want := d.received(0, 1), half.Add(took(1_064_000/2, 25)+4*delay); !near(got, want) {
		t.Errorf("arrives at %v, want %v", got, want)
	}
	// An epoch that begins while nothing is sent.
	late := d.now.Add(units.Millisecond)
	d.post(late, 0, 1_000_000, 0)
	d.until(units.Never - 1)
	if got, want := d.received(0, 3), late.Add(took(1_064_000, 25)+4*delay); !near(got, want) {
		t.Errorf("later: arrives at %v, want %v", got, want)
	}
}

// A weight of 3 to 1; and a weight that grows with progress, against a constant one.
func TestWeights(t *testing.T) {
	c := config([]float64{100}, way(0), way(0))
	c.Flows[0].Law.Weight = 3
	d := drive(t, c)
	d.post(0, 0, 1_000_000, 0)
	d.post(0, 1, 1_000_000, 0)
	d.until(units.Never - 1)
	if got, want := d.received(0, 1), units.Time(took(1_064_000, 75)).Add(4*delay); !near(got, want) {
		t.Errorf("weight 3: arrives at %v, want %v", got, want)
	}

	c = config([]float64{100}, way(0), way(0))
	c.Flows[0].Law = fluid.Law{Weight: 1, Intercept: 0.25, Slope: 1.75, Low: 1}
	d = drive(t, c)
	d.post(0, 0, 1_000_000, 0)
	d.post(0, 1, 4_000_000, 0)
	d.until(units.Never - 1)
	// Its share of the line is w/(1+w), so that the bytes dx take (1+w)/w dx: in all
	// 1 + 1/1.75 ln(2/0.25) = 2.188 times what they take alone.
	want := units.Time(took(1_064_000, 100/(1+math.Log(8)/1.75))).Add(4 * delay)
	if got := d.received(0, 1); math.Abs(float64(got)/float64(want)-1) > 0.01 {
		t.Errorf("a weight that grows: arrives at %v, want %v within 1 %%", got, want)
	}
}

// The first to come has its links for itself under a low weight of those that find them full.
func TestFirstCome(t *testing.T) {
	c := config([]float64{100}, way(0), way(0))
	for i := range c.Flows {
		c.Flows[i].Law.Low = 0.25
	}
	d := drive(t, c)
	d.post(0, 0, 1_000_000, 0)
	d.post(units.Time(units.Nanosecond), 1, 1_000_000, 0)
	d.until(units.Never - 1)
	if got, want := d.received(0, 1), units.Time(took(1_064_000, 80)).Add(4*delay); math.Abs(float64(got)/float64(want)-1) > 0.01 {
		t.Errorf("arrives at %v, want %v", got, want)
	}
}

// Of any flows over any ports: no port carries more than its rate; each flow crosses a port that is
// full and where no flow has a greater rate for its weight, which is what max-min fairness means
// (Bertsekas, Gallager); and windows add up to the messages.
func TestAnyFlows(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		ports := make([]float64, 2+random.IntN(8))
		for i := range ports {
			ports[i] = float64(10 * (1 + random.IntN(10)))
		}
		ways := make([][]fluid.Way, 1+random.IntN(12))
		for i := range ways {
			for _, p := range random.Perm(len(ports))[:1+random.IntN(len(ports))] {
				ways[i] = append(ways[i], fluid.Way{Port: int32(p), Share: 1 / float64(1+random.IntN(3))})
			}
			ways[i][0].Share = 1
		}
		c := config(ports, ways...)
		for i := range c.Flows {
			c.Flows[i].Law.Weight = float64(1 + random.IntN(3))
		}
		d := drive(t, c)
		sizes := make([]units.Size, len(ways))
		for i := range ways {
			sizes[i] = units.Size(1000 * (1000 + random.IntN(9000)))
			d.post(0, i, sizes[i], 0)
		}
		d.until(units.Time(delay)) // rates are known now
		checkMaxMin(t, seed, c, d)
		d.until(units.Never - 1)
		d.network.Close(d.now.Add(delay))
		payload := make([]int64, len(ways))
		for _, w := range d.records.Flows {
			payload[w.Flow] += w.PayloadBytes
		}
		for i := range ways {
			if off := payload[i] - int64(sizes[i]); max(off, -off) > int64(len(d.records.Flows)) {
				t.Errorf("seed %d: windows of flow %d have %d bytes, its message %d", seed, i, payload[i], sizes[i])
			}
		}
		for _, w := range d.records.Ports {
			if w.Busy > c.Records+1 {
				t.Errorf("seed %d: port %d is busy for %v of a window", seed, w.Node, w.Busy)
			}
		}
		totals := d.records.Totals[0]
		for i := range ways {
			if s, r := totals.Senders[i], totals.Receivers[i]; s.PayloadBytes != int64(sizes[i]) || max(r.PayloadBytes-s.PayloadBytes, s.PayloadBytes-r.PayloadBytes) > 1 || s.Done == units.Never {
				t.Errorf("seed %d: flow %d: totals %+v, %+v of %d bytes", seed, i, s, r, sizes[i])
			}
		}
	}
}

// checkMaxMin checks the rates of all flows.
func checkMaxMin(t *testing.T, seed uint64, c fluid.Config, d *driver) {
	t.Helper()
	rates := d.network.Rates()
	used := make([]float64, len(c.Ports))
	for i, ways := range c.Epochs[0].Ways {
		for _, w := range ways {
			used[w.Port] += rates[i] * w.Share
		}
	}
	const rounding = 1e-9
	full := func(p int32) bool { return used[p] >= float64(c.Epochs[0].Rates[p])/8e12*(1-rounding) }
	for p := range used {
		if used[p] > float64(c.Epochs[0].Rates[p])/8e12*(1+rounding) {
			t.Errorf("seed %d: port %d carries %g of %v", seed, p, used[p]*8e12, c.Epochs[0].Rates[p])
		}
	}
	for i, ways := range c.Epochs[0].Ways {
		mine := rates[i] / c.Flows[i].Law.Weight
		if !slices.ContainsFunc(ways, func(w fluid.Way) bool {
			if !full(w.Port) {
				return false
			}
			for k, others := range c.Epochs[0].Ways {
				if slices.ContainsFunc(others, func(o fluid.Way) bool { return o.Port == w.Port }) && rates[k]/c.Flows[k].Law.Weight > mine*(1+rounding) {
					return false
				}
			}
			return true
		}) {
			t.Errorf("seed %d: flow %d has no bottleneck; rates %v", seed, i, rates)
		}
	}
}

// What makes no sense is refused, by name.
func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(c *fluid.Config){
		"flow 0 crosses no port":            func(c *fluid.Config) { c.Epochs[0].Ways[0] = nil },
		"through port 7 of 1":               func(c *fluid.Config) { c.Epochs[0].Ways[0] = way(7) },
		"port 0 has a rate of":              func(c *fluid.Config) { c.Epochs[0].Rates[0] = 0 },
		"which is less than twice":          func(c *fluid.Config) { c.Flows[0].Latency = delay },
		"no epoch begins at 0":              func(c *fluid.Config) { c.Epochs = nil },
		"not after the one before":          func(c *fluid.Config) { c.Epochs = append(c.Epochs, c.Epochs[0]) },
		"has the law":                       func(c *fluid.Config) { c.Flows[0].Law.Weight = 0 },
		"between links 0 and 9 of 2":        func(c *fluid.Config) { c.Flows[0].Sink = 9 },
		"windows of 0s":                     func(c *fluid.Config) { c.Records = 0 },
		"0 rates and 1 ways of 1 ports and": func(c *fluid.Config) { c.Epochs[0].Rates = nil },
	} {
		c := config([]float64{100}, way(0))
		change(&c)
		_, err := fluid.New(c, new(wire.Pool), metrics.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// BenchmarkRing reports what a message of a ring of hosts costs.
func BenchmarkRing(b *testing.B) {
	for _, hosts := range []int{64, 1024} {
		b.Run(fmt.Sprint(hosts), func(b *testing.B) {
			var ways [][]fluid.Way
			rates := make([]float64, 2*hosts)
			for i := range hosts {
				rates[i], rates[hosts+i] = 100, 100
				ways = append(ways, way(int32(i), int32(hosts+(i+1)%hosts)))
			}
			d := drive(b, config(rates, ways...))
			at := units.Time(0)
			for b.Loop() {
				for flow := range hosts {
					d.post(at, flow, units.Size(100_000+flow), 0)
				}
				at = at.Add(units.Millisecond)
				d.until(at)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*hosts), "ns/message")
		})
	}
}
