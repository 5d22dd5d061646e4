package experiment

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
	"github.com/csiglab/csiglab/workloads/traffic"
)

// Traffic is several generators on one fabric, each of which is a job of its own.
type Traffic []TrafficItem

// TrafficItem is one generator: exactly one of its pointers is set.
type TrafficItem struct {
	Name        string              `yaml:"name,required" is:"group" doc:"name of its group of flows; the first item is job 0"`
	RPC         *TrafficRPC         `yaml:"rpc" doc:"remote procedure calls, in a closed loop (outstanding) or an open one (every)"`
	Bursts      *TrafficBursts      `yaml:"bursts" doc:"bursts between pairs of hosts"`
	Incast      *TrafficIncast      `yaml:"incast" doc:"messages from several hosts to one, round after round"`
	Outcast     *TrafficOutcast     `yaml:"outcast" doc:"messages from one host to several, round after round"`
	Permutation *TrafficPermutation `yaml:"permutation" doc:"each host sends to another one and receives from one, round after round"`
	Poisson     *TrafficPoisson     `yaml:"poisson" doc:"messages between random hosts that arrive independently of each other"`
}

// HostRanges is hosts, see ParseHosts.
type HostRanges []string

// TrafficRPC is remote procedure calls, see traffic.RPC.
type TrafficRPC struct {
	Clients     HostRanges     `yaml:"clients" is:"host range" doc:"hosts that call; without it all hosts; numbers, and ranges such as 0..7"`
	Servers     HostRanges     `yaml:"servers" is:"host range" doc:"hosts of which each call goes to one, at random; without it all hosts; numbers, and ranges such as 0..7"`
	Size        units.Size     `yaml:"size" is:"some payload" doc:"of each message, of RPCs each request"`
	CDF         string         `yaml:"cdf" is:"size distribution" doc:"published distribution of sizes, in place of size: web-search, hadoop or storage"`
	CDFFile     string         `yaml:"cdf_file" is:"file" doc:"file with a distribution of sizes, in place of size"`
	Response    units.Size     `yaml:"response" is:"some payload" default:"0B" doc:"size of responses; 0B: none, a call is done when the request is acknowledged"`
	Count       int            `yaml:"count,required" is:"transfers" doc:"calls of each client"`
	Outstanding int            `yaml:"outstanding" is:"0 to 4096" doc:"calls that a client has under way (closed loop); 0: an open loop"`
	Think       units.Duration `yaml:"think" is:"time" default:"0s" doc:"from the end of a call to the next, of a closed loop"`
	Every       units.Duration `yaml:"every" is:"time" default:"0s" doc:"mean time between calls of a client, of an open loop (Poisson)"`
	Service     units.Duration `yaml:"service" is:"time" default:"0s" doc:"from the request's arrival to the response"`
	Persistent  bool           `yaml:"persistent" default:"false" doc:"messages between two hosts follow each other on one connection, whose congestion control keeps its state; without it each is a flow of its own"`
	Start       units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it begins"`
	Seed        Seed           `yaml:"seed" is:"seed" default:"run" doc:"of what is random; run: other traffic with each seed of the run, a number: always the same"`
}

// TrafficBursts is bursts between pairs of hosts, see traffic.Bursts.
type TrafficBursts struct {
	From       HostRanges     `yaml:"from,required" is:"host range" doc:"hosts that send; numbers, and ranges such as 0..7"`
	To         HostRanges     `yaml:"to,required" is:"host range" doc:"the receiver of each of them: as many hosts; numbers, and ranges such as 0..7"`
	Size       units.Size     `yaml:"size,required" is:"payload" doc:"of each message"`
	On         units.Duration `yaml:"on" is:"time" default:"0s" doc:"a burst stops after this; 0s: when all is sent"`
	Every      units.Duration `yaml:"every" is:"time" default:"0s" doc:"time from round to round"`
	Count      int            `yaml:"count" is:"transfers" default:"1" doc:"rounds"`
	Start      units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it begins"`
	Spread     units.Duration `yaml:"spread" is:"time" default:"0s" doc:"each pair begins later by a random time below this; 0s: all together"`
	Persistent bool           `yaml:"persistent" default:"false" doc:"messages between two hosts follow each other on one connection, whose congestion control keeps its state; without it each is a flow of its own"`
	Seed       Seed           `yaml:"seed" is:"seed" default:"run" doc:"of what is random; run: other traffic with each seed of the run, a number: always the same"`
}

