// Package traffic generates what runs beside training: RPCs, bursts, incast, outcast,
// permutations and Poisson arrivals with published distributions of flow sizes. Each
// generator adds ordinary transfers, with triggers where one waits for another, to a
// workload. What is random depends on the generator's seed alone.
package traffic

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

// Item is a generator.
type Item interface {
	// Add appends the generator's transfers to a workload, as a job's. Its error wraps
	// workloads.ErrInvalid and says which value makes no sense.
	Add(w *workloads.Workload, job int) error
}

// Rounds says when something happens again: Count times, every so often from Start on.
type Rounds struct {
	Start, Every units.Duration
	Count        int // 0: once
}

func (r Rounds) check(what string) error {
	if r.Count > 1 && r.Every <= 0 {
		return fmt.Errorf("%w: %s: %d rounds need a time between them", workloads.ErrInvalid, what, r.Count)
	}
	return nil
}

// each calls do for each round with its start.
func (r Rounds) each(do func(start units.Duration) error) error {
	for i := range max(1, r.Count) {
		if err := do(r.Start + units.Duration(i)*r.Every); err != nil {
			return err
		}
	}
	return nil
}

// stream returns the random numbers of one purpose of a generator.
func stream(seed uint64, purpose, of int) *rand.Rand {
	const letters = 0x7472_6166 // "traf": a stream of its own
	return rand.New(rand.NewPCG(seed, letters<<32|uint64(purpose)<<28|uint64(of)))
}

// Purposes of random numbers.
const (
	forPeers = iota
	forTimes
	forSizes
)

// add appends a transfer that no trigger starts, and returns its id.
func add(w *workloads.Workload, job, src, dst int, size units.Size, start units.Duration) (int, error) {
	if len(w.Transfers) >= workloads.MaxTransfers {
		return 0, fmt.Errorf("%w: more than %d transfers", workloads.ErrInvalid, workloads.MaxTransfers)
	}
	w.Transfers = append(w.Transfers, workloads.Transfer{
		Job: job, Src: src, Dst: dst, Size: size, Start: start, After: workloads.None, SendDone: workloads.None, RecvDone: workloads.None,
	})
	return len(w.Transfers) - 1, nil
}

// others returns the hosts without one of them.
func others(hosts []int, without int) []int {
	return slices.DeleteFunc(slices.Clone(hosts), func(h int) bool { return h == without })
}

// pick returns n different hosts, ascending.
func pick(hosts []int, n int, random *rand.Rand) []int {
	chosen := make([]int, 0, n)
	for _, i := range random.Perm(len(hosts))[:n] {
		chosen = append(chosen, hosts[i])
	}
	slices.Sort(chosen)
	return chosen
}

// RPC is remote procedure calls: each client sends requests to servers, which it chooses
// at random for each call, and gets responses.
type RPC struct {
	Clients, Servers  []int // hosts
	Request, Response Sizes // a response of the zero Sizes: none; the call is done when the request is acknowledged
	Count             int   // calls of each client
	// Outstanding is the calls that a client has under way at a time (closed loop): the
	// next begins Think after one is done. 0 stands for an open loop, in which calls begin at
	// the times of a Poisson process with the mean Every between them.
	Outstanding int
	Think       units.Duration
	Every       units.Duration
	Service     units.Duration // from the arrival of the request to the start of the response
	Start       units.Duration
	Seed        uint64
}

// call is one RPC.
type call struct {
	client, server    int // hosts
	place             int // of the calls that the client has under way
	request, response units.Size
	start             units.Duration
	// after is what done was of the call before at the same place; -1: none, or an open loop.
	after, done int
}

// each calls do for every RPC, client by client. do sets the call's done.
func (r *RPC) each(do func(c *call) error) error {
	for _, client := range r.Clients {
		peers := others(r.Servers, client)
		if len(peers) == 0 {
			return fmt.Errorf("%w: rpc: client %d has no server but itself", workloads.ErrInvalid, client)
		}
		choice, times, sizes := stream(r.Seed, forPeers, client), stream(r.Seed, forTimes, client), stream(r.Seed, forSizes, client)
		last := slices.Repeat([]int{-1}, max(1, r.Outstanding))
		at := float64(r.Start)
		for i := range r.Count {
			c := call{client: client, place: i % len(last), start: r.Start}
			if r.Outstanding == 0 {
				at += float64(times.ExpFloat64() * float64(r.Every))
				c.start = units.Duration(at)
			}
			c.server, c.request = peers[choice.IntN(len(peers))], r.Request.draw(sizes)
			if len(r.Response.points) > 0 {
				c.response = r.Response.draw(sizes)
			}
			c.after = last[c.place]
			if r.Outstanding == 0 {
				c.after = -1
			}
			if err := do(&c); err != nil {
				return err
			}
			last[c.place] = c.done
		}
	}
	return nil
}

