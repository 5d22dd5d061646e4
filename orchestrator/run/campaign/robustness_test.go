package campaign

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// robustLevers are the rows of the tables of docs/explanation/jobs.md#robustness: how each lever is
// written in an experiment with the jobs of robust.
var robustLevers = []struct{ name, variant, values string }{
	{"dcqcn, equal timers", "equal", `{}`},
	{"dcqcn, 100 against 125 us", "timers", `{hosts.policies: [{match: {jobs: [0]}, cc: {timer: 100us}}]}`},
	{"dcqcn, adaptive", "adaptive", `{hosts.cc.adaptive: true}`},
	{"mltcp around dctcp", "mltcp", `{hosts.cc: {name: mltcp, wrap: dctcp}, hosts.recovery: selective, links.ecn: {low: 20kB, high: 21kB}}`},
	{"strict priorities", "strict", `{classes: [{name: first, dscp: 20, strict: true, lossless: true, match: {jobs: [0]}}, {name: default, lossless: true}]}`},
	{"slots", "slots", `{jobs.0.schedule.period: 262ms, jobs.1.schedule: {period: 262ms, offset: 10ms}JOBS}`},
}

// robust is an experiment of VGG16 twice, which keep apart until something happens: the
// second starts half a period behind. The link has a 25th of 50 Gb/s.
func robust(jitter string, pause string, others ...string) string {
	var variants strings.Builder
	for _, l := range robustLevers {
		more := ""
		if len(others) > 0 {
			more = ", jobs.2.schedule: {period: 262ms, offset: 10ms}"
		}
		fmt.Fprintf(&variants, "  %s: %s\n", l.variant, strings.ReplaceAll(l.values, "JOBS", more))
	}
	steps := 30
	if len(others) > 0 {
		steps = 4
	}
	return fmt.Sprintf(`schema: 1
name: robust
topology: {dumbbell: {left: 2, right: 2, rate: 2Gbps, delay: 1us}}
links: {trim: false, queue: 1MB, ecn: {low: 200B, high: 780kB}}
jobs:
  - {name: first, hosts: [0, 2], steps: 30, jitter: %[1]s, profile: {compute: 141ms, bytes: 27.9MB, pairs: true}}
  - {name: second, hosts: [1, 3], start: 131ms, steps: %[2]d, jitter: %[1]s, profile: {compute: 141ms, bytes: 27.9MB, pairs: true}%[3]s}
%[4]s
hosts: {cc: {name: dcqcn, timer: 125us}, recovery: go_back_n, min_rto: 1s}
telemetry: {interval: 100ms}
seeds: 1..5
variants:
%[5]s`, jitter, steps, pause, strings.Join(others, "\n"), variants.String())
}

// together returns of each phase of a job which share of it overlaps with those of others.
// The jobs are pairs: a phase begins when the sender enters it, rank 0. A receiver that waits
// for a late sender disturbs nobody.
func together(jobs map[string][]phase, name string) (shares []float64) {
	for _, p := range jobs[name] {
		both := 0.0
		for other, list := range jobs {
			if other == name {
				continue
			}
			for _, q := range list {
				both += max(0, min(p.end, q.end)-max(p.first, q.first)) // phases of the others do not overlap with one another
			}
		}
		shares = append(shares, both/(p.end-p.first))
	}
	return shares
}

// overlaps is from which share on phases are together.
const overlaps = 0.05

// never is how many iterations it takes of phases that meet to the end.
const never = 1000

// againApart returns how many iterations it takes from one on, counted from 0, until the
// phases of a job are apart for good.
func againApart(shares []float64, from int) int {
	last := from - 1
	for k := from; k < len(shares); k++ {
		if shares[k] >= overlaps {
			last = k
		}
	}
	if last == len(shares)-1 {
		return never
	}
	return last + 1 - from
}

// spread returns the median and the most of counts in words.
func spread(counts []int) string {
	slices.Sort(counts)
	word := func(n int) string {
		if n == never {
			return "never"
		}
		return fmt.Sprint(n)
	}
	middle, most := word(counts[len(counts)/2]), word(counts[len(counts)-1])
	if middle == most {
		return middle
	}
	return middle + ", up to " + most
}

// Issue 17, Must show 6: how long until phases are apart again, in packets. The table in
// docs/explanation/jobs.md is what this test measures.
func TestRobustness(t *testing.T) {
	if os.Getenv("CSIGLAB_E2E") == "" {
		t.Skip("set CSIGLAB_E2E=1: it takes a minute")
	}
	checkout.SkipSlowRace(t)
	guide, err := os.ReadFile("../../../docs/explanation/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, jitter := range []string{"0.01", "0.03", "0.05"} {
		runs := phases(t, parseText(t, robust(jitter, "")))
		for _, l := range robustLevers {
			count, all, times := 0, 0, 0.0
			for _, jobs := range runs[l.variant] {
				slower := 0.0
				for _, name := range []string{"first", "second"} {
					for _, share := range together(jobs, name) {
						if all++; share >= overlaps {
							count++
						}
					}
					list := jobs[name]
					slower = max(slower, (list[len(list)-1].begin-list[0].begin)/float64(len(list)-1)/1000)
				}
				times += slower / float64(len(runs[l.variant]))
			}
			rows[l.name] = append(rows[l.name], fmt.Sprintf("%.0f %%; %.1f ms", 100*float64(count)/float64(all), times))
		}
	}
	again := func(text, job string, from int) {
		runs := phases(t, parseText(t, text))
		for _, l := range robustLevers {
			var counts []int
			for _, jobs := range runs[l.variant] {
				counts = append(counts, againApart(together(jobs, job), from))
			}
			rows[l.name] = append(rows[l.name], spread(counts))
		}
	}
	again(robust("0.002", ", stragglers: [{rank: 0, pause: 60ms, step: 4}]"), "second", 4)
	again(robust("0.002", "", "  - {name: third, hosts: [1, 3], start: 1335ms, steps: 26, jitter: 0.002, profile: {compute: 141ms, bytes: 27.9MB, pairs: true}}"), "third", 0)
	for _, l := range robustLevers {
		row := fmt.Sprintf("| %s | %s |", l.name, strings.Join(rows[l.name], " | "))
		if !strings.Contains(string(guide), "\n"+row+"\n") {
			t.Errorf("docs/explanation/jobs.md has no row\n%s", row)
		}
	}
}
