package detection

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Among 64 ports alike hardly one is named in 20,000 windows; one that is worse by as much as
// two ports differ by is named soon, and no other.
func TestScores(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	windows := func(n, slow int, shift float64) (names map[int]int, first int) {
		all, names := scores[int]{}, map[int]int{}
		for w := range n {
			ports := map[int]*mean{}
			for p := range 64 {
				of := 5 + random.NormFloat64()
				if p == slow {
					of += shift
				}
				ports[p] = &mean{samples: 10, sum: 10 * of}
			}
			for _, p := range all.add(ports) {
				if names[p]++; p == slow && first == 0 {
					first = w + 1
				}
			}
		}
		return names, first
	}
	if names, _ := windows(20_000, -1, 0); len(names) > 3 { // 1.28 million scores: 0.2 names are expected
		t.Errorf("ports that are alike: %v", names)
	}
	names, first := windows(200, 17, 2)
	if len(names) != 1 || first == 0 || first > 30 {
		t.Errorf("a slow port is first named in window %d; names %v", first, names)
	}
	few := map[int]*mean{}
	for p := range leastPeers - 1 {
		few[p] = &mean{samples: leastSamples, sum: float64(p)}
	}
	few[99] = &mean{samples: leastSamples - 1, sum: 1e9}
	s := scores[int]{}
	if got := s.add(few); got != nil || len(s) != 0 {
		t.Errorf("too few peers: %v, %v", got, s)
	}
}

// Polls name the uplink of a switch that sent too little between two of them.
func TestPolls(t *testing.T) {
	r := &run{bytes: map[reading.PortID]map[int]int64{}, rates: map[reading.PortID]float64{}}
	for p := range int32(4) {
		id := reading.PortID{Node: 7, Port: p}
		r.bytes[id], r.rates[id] = map[int]int64{}, 1000
		for at := range 6000 {
			if r.bytes[id][at] = 10_000; p == 2 && at >= 1000 { // intervals of 20 us: half busy
				r.bytes[id][at] = 2000
			}
		}
	}
	links := map[reading.PortID]string{{Node: 7, Port: 2}: "a-b"}
	f := &runfolder.Fault{Name: "slow", Where: []string{"a-b"}, FromUS: 20_000}
	ways := r.byPolls(20, 0.001)
	for i, want := range []struct{ period, least, most float64 }{{1000, 0.6, 1.65}, {10_000, 6, 16.5}, {30_000, 18, 49.5}} {
		l := looks{}
		l.add(ways[i], f, links, 1000, r)
		d := l.settled()
		if ways[i].periodUS != want.period || d.Looks != phases || d.Found != phases || d.Wrong != 0 || d.Steps.Min < want.least || d.Steps.Max > want.most {
			t.Errorf("%s: %+v", ways[i].by, d)
		}
	}
	r.rates[reading.PortID{Node: 7, Port: 2}] = 1e6 // a link that is hardly used says nothing
	if names := r.byPolls(20, 0.001)[0].looks[0]; len(names) != 0 {
		t.Errorf("on an idle link: %v", names)
	}
}

// What names are worth is said as it is.
func TestSays(t *testing.T) {
	r := &reading.Reading{}
	r.Manifest = &runfolder.Manifest{Jobs: []runfolder.Job{{TimeScale: 0.0002}}, Variants: []runfolder.Variant{{Name: "csig"}}}
	s := &Section{r: r}
	if s.Parts() != nil || s.Findings() != nil || s.Numbers() != nil {
		t.Error("a section without incidents")
	}
	d := Detection{Variant: "csig", Fault: "slow", Link: "a-b", By: ByTags, Looks: 5, Found: 4, Wrong: 1, After: reading.Median{Median: 800}, Steps: reading.Median{Median: 0.33, Spread: reading.Spread{Count: 4, Min: 0.2, Max: 0.4}}}
	poll := Detection{Variant: "csig", Fault: "slow", Link: "a-b", By: "polls each 10 s", PeriodUS: 2000, Looks: 10, Found: 5, Wrong: 2, After: reading.Median{Median: 3600}, Steps: reading.Median{Median: 1.5, Spread: reading.Spread{Count: 5, Min: 1, Max: 2}}}
	s.Detections = []Detection{{Variant: "plain", By: ByTags}, d, poll}
	got := strings.ReplaceAll(s.Findings()[0], "\u00a0", " ")
	if want := "In csig tags name the slow link a-b 800 µs after it slowed (0.33 steps), under 4 of 5 seeds, and 1 wrong port; polls each 10 s (2 ms of this scaled job) need 3.6 ms (1.5 steps) in the median, and find it in 50 % of the looks, and 2 wrong ports."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Detections = []Detection{{Variant: "csig", Link: "a-b", By: ByTags, Looks: 2}}
	if got := s.Findings()[0]; !strings.Contains(got, "do not name the slow link a-b under any seed") {
		t.Error(got)
	}
}