// Add implements Item. The response to a transfer comes right behind it.
func (r *RPC) Add(w *workloads.Workload, job int) error {
	if err := r.check(); err != nil {
		return err
	}
	return r.each(func(c *call) error {
		request, err := add(w, job, c.client, c.server, c.request, c.start)
		if err != nil {
			return err
		}
		if c.after >= 0 {
			r.after(w, c.after, request, r.Think)
		}
		c.done = request
		if c.response == 0 {
			return nil
		}
		if c.done, err = add(w, job, c.server, c.client, c.response, 0); err != nil {
			return err
		}
		w.Transfers[c.done].Response = true
		r.after(w, request, c.done, r.Service)
		return nil
	})
}

// after has a transfer start a time after another is done where the first one starts: its
// receiver has it, or its sender has all acknowledged.
func (r *RPC) after(w *workloads.Workload, first, next int, delay units.Duration) {
	trigger := len(w.Triggers)
	w.Triggers = append(w.Triggers, workloads.Trigger{Label: fmt.Sprint(trigger + 1), Kind: workloads.OneShot})
	if w.Transfers[first].Dst == w.Transfers[next].Src {
		w.Transfers[first].RecvDone = trigger
	} else {
		w.Transfers[first].SendDone = trigger
	}
	w.Transfers[next].After, w.Transfers[next].Start = trigger, delay
}

func (r *RPC) check() error {
	if err := r.Request.check("rpc: request"); err != nil {
		return err
	}
	switch {
	case len(r.Clients) == 0 || len(r.Servers) == 0:
		return fmt.Errorf("%w: rpc: no clients or no servers", workloads.ErrInvalid)
	case r.Count < 1:
		return fmt.Errorf("%w: rpc: count %d, want 1 or more", workloads.ErrInvalid, r.Count)
	case r.Count > workloads.MaxTransfers/len(r.Clients):
		return fmt.Errorf("%w: rpc: %d clients with %d calls each; the most are %d calls", workloads.ErrInvalid, len(r.Clients), r.Count, workloads.MaxTransfers)
	case (r.Outstanding > 0) == (r.Every > 0):
		return fmt.Errorf("%w: rpc: want outstanding calls (closed loop) or a time between calls (open loop)", workloads.ErrInvalid)
	}
	return nil
}

// Bursts is messages of one size that several hosts start together: From[i] sends to
// To[i] in every round.
type Bursts struct {
	From, To []int
	Size     units.Size
	On       units.Duration // a burst stops after this, whatever is left; 0: it does not
	Rounds
	// Spread is by how much the rounds of a pair begin later than those of others: a time
	// from 0 to this, at random; 0: all pairs begin together.
	Spread units.Duration
	Seed   uint64
}

