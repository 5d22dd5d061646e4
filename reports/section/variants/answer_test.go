package variants

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
)

// tell returns the answer and the price.
func tell(s *Section) []string {
	var story section.Story
	s.Tell(&story)
	return story.Sentences()
}

// The demo: what CSIG makes better, what worse, and why; and what it leaves as it is.
func TestDemo(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Rates["csig-wide"], e.Queues["csig-wide"] = e.Rates["baseline"], e.Queues["baseline"]
	e.Queues["csig"] = [2]float64{96, 131}
	e.Early = map[string]int{"csig": 240}
	e.Trims = map[string]float64{"baseline": 27, "csig": 27, "csig-wide": 27}
	s := settled(t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[1].CSIG, m.Variants[2].CSIG = "compact", "wide"
	}))
	text := strings.Join(s.Findings(), "\n")
	for _, want := range []string{
		"CSIG (csig against baseline). Better: the rate of the slowest flow (17.7 → 30.1\u00a0Gb/s, +70\u00a0%); worse: mean FCT (24 → 26.7\u00a0ms, +11\u00a0%) and the mean queue of s1 → s2 (87.7 → 131\u00a0kB, +4",
		"; no difference: p99 FCT, trims and retransmissions.",
		"Why: flow 0-3, which crosses both bottlenecks, gains 12.4\u00a0Gb/s and completes at about the same time; flows 0-1 and 2-3, which cross one each, lose 12.",
		"\u00a0Gb/s each and complete 20\u00a0% later. The mean queue of s1 → s2 grows the most, from 88\u00a0kB (7\u00a0µs) to 131\u00a0kB (10.4\u00a0µs): it comes to the 10.5\u00a0µs of queueing delay that CC steers to.",
		"CSIG made no difference here. From baseline to csig-wide, figures differ by less than their seeds do, or by less than 1\u00a0%: mean FCT (24 → 24\u00a0ms), p99 FCT (32 → 32\u00a0ms), the rate of the slowest flow (17.7 → 17.7\u00a0Gb/s), the mean queue of s1 → s2 (87.7 → 87.7\u00a0kB), trims (27 → 27) and retransmissions (27 → 27).",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
	want := []string{"With CSIG (csig), flow 0-3, which crosses both bottlenecks, gets 30.1 instead of 17.7\u00a0Gb/s in baseline; the other 2 now get on average 2.31 times as much, not 4.63 times; in csig-wide it is 4.63 times.",
		"The price: the mean completion time rises from 24 to 26.7\u00a0ms (+11\u00a0%) and the mean queue of s1 → s2 rises from 87.7 to 131\u00a0kB (+49\u00a0%)."}
	if diff := cmp.Diff(tell(s), want); diff != "" {
		t.Errorf("story (-got +want):\n%s", diff)
	}
	p := sectiontest.Part(s.Parts(), "compared")
	if p == nil || p.Level != section.Loud || p.Says != "Against baseline, csig is better in the rate of the slowest flow, and worse in mean FCT and the mean queue of s1 → s2." {
		t.Fatalf("part %+v", p)
	}
	rows := p.Blocks[0].(*section.Table).Rows
	if got, want := rows[0].Cells, []section.Cell{{Text: "Mean FCT"}, {Text: "24\u00a0ms"}, {Text: "26.7\u00a0ms, +11\u00a0% ✗ worse", State: section.Bad}, {Text: "24\u00a0ms"}}; !cmp.Equal(got, want) {
		t.Errorf("row %v, want %v", got, want)
	}
	if got := rows[2].Cells[2]; got.State != section.Good || !strings.HasSuffix(got.Text, "✓ better") {
		t.Errorf("rate %v", got)
	}
}

// two returns a section of two variants, a and b.
func two(change func(*Section)) *Section {
	s := &Section{r: &reading.Reading{Manifest: &runfolder.Manifest{}, Summary: &runfolder.Summary{}}}
	s.r.Variants = []reading.Variant{{Name: "a", CSIG: reading.NoCSIG}, {Name: "b", CSIG: reading.NoCSIG}}
	change(s)
	return s
}

func side(v float64, seeds int) Side {
	return Side{Median: v, Seeds: reading.Spread{Count: seeds, Min: v, Max: v}}
}

// times are mean and p99 FCT of both variants.
func times(of [4]float64, mean, tail Effect) []Quantity {
	one := func(name string, a, b float64, o Effect) Quantity {
		return Quantity{Name: name, Unit: "µs", Base: side(a, 1), Value: side(b, 1), Change: b/a - 1, Outcome: o}
	}
	return []Quantity{one("fct_us.mean", of[0], of[1], mean), one("fct_us.p99", of[2], of[3], tail)}
}