// TrafficIncast is repeated incast, see traffic.Incast.
type TrafficIncast struct {
	To    int            `yaml:"to" is:"host" default:"0" doc:"host that receives"`
	From  HostRanges     `yaml:"from" is:"host range" doc:"hosts that send; without it all hosts; numbers, and ranges such as 0..7"`
	FanIn int            `yaml:"fan_in" is:"hosts or all" default:"all" doc:"so many of them, at random in each round"`
	Size  units.Size     `yaml:"size,required" is:"payload" doc:"of each message"`
	Every units.Duration `yaml:"every" is:"time" default:"0s" doc:"time from round to round"`
	Count int            `yaml:"count" is:"transfers" default:"1" doc:"rounds"`
	Start units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it begins"`
	Seed  Seed           `yaml:"seed" is:"seed" default:"run" doc:"of what is random; run: other traffic with each seed of the run, a number: always the same"`
}

// TrafficOutcast is repeated outcast, see traffic.Outcast.
type TrafficOutcast struct {
	From   int            `yaml:"from" is:"host" default:"0" doc:"host that sends"`
	To     HostRanges     `yaml:"to" is:"host range" doc:"hosts that receive; without it all hosts; numbers, and ranges such as 0..7"`
	FanOut int            `yaml:"fan_out" is:"hosts or all" default:"all" doc:"so many of them, at random in each round"`
	Size   units.Size     `yaml:"size,required" is:"payload" doc:"of each message"`
	Every  units.Duration `yaml:"every" is:"time" default:"0s" doc:"time from round to round"`
	Count  int            `yaml:"count" is:"transfers" default:"1" doc:"rounds"`
	Start  units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it begins"`
	Seed   Seed           `yaml:"seed" is:"seed" default:"run" doc:"of what is random; run: other traffic with each seed of the run, a number: always the same"`
}

// TrafficPermutation is repeated permutations, see traffic.Permutation.
type TrafficPermutation struct {
	Hosts HostRanges     `yaml:"hosts" is:"host range" doc:"hosts that take part; without it all hosts; numbers, and ranges such as 0..7"`
	Size  units.Size     `yaml:"size,required" is:"payload" doc:"of each message"`
	Every units.Duration `yaml:"every" is:"time" default:"0s" doc:"time from round to round"`
	Count int            `yaml:"count" is:"transfers" default:"1" doc:"rounds"`
	Start units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it begins"`
	Seed  Seed           `yaml:"seed" is:"seed" default:"run" doc:"of what is random; run: other traffic with each seed of the run, a number: always the same"`
}

// TrafficPoisson is Poisson arrivals, see traffic.Poisson.
type TrafficPoisson struct {
	Hosts   HostRanges     `yaml:"hosts" is:"host range" doc:"hosts that take part; without it all hosts; numbers, and ranges such as 0..7"`
	Size    units.Size     `yaml:"size" is:"some payload" doc:"of each message, of RPCs each request"`
	CDF     string         `yaml:"cdf" is:"size distribution" doc:"published distribution of sizes, in place of size: web-search, hadoop or storage"`
	CDFFile string         `yaml:"cdf_file" is:"file" doc:"file with a distribution of sizes, in place of size"`
	Rate    units.Rate     `yaml:"rate,required" is:"rate" doc:"payload that each host sends in the mean"`
	Start   units.Duration `yaml:"start" is:"time" default:"0s" doc:"when it begins"`
	For     units.Duration `yaml:"for,required" is:"span" doc:"for how long messages start"`
	Seed    Seed           `yaml:"seed" is:"seed" default:"run" doc:"of what is random; run: other traffic with each seed of the run, a number: always the same"`
}

// Check implements WorkloadSpec.
func (l Traffic) Check(c *Check) {
	if len(l) == 0 {
		c.Fail("", "the list is empty")
	}
	names := map[string]bool{}
	for i, item := range l {
		at := fmt.Sprintf("[%d]", i)
		if names[item.Name] {
			c.Fail(at+".name", "the name %q is another item's", item.Name)
		}
		names[item.Name] = true
		kinds := 0
		for _, k := range item.kinds() {
			if k.given {
				kinds++
				k.check(c, at+"."+k.name)
			}
		}
		if kinds != 1 {
			c.Fail(at, "want one of the keys rpc, bursts, incast, outcast, permutation and poisson")
		}
	}
}

// trafficKind is one of the keys of an item.
type trafficKind struct {
	name  string
	given bool
	check func(c *Check, at string)
}