// rounds calls do for each burst.
func (b *Bursts) rounds(do func(src, dst int, start units.Duration) error) error {
	if len(b.From) == 0 || len(b.From) != len(b.To) {
		return fmt.Errorf("%w: bursts: %d senders and %d receivers, want as many of each, pair by pair", workloads.ErrInvalid, len(b.From), len(b.To))
	}
	if err := b.Rounds.check("bursts"); err != nil {
		return err
	}
	later := make([]units.Duration, len(b.From))
	if b.Spread > 0 {
		random := stream(b.Seed, forTimes, 0)
		for i := range later {
			later[i] = units.Duration(random.Int64N(int64(b.Spread)))
		}
	}
	return b.each(func(start units.Duration) error {
		for i, src := range b.From {
			if err := do(src, b.To[i], start+later[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Add implements Item.
func (b *Bursts) Add(w *workloads.Workload, job int) error {
	return b.rounds(func(src, dst int, start units.Duration) error {
		id, err := add(w, job, src, dst, b.Size, start)
		if err == nil && b.On > 0 {
			w.Transfers[id].Stop = start + b.On
		}
		return err
	})
}

// Incast is messages from several hosts to one, which start together. With FanIn the
// senders of each round are as many of the hosts in From, at random.
type Incast struct {
	To    int
	From  []int
	FanIn int // 0: all of From
	Size  units.Size
	Rounds
	Seed uint64
}

// Add implements Item.
func (c *Incast) Add(w *workloads.Workload, job int) error {
	return fan("incast", "fan_in", c.To, c.From, c.FanIn, c.Rounds, c.Seed, func(peer int, start units.Duration) error {
		_, err := add(w, job, peer, c.To, c.Size, start)
		return err
	})
}

// Outcast is messages from one host to several, which start together. With FanOut the
// receivers of each round are as many of the hosts in To, at random.
type Outcast struct {
	From   int
	To     []int
	FanOut int // 0: all of To
	Size   units.Size
	Rounds
	Seed uint64
}

// Add implements Item.
func (c *Outcast) Add(w *workloads.Workload, job int) error {
	return fan("outcast", "fan_out", c.From, c.To, c.FanOut, c.Rounds, c.Seed, func(peer int, start units.Duration) error {
		_, err := add(w, job, c.From, peer, c.Size, start)
		return err
	})
}

// fan calls do for the peers of one host in each round.
func fan(what, key string, one int, hosts []int, n int, rounds Rounds, seed uint64, do func(peer int, start units.Duration) error) error {
	peers := others(hosts, one)
	if len(peers) == 0 {
		return fmt.Errorf("%w: %s: there is no other host", workloads.ErrInvalid, what)
	}
	if n < 0 || n > len(peers) {
		return fmt.Errorf("%w: %s: %s %d, want 1 to %d", workloads.ErrInvalid, what, key, n, len(peers))
	}
	if err := rounds.check(what); err != nil {
		return err
	}
	random := stream(seed, forPeers, 0)
	return rounds.each(func(start units.Duration) error {
		chosen := peers
		if n > 0 {
			chosen = pick(peers, n, random)
		}
		for _, peer := range chosen {
			if err := do(peer, start); err != nil {
				return err
			}
		}
		return nil
	})
}

// Permutation is a message from each of the hosts to another, each receiving one; every
// round has a permutation of its own.
type Permutation struct {
	Hosts []int
	Size  units.Size
	Rounds
	Seed uint64
}

// Add implements Item.
func (p *Permutation) Add(w *workloads.Workload, job int) error {
	if err := p.Rounds.check("permutation"); err != nil {
		return err
	}
	rounds, err := workloads.NewPermutations(len(p.Hosts), p.Size, p.Seed)
	if err != nil {
		return err
	}
	return p.each(func(start units.Duration) error {
		for _, t := range rounds.Next().Transfers {
			if _, err := add(w, job, p.Hosts[t.Src], p.Hosts[t.Dst], t.Size, start); err != nil {
				return err
			}
		}
		return nil
	})
}

// Poisson is messages from each of the hosts to others, chosen at random, that start at
// the times of a Poisson process: Rate is what each host sends in the mean.
type Poisson struct {
	Hosts []int
	Sizes Sizes
	Rate  units.Rate // payload
	Start units.Duration
	For   units.Duration // no message starts later than this after Start
	Seed  uint64
}

// Add implements Item. Transfers are in the order of their starts.
func (p *Poisson) Add(w *workloads.Workload, job int) error {
	if err := p.Sizes.check("poisson"); err != nil {
		return err
	}
	if len(p.Hosts) < 2 || p.Rate <= 0 || p.For <= 0 {
		return fmt.Errorf("%w: poisson: want two hosts or more, a rate and a time", workloads.ErrInvalid)
	}
	first := len(w.Transfers)
	mean := float64(p.Sizes.Mean() * 8 / float64(p.Rate) * float64(units.Second)) // between starts
	if n := float64(len(p.Hosts)) * float64(p.For) / mean; n > 2*workloads.MaxTransfers {
		return fmt.Errorf("%w: poisson: about %.2g messages, the most are %d", workloads.ErrInvalid, n, workloads.MaxTransfers)
	}
	for _, src := range p.Hosts {
		peers := others(p.Hosts, src)
		choice, times, sizes := stream(p.Seed, forPeers, src), stream(p.Seed, forTimes, src), stream(p.Seed, forSizes, src)
		for at := float64(times.ExpFloat64() * mean); at < float64(p.For); at += float64(times.ExpFloat64() * mean) {
			if _, err := add(w, job, src, peers[choice.IntN(len(peers))], p.Sizes.draw(sizes), p.Start+units.Duration(at)); err != nil {
				return err
			}
		}
	}
	if len(w.Transfers) == first {
		return fmt.Errorf("%w: poisson: no message starts within %v; at this rate one starts every %v at each host", workloads.ErrInvalid, p.For, units.Duration(mean))
	}
	slices.SortStableFunc(w.Transfers[first:], func(a, b workloads.Transfer) int { return int(max(-1, min(1, a.Start-b.Start))) })
	return nil
}