// Without a cause in the figures there is none in the report, and one seed does not say
// how much seeds differ.
func TestNoCause(t *testing.T) {
	d := Difference{Variant: "b", Quantities: times([4]float64{100, 90, 300, 301}, Better, Same)[:1]}
	s := two(func(s *Section) { s.Differences = []Difference{d} })
	want := []string{"Variant b against a. Better: mean FCT (100 → 90\u00a0µs, −10\u00a0%). One seed does not say how much seeds differ."}
	if diff := cmp.Diff(s.Findings(), want); diff != "" {
		t.Errorf("findings (-got +want):\n%s", diff)
	}
	// Of many flows the report counts those that change.
	d.Flows.Common = 240
	d.Quantities[0].Outcome = Worse
	d.Flows.Later = []FlowChange{{Flow: "x", Base: 10, Value: 12}, {Flow: "y", Base: 10, Value: 11}}
	s.Differences[0] = d
	if got, want := s.Findings()[1], "Of 240 flows, b completes none sooner and 2 later (by 15\u00a0% in the median) than a, by more than their seeds differ."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A comparison says what limits its meaning.
func TestCautions(t *testing.T) {
	s := two(func(s *Section) {
		s.Differences = []Difference{{Variant: "b", OtherFlows: true, OtherCompleted: true,
			Quantities: []Quantity{{Name: "trims", Unit: "packets", Base: side(1, 2), Value: side(1, 2), Outcome: Worse}}}}
	})
	const want = "The variants a and b have different flows, and figures over all flows differ for that reason too. Mean and p99 FCT are not compared, because not every run completed the same flows."
	if got := s.Findings()[0]; !strings.HasSuffix(got, ". "+want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got := tell(s)[0]; !strings.HasPrefix(got, "Variant b, which has other flows, makes no difference to ") {
		t.Errorf("story %q", got)
	}
	s.Differences[0].Quantities[0].Outcome = Same
	if got := s.Findings()[0]; !strings.HasSuffix(got, ". "+want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
}

// The answer says what the change did to what is there: completion times, steps of jobs and
// what they wait for, messages; the time that faults cost; how many flows complete.
func TestAnswer(t *testing.T) {
	times := func(variant string, csig bool, q []Quantity) Difference {
		return Difference{Variant: variant, CSIG: csig, Quantities: q}
	}
	step := func(job, variant, base string, a, b float64, o Effect, csig bool) StepChange {
		return StepChange{Job: job, Variant: variant, Base: base, CSIG: csig, Quantity: Quantity{Name: "iteration_us.mean." + job, Unit: "µs", Base: side(a, 3), Value: side(b, 3), Change: b/a - 1, Outcome: o}}
	}
	part := func(s *Section, i int, name string, us float64) {
		s.r.Variants[i].Metrics = append(s.r.Variants[i].Metrics, reading.Metric{Name: name, Median: &us})
	}
	third := func(s *Section) {
		s.r.Variants = append(s.r.Variants, reading.Variant{Name: "c", CSIG: "wide"})
	}
	for _, c := range []struct {
		name string
		s    *Section
		want []string
	}{
		{"tail", two(func(s *Section) {
			s.Differences = []Difference{times("b", false, append(timesOf(100, 90, 300, 200, Better, Better), Quantity{Name: "trims", Unit: "packets", Base: side(5, 3), Value: side(50, 3), Change: 9, Outcome: Worse}, Quantity{Name: "packets.retransmitted", Unit: "packets", Base: side(5, 3), Value: side(50, 3), Change: 9, Outcome: Worse}))}
		}), []string{"In b, the tail completion time (p99) is 200\u00a0µs instead of 300\u00a0µs in a (−33\u00a0%), and the mean 90\u00a0µs instead of 100\u00a0µs (−10\u00a0%).", "The price: trims and retransmissions rise from 5 to 50 (+900\u00a0%)."}},
		{"nothing", two(func(s *Section) {
			s.Differences = []Difference{times("b", false, timesOf(100, 100.1, 300, 299, Same, Same))}
		}), []string{"Variant b makes no difference to completion times: the tail completion time (p99) is 299\u00a0µs instead of 300\u00a0µs in a (−0.3\u00a0%), and the mean 100\u00a0µs as before (+0.1\u00a0%)."}},
		{"CSIG does nothing, another much", two(func(s *Section) {
			third(s)
			s.Differences = []Difference{times("b", false, timesOf(100, 50, 300, 100, Better, Better)), times("c", true, timesOf(100, 100, 300, 300, Same, Same))}
		}), []string{"In b, the tail completion time (p99) is 100\u00a0µs instead of 300\u00a0µs in a (−67\u00a0%), and the mean 50\u00a0µs instead of 100\u00a0µs (−50\u00a0%); CSIG (c) makes no difference to completion times: it is 300\u00a0µs."}},
		{"steps", two(func(s *Section) {
			third(s)
			part(s, 0, "exposed_us.mean.gpt", 500)
			part(s, 1, "exposed_us.mean.gpt", 100)
			s.Steps = []StepChange{step("gpt", "b", "a", 1000, 600, Better, false), step("gpt", "c", "a", 1000, 900, Better, false)}
		}), []string{"In b, a step of job gpt takes 600\u00a0µs instead of 1\u00a0ms in a (−40\u00a0%), because the ranks wait 100\u00a0µs for the network instead of 500\u00a0µs; in c it takes 900\u00a0µs (−10\u00a0%)."}},
		{"many variants", two(func(s *Section) {
			third(s)
			s.r.Variants = append(s.r.Variants, reading.Variant{Name: "d"}, reading.Variant{Name: "e"})
			s.Steps = []StepChange{step("gpt", "b", "a", 1000, 600, Better, false), step("gpt", "c", "a", 1000, 900, Better, false), step("gpt", "d", "a", 1000, 1000, Same, false), step("gpt", "e", "a", 1000, 1100, Worse, false)}
		}), []string{"In b, a step of job gpt takes 600\u00a0µs instead of 1\u00a0ms in a (−40\u00a0%); of the other 3 variants 1 gains and 1 loses."}},
		{"CSIG alone among steps", two(func(s *Section) {
			third(s)
			s.Steps = []StepChange{step("gpt", "b", "a", 1000, 2000, Worse, false), step("gpt", "c", "a", 1000, 1500, Worse, false), step("gpt", "c", "b", 2000, 1500, Better, true)}
		}), []string{"With CSIG (c), a step of job gpt takes 1.5\u00a0ms instead of 2\u00a0ms in b (−25\u00a0%); but in b, a step of job gpt takes 2\u00a0ms instead of 1\u00a0ms in a (+100\u00a0%)."}},
		{"a job pays", two(func(s *Section) {
			s.Steps = []StepChange{step("one", "b", "a", 1000, 600, Better, false), step("two", "b", "a", 1000, 1200, Worse, false)}
		}), []string{"In b, a step of job one takes 600\u00a0µs instead of 1\u00a0ms in a (−40\u00a0%).", "The price: a step of job two takes 1.2\u00a0ms instead of 1\u00a0ms (+20\u00a0%)."}},
		{"seeds differ more", two(func(s *Section) {
			s.Steps = []StepChange{step("one", "b", "a", 1000, 1050, Same, false)}
		}), []string{"Variant b makes no difference to steps: a step of job one takes 1.05\u00a0ms instead of 1\u00a0ms in a (+5\u00a0%, less than the seeds differ)."}},
		{"messages", two(func(s *Section) {
			s.r.Manifest.Jobs = []runfolder.Job{{Name: "rpc", Steps: 1, Collectives: []runfolder.Collective{{Kind: "send_recv"}}}}
			s.r.Summary.Variants = map[string]runfolder.VariantSummary{"a": {Runs: []runfolder.RunSummary{{Metrics: map[string]float64{"message_us.p50.rpc": 100}}}}, "b": {Runs: []runfolder.RunSummary{{Metrics: map[string]float64{"message_us.p50.rpc": 50}}}}}
			s.Steps = []StepChange{step("rpc", "b", "a", 1000, 990, Same, false)}
		}), []string{"In b, the median message of job rpc takes 50\u00a0µs instead of 100\u00a0µs in a (−50\u00a0%)."}},
		{"faults cost", two(func(s *Section) {
			third(s)
			for _, v := range []string{"b", "c"} {
				s.r.Faults = append(s.r.Faults, reading.Fault{Variant: v, Fault: runfolder.Fault{What: "2 links down", Happened: true}})
			}
			s.Differences = []Difference{times("b", false, timesOf(100, 150, 300, 500, Worse, Worse)), times("c", false, timesOf(100, 120, 300, 400, Worse, Worse))}
		}), []string{"Without a fault, in a, the tail completion time (p99) is 300\u00a0µs; the best variant has 400\u00a0µs with 2 links down (c, +33\u00a0%)."}},
		{"a fault in all", two(func(s *Section) {
			for _, v := range []string{"a", "b"} {
				s.r.Faults = append(s.r.Faults, reading.Fault{Variant: v, Fault: runfolder.Fault{What: "2 links down", Happened: true}})
			}
			s.Differences = []Difference{times("b", false, timesOf(100, 50, 300, 200, Better, Better))}
		}), []string{"With 2 links down in all variants, in b, the tail completion time (p99) is 200\u00a0µs instead of 300\u00a0µs in a (−33\u00a0%), and the mean 50\u00a0µs instead of 100\u00a0µs (−50\u00a0%)."}},
		{"open flows", two(func(s *Section) {
			s.r.Progress = []reading.Progress{{Variant: "a", Flows: 32, Completed: 2}, {Variant: "b", Flows: 32, Completed: 12}}
			s.Differences = []Difference{{Variant: "b", OtherCompleted: true, Quantities: []Quantity{{Name: "trims", Unit: "packets", Base: side(5, 1), Value: side(5, 1), Outcome: Same}}}}
		}), []string{"In b, 12 of 32 flows complete instead of 2 of 32 in a.", "No price is seen: trims are not worse."}},
		{"one variant", two(func(s *Section) { s.r.Variants = s.r.Variants[:1] }), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(tell(c.s), c.want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

func timesOf(mean, meanB, tail, tailB float64, m, p Effect) []Quantity {
	return times([4]float64{mean, meanB, tail, tailB}, m, p)
}

// A mean that falls hides the one transfer that pays for it.
func TestVictim(t *testing.T) {
	us := func(v float64) *float64 { return &v }
	s := two(func(s *Section) {
		s.r.Completion = []reading.Completion{
			{Flow: "gains", Variants: []reading.Times{{MedianUS: us(100)}, {MedianUS: us(50)}}},
			{Flow: "pays", Variants: []reading.Times{{MedianUS: us(20)}, {MedianUS: us(250)}}},
			{Flow: "open", Variants: []reading.Times{{MedianUS: us(1)}, {}}},
			{Flow: "little", Variants: []reading.Times{{MedianUS: us(20)}, {MedianUS: us(39)}}},
		}
	})
	d := &Difference{Variant: "b"}
	if got, want := s.pays(s.victim(d), "b"), "flow pays takes 250\u00a0µs in b instead of 20\u00a0µs"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.r.Variants = append(s.r.Variants, reading.Variant{Name: "c"})
	s.r.Completion[1].Variants = append(s.r.Completion[1].Variants, reading.Times{MedianUS: us(21)})
	if got := s.pays(s.victim(d), "b"); !strings.HasSuffix(got, " (in c 21\u00a0µs)") {
		t.Errorf("got %q, want the variant in which the flow does not pay", got)
	}
	s.Differences = []Difference{{Variant: "b", Quantities: timesOf(100, 50, 300, 200, Better, Better), Flows: Changes{Later: []FlowChange{{Flow: "pays"}}}}}
	if got, want := tell(s)[0], "; but flow pays takes 250\u00a0µs in b instead of 20\u00a0µs (in c 21\u00a0µs)."; !strings.HasSuffix(got, want) {
		t.Errorf("answer %q, want %q at its end", got, want)
	}
	rows := s.compared().Rows
	if got := rows[len(rows)-1].Cells; got[0].Text != "Completion time of flow pays" || got[2].State != section.Bad {
		t.Errorf("row %v", got)
	}
	s.r.Completion = slices.Delete(s.r.Completion, 1, 2)
	if got := s.victim(d); got != nil {
		t.Errorf("got %v of transfers that take less than twice as long", got)
	}
}

// The JSON form has what it had: the steps against another variant have its name as base.
func TestJSON(t *testing.T) {
	s := two(func(s *Section) {
		s.Steps = []StepChange{{Job: "j", Variant: "b", Base: "a", CSIG: true, Quantity: Quantity{Name: "x", Unit: "µs", Outcome: Same}}}
	})
	var got struct {
		Findings struct {
			Differences []Difference
			Steps       []struct{ Job, Variant, Base, Outcome string }
		}
	}
	if err := json.Unmarshal([]byte(sectiontest.JSON(t, s)), &got); err != nil || len(got.Findings.Steps) != 1 || got.Findings.Steps[0].Base != "a" || got.Findings.Steps[0].Outcome != "same" {
		t.Errorf("error %v, %+v", err, got)
	}
}