func (t *TrafficItem) kinds() []trafficKind {
	return []trafficKind{
		{"rpc", t.RPC != nil, func(c *Check, at string) {
			r := t.RPC
			c.ranges(at+".clients", r.Clients)
			c.ranges(at+".servers", r.Servers)
			c.sizes(at, r.Size, r.CDF, r.CDFFile)
			c.Size(at+".response", r.Response)
			c.Start(at+".start", r.Start)
			if (r.Outstanding > 0) == (r.Every > 0) {
				c.Fail(at, "want one of the keys outstanding (closed loop) and every (open loop)")
			}
			if r.Think > 0 && r.Outstanding == 0 {
				c.Fail(at+".think", "an open loop does not think; set outstanding")
			}
		}},
		{"bursts", t.Bursts != nil, func(c *Check, at string) {
			b := t.Bursts
			from, to := c.ranges(at+".from", b.From), c.ranges(at+".to", b.To)
			if len(from) != len(to) {
				c.Fail(at+".to", "%d receivers for %d senders; want as many, pair by pair", len(to), len(from))
			}
			for i := range min(len(from), len(to)) {
				if from[i] == to[i] {
					c.Fail(at+".to", "host %d cannot send to itself", to[i])
					break
				}
			}
			c.rounds(at, b.Size, b.Start, b.Every, b.Count)
		}},
		{"incast", t.Incast != nil, func(c *Check, at string) {
			n := t.Incast
			c.Host(at+".to", n.To)
			c.fan(at, [2]string{"from", "fan_in"}, n.From, n.To, n.FanIn)
			c.rounds(at, n.Size, n.Start, n.Every, n.Count)
		}},
		{"outcast", t.Outcast != nil, func(c *Check, at string) {
			n := t.Outcast
			c.Host(at+".from", n.From)
			c.fan(at, [2]string{"to", "fan_out"}, n.To, n.From, n.FanOut)
			c.rounds(at, n.Size, n.Start, n.Every, n.Count)
		}},
		{"permutation", t.Permutation != nil, func(c *Check, at string) {
			p := t.Permutation
			if hosts := c.ranges(at+".hosts", p.Hosts); len(p.Hosts) > 0 && len(hosts) < 2 {
				c.Fail(at+".hosts", "want two hosts or more")
			}
			c.rounds(at, p.Size, p.Start, p.Every, p.Count)
		}},
		{"poisson", t.Poisson != nil, func(c *Check, at string) {
			p := t.Poisson
			if hosts := c.ranges(at+".hosts", p.Hosts); len(p.Hosts) > 0 && len(hosts) < 2 {
				c.Fail(at+".hosts", "want two hosts or more")
			}
			c.sizes(at, p.Size, p.CDF, p.CDFFile)
			c.Start(at+".start", p.Start)
		}},
	}
}

// ranges checks that hosts exist and that none is given twice, and returns them.
func (c *Check) ranges(key string, r HostRanges) []int {
	hosts, err := r.hosts(c.hosts)
	if err != nil {
		c.Fail(key, "%v", err)
	}
	return hosts
}

// sizes checks that there is one way to say how large messages are.
func (c *Check) sizes(at string, size units.Size, cdf, file string) {
	given := 0
	for _, is := range []bool{size > 0, cdf != "", file != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		c.Fail(at, "want one of the keys size, cdf and cdf_file")
	}
	c.Size(at+".size", size)
}

// rounds checks what repeated generators have in common.
func (c *Check) rounds(at string, size units.Size, start, every units.Duration, count int) {
	c.Size(at+".size", size)
	c.Start(at+".start", start)
	if count > 1 && every == 0 {
		c.Fail(at+".count", "%d rounds need a time between them; set every", count)
	}
}

// fan checks the peers of the host of an incast or outcast, which are n of these. keys are those
// of the peers and of n.
func (c *Check) fan(at string, keys [2]string, r HostRanges, one, n int) {
	peers := c.ranges(at+"."+keys[0], r)
	have := c.hosts - 1
	if len(r) > 0 {
		have = 0
		for _, h := range peers {
			if h != one {
				have++
			}
		}
	}
	if have >= 0 && n > have {
		c.Fail(at+"."+keys[1], "%d are too many; there are %d other hosts", n, have)
	}
}

// hosts returns the hosts in the order in which they are given: all, without any. total is
// the number of hosts of the topology; 0: not known.
func (r HostRanges) hosts(total int) ([]int, error) {
	if len(r) == 0 {
		return upTo(0, total-1), nil
	}
	hosts, err := ParseHosts(r, maxHosts)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, h := range hosts {
		switch {
		case total > 0 && h >= total:
			return nil, fmt.Errorf("no host %d; hosts go from 0 to %d", h, total-1)
		case seen[h]:
			return nil, fmt.Errorf("host %d is given twice", h)
		}
		seen[h] = true
	}
	return hosts, nil
}

func upTo(first, last int) []int {
	hosts := make([]int, 0, max(0, last-first+1))
	for h := first; h <= last; h++ {
		hosts = append(hosts, h)
	}
	return hosts
}

// Seeded implements SeededWorkload.
func (l Traffic) Seeded() bool {
	return slices.ContainsFunc(l, func(t TrafficItem) bool { return t.seed().ofRun() })
}

