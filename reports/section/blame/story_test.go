package blame

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/reports/waits"
)

// ofTransfers is a run of one variant, in which 8 hosts send to h0.
func ofTransfers() *Section {
	s := &Section{waits: &waits.Reader{}, reading: &reading.Reading{}}
	s.reading.Facts = reading.Facts{Variants: []reading.Variant{{Name: "run", Seeds: 1}}, Told: "run",
		Limits: []reading.Port{{Place: reading.Place{From: "tor0", To: "h0", RateBPS: 100e9}, Full: true, Use: []reading.Use{{Variant: "run", Utilisation: 0.99, MeanQueueBytes: 80_000}}}}}
	for range 8 {
		s.Blame = append(s.Blame, Blame{Variant: "run", Transfer: "1-0", ToUS: 1000, UnloadedUS: 100, Kind: Incast, Port: "tor0-h0", Node: "tor0", Dst: "h0", Sources: 8, By: ByQueues})
		s.reading.Completion = append(s.reading.Completion, reading.Completion{Flow: "1-0"})
	}
	return s
}

// ofJob is a run of a job in two variants, the second of which has slower steps.
func ofJob(kind Kind) *Section {
	s := &Section{waits: &waits.Reader{Jobs: []*waits.Job{{}}}, reading: &reading.Reading{}}
	s.reading.Facts = reading.Facts{Variants: []reading.Variant{{Name: "a"}, {Name: "b"}}, Told: "b"}
	s.Blame = []Blame{{Variant: "a", Job: "gpt", Step: 1, Collective: "dp", ToUS: 900, UnloadedUS: 100, Kind: Edge, WaitUS: 800},
		{Variant: "b", Job: "gpt", Step: 1, Collective: "dp", ToUS: 500, UnloadedUS: 100, Kind: kind, Port: "tor0-agg0", Node: "h7", Rank: 7, Src: "h1", Dst: "h2", WaitUS: 300, Other: 1, Free: 1, Freest: "tor0-agg1", By: ByCSIG},
		{Variant: "b", Job: "gpt", Step: 1, Collective: "dp", ToUS: 400, UnloadedUS: 100, Kind: Edge, Port: "tor0-h2", WaitUS: 30, By: ByCSIG}}
	return s
}

// The sentences say where time was lost, and to whom; what is not known has none.
func TestTell(t *testing.T) {
	open := ofTransfers()
	open.Blame[0].Open, open.reading.Limits = true, nil
	held := ofJob(Core)
	held.Blame[1].By, held.Blame[1].Free = ByQueues, 0
	one := ofJob(Core)
	one.Blame[2].Kind, one.Blame[2].Free = Core, 0
	for _, c := range []struct {
		name string
		s    *Section
		want []string // parts, in their order
		not  string
	}{
		{"incast", ofTransfers(), []string{"8 hosts send to h0 at once (incast), and the last link to it, tor0 → h0, is 99 % busy, with a mean queue of 80\u00a0kB (6.4\u00a0µs).", "Flow 1-0 fares worst: it takes 1\u00a0ms instead of 100\u00a0µs on an idle fabric."}, "deepest"},
		{"no full port", open, []string{"Flow 1-0 fares worst: it is not done after 1\u00a0ms."}, "incast"},
		{"job", ofJob(Core), []string{"In b 1 of the 2 slowest collectives waits longest at ports within the fabric, most of all at tor0-agg0; in 1 case another path was free.",
			"The worst of them, dp of gpt, step 1, group 0, takes 500\u00a0µs instead of 100\u00a0µs on an idle fabric; messages from h1 to h2 wait longest."}, "queues"},
		{"all of a kind", one, []string{"In b the 2 slowest collectives wait longest at ports"}, " of the 2"},
		{"no samples", held, []string{"no other path was free.", "Places in b are those of the deepest queues, as it has no CSIG samples."}, "1 case"},
		{"straggler", ofJob(Rank), []string{"waits longest for a rank that comes late or computes longer than others, most of all for rank 7 (h7).", "because rank 7 (h7) comes late or computes long."}, "free"},
		{"NIC", ofJob(NIC), []string{"in the sender's own NIC, behind its other messages, most of all at h7."}, "free"},
	} {
		var story section.Story
		c.s.Tell(&story)
		text := strings.Join(story.Sentences(), " ")
		rest := text
		for _, part := range c.want {
			at := strings.Index(rest, part)
			if at < 0 {
				t.Fatalf("%s: %q lacks %q", c.name, text, part)
			}
			rest = rest[at+len(part):]
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%s: %q has %q", c.name, text, c.not)
		}
	}
	var story section.Story
	empty := &Section{waits: &waits.Reader{}, reading: &reading.Reading{}}
	if empty.Tell(&story); story.Sentences() != nil || empty.Parts() != nil {
		t.Errorf("of nothing there are %q and %+v", story.Sentences(), empty.Parts())
	}
}

// Of many alike few are listed, each in the row of its variant, and the note says so.
func TestTable(t *testing.T) {
	s := ofJob(Core)
	for range 5 {
		s.Blame = append(s.Blame, s.Blame[1])
	}
	p := s.Parts()[0]
	table := p.Blocks[0].(*section.Table)
	if p.Level != section.Loud || p.Title != "Where slow collectives waited" || !strings.HasPrefix(p.Says, "In b 6 of the 7 slowest") {
		t.Errorf("%+v", p)
	}
	if len(table.Rows) != 1+maxAlike || table.Rows[0].Variant != "b" || table.Rows[3].Variant != "a" || !strings.Contains(table.Note, "and 3 of a collective; report --json has up to 20.") {
		t.Errorf("%d rows; %s", len(table.Rows), table.Note)
	}
	if text, want := sectiontest.Text(&p), "tor0-agg0: within the fabric | 300\u00a0µs (0 %) | "; !strings.Contains(text, want) || !strings.Contains(text, "1 of 1 others free, tor0 → agg1 used to 0 %") {
		t.Errorf("no %q in %s", want, text)
	}
	transfers := ofTransfers()
	if p := transfers.Parts()[0]; p.Level != section.Telling || p.Title != "Where slow transfers waited" {
		t.Errorf("%s %d", p.Title, p.Level)
	}
	for i := range transfers.Blame {
		transfers.Blame[i].Kind = Core
	}
	if p := transfers.Parts()[0]; p.Level != section.Plain {
		t.Errorf("transfers that wait where they must: level %d", p.Level)
	}
}

func TestPortName(t *testing.T) {
	for port, want := range map[string]string{"tor0-agg0": "tor0 → agg0", "tor0:1-agg0": "tor0:1-agg0"} {
		if got := (&Blame{Node: "tor0", Port: port}).port(); got != want {
			t.Errorf("%s: %s, want %s", port, got, want)
		}
	}
}