// seed returns the seed of an item.
func (t *TrafficItem) seed() Seed {
	switch {
	case t.RPC != nil:
		return t.RPC.Seed
	case t.Bursts != nil:
		return t.Bursts.Seed
	case t.Incast != nil:
		return t.Incast.Seed
	case t.Outcast != nil:
		return t.Outcast.Seed
	case t.Permutation != nil:
		return t.Permutation.Seed
	}
	return t.Poisson.Seed
}

// number returns the seed of an item, the i-th, in a run. Two items of one kind would send
// alike with one seed: those with the seed of the run have different ones, the first that of
// the run itself.
func (t *TrafficItem) number(i int, run uint64) uint64 {
	if s := t.seed(); !s.ofRun() {
		return s.number(run)
	}
	return run ^ uint64(i)<<40
}

// Build implements WorkloadSpec.
func (l Traffic) Build(in WorkloadInput) (*workloads.Workload, []string, error) {
	load := &workloads.Workload{Hosts: in.Hosts, JobNames: map[int]string{}}
	for i := range l {
		item, err := l[i].item(in.Hosts, l[i].number(i, in.Seed))
		if err != nil {
			return nil, nil, err // names a place in a file
		}
		if err := l[i].add(load, item, i); err != nil {
			text := strings.TrimPrefix(err.Error(), workloads.ErrInvalid.Error()+": ")
			return nil, nil, &PathError{Path: fmt.Sprintf("workload.traffic[%d]", i), Err: errors.New(text)}
		}
	}
	return load, nil, nil
}

// add adds the generator of an item.
func (t *TrafficItem) add(load *workloads.Workload, item traffic.Item, job int) error {
	if p, ok := item.(traffic.Persistent); ok && (t.RPC != nil && t.RPC.Persistent || t.Bursts != nil && t.Bursts.Persistent) {
		return p.AddJob(load, t.Name)
	}
	load.JobNames[job] = t.Name
	return item.Add(load, job)
}

// item returns the generator of an item that has been checked.
func (t *TrafficItem) item(total int, seed uint64) (traffic.Item, error) {
	of := func(r HostRanges) []int {
		hosts, _ := r.hosts(total) // Check has reported errors
		return hosts
	}
	switch {
	case t.RPC != nil:
		r := t.RPC
		sizes, err := sizesOf(r.Size, r.CDF, r.CDFFile)
		call := &traffic.RPC{
			Clients: of(r.Clients), Servers: of(r.Servers), Request: sizes, Count: r.Count, Outstanding: r.Outstanding,
			Think: r.Think, Every: r.Every, Service: r.Service, Start: r.Start, Seed: seed,
		}
		if r.Response > 0 {
			call.Response = traffic.Fixed(r.Response)
		}
		return call, err
	case t.Bursts != nil:
		b := t.Bursts
		return &traffic.Bursts{From: of(b.From), To: of(b.To), Size: b.Size, On: b.On, Rounds: traffic.Rounds{Start: b.Start, Every: b.Every, Count: b.Count}, Spread: b.Spread, Seed: seed}, nil
	case t.Incast != nil:
		n := t.Incast
		return &traffic.Incast{To: n.To, From: of(n.From), FanIn: n.FanIn, Size: n.Size, Rounds: traffic.Rounds{Start: n.Start, Every: n.Every, Count: n.Count}, Seed: seed}, nil
	case t.Outcast != nil:
		n := t.Outcast
		return &traffic.Outcast{From: n.From, To: of(n.To), FanOut: n.FanOut, Size: n.Size, Rounds: traffic.Rounds{Start: n.Start, Every: n.Every, Count: n.Count}, Seed: seed}, nil
	case t.Permutation != nil:
		p := t.Permutation
		return &traffic.Permutation{Hosts: of(p.Hosts), Size: p.Size, Rounds: traffic.Rounds{Start: p.Start, Every: p.Every, Count: p.Count}, Seed: seed}, nil
	}
	p := t.Poisson
	sizes, err := sizesOf(p.Size, p.CDF, p.CDFFile)
	return &traffic.Poisson{Hosts: of(p.Hosts), Sizes: sizes, Rate: p.Rate, Start: p.Start, For: p.For, Seed: seed}, err
}

// sizesOf returns the distribution that one of three keys gives.
func sizesOf(size units.Size, cdf, file string) (traffic.Sizes, error) {
	switch {
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return traffic.Sizes{}, err
		}
		defer f.Close()
		return traffic.ReadSizes(f, file)
	case cdf != "":
		sizes, _ := traffic.Published(cdf)
		return sizes, nil
	}
	return traffic.Fixed(size), nil
}
