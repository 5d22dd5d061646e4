package fluid_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/fluid"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/jitter"
)

// levers are the rows of the tables in docs/explanation/jobs.md: what sets two VGG16 apart.
var levers = []struct {
	name string
	law  fluid.Sharing
	set  func(i int, j *fluid.Job) // of the first or second job
}{
	{"equal shares", fluid.Weighted, func(int, *fluid.Job) {}},
	{"weights 1.25 : 1", fluid.Weighted, func(i int, j *fluid.Job) { j.Weight = 1.25 - 0.25*float64(i) }},
	{"weights 2 : 1", fluid.Weighted, func(i int, j *fluid.Job) { j.Weight = 2 - float64(i) }},
	{"adaptive, 1 + sent/total", fluid.Adaptive, func(int, *fluid.Job) {}},
	{"MLTCP, 0.25 + 1.75 sent/total", fluid.MLTCP, func(int, *fluid.Job) {}},
	{"strict priorities", fluid.Strict, func(i int, j *fluid.Job) { j.Priority = -i }},
	{"slots, equal shares", fluid.Weighted, func(i int, j *fluid.Job) { j.Schedule = slots(i, 9) }},
	{"slots with a correction of half a period", fluid.Weighted, func(i int, j *fluid.Job) { j.Schedule = slots(i, 5) }},
	{"first come, a later one has the weight 0.25", fluid.Incumbent(0.25), func(int, *fluid.Job) {}},
	{"remaining bytes, 0.25 + 1.75 in the last half", fluid.Remaining(0.25, 1.75, float64(ms(57))), func(int, *fluid.Job) {}},
}

// slots returns the schedule of the first or second job: 2 % longer than an iteration, with
// a correction of so many tenths of it.
func slots(i int, tenths units.Duration) graph.Schedule {
	period := ms(260.1)
	return graph.Schedule{Period: period, Offset: (ms(141) + units.Duration(i)*period/2) % period, Correction: period / 10 * tenths}
}

// pair returns two VGG16 under a lever, the second one 0.1 ms later.
func pair(lever int) []fluid.Job {
	set := repeat(2, 141, 114)
	set[1].Offset = ms(0.1)
	for i := range set {
		levers[lever].set(i, &set[i])
	}
	return set
}

// until returns from which iteration on, counted from the first given one, a job stays
// apart, within those that begin before a time; never if it does not.
func until(all []fluid.Iteration, from int, before units.Time) int {
	last := from - 1
	for k := from; k < len(all) && all[k].Begin < before; k++ {
		if all[k].Overlap() >= fluid.Together {
			last = k
		}
	}
	if last == len(all)-1 || all[last+1].Begin >= before {
		return neverApart
	}
	return last + 1 - from
}

const neverApart = 1 << 20

// spread returns the median and the most of counts in words.
func spread(counts []int) string {
	slices.Sort(counts)
	word := func(n int) string {
		if n == neverApart {
			return "never"
		}
		return fmt.Sprint(n)
	}
	middle, most := word(counts[len(counts)/2]), word(counts[len(counts)-1])
	switch {
	case middle == most:
		return middle
	case counts[len(counts)-1] == neverApart:
		return middle + ", or never"
	}
	return middle + ", up to " + most
}

// apartTable computes what the first table of docs/explanation/jobs.md says: of iterations that
// overlap until the phases are apart.
func apartTable(t *testing.T) []string {
	rows := []string{"| lever | from a common start | after a pause | after a new job comes |", "|---|---|---|---|"}
	const iterations, event = 200, 40
	for lever := range levers {
		run := func(set []fluid.Job) fluid.Result {
			r, err := fluid.Solve(set, levers[lever].law, iterations)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		r := run(pair(lever))
		end := min(r[0][iterations-1].End, r[1][iterations-1].End)
		start := max(until(r[0], 0, end), until(r[1], 0, end))
		var pauses, comers []int
		for pause := 10; pause <= 250; pause += 10 {
			set := pair(lever)
			set[1].Jitter.Pauses = []jitter.Pause{{Step: event, Duration: ms(float64(pause))}}
			r := run(set)
			end := min(r[0][iterations-1].End, r[1][iterations-1].End)
			pauses = append(pauses, until(r[1], event, end))
			// The second job ends, and one like it comes at another time of the period.
			set = append(pair(lever), pair(lever)[1])
			set[1].Iterations = event
			set[2].Offset = ms(12_000 + float64(pause))
			r = run(set)
			end = min(r[0][iterations-1].End, r[2][iterations-1].End)
			comers = append(comers, until(r[2], 0, end))
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", levers[lever].name, spread([]int{start}), spread(pauses), spread(comers)))
	}
	return rows
}

// jitterTable computes what the second table says: of jobs whose compute times vary.
func jitterTable(t *testing.T) []string {
	rows := []string{"| lever | 1 % | 3 % | 5 % |", "|---|---|---|---|"}
	const iterations, settled, seeds = 550, 50, 20
	for lever := range levers {
		row := "| " + levers[lever].name
		for _, variation := range []float64{0.01, 0.03, 0.05} {
			overlapping, episodes, all := 0, 0, 0
			var time [2]units.Duration
			for seed := range uint64(seeds) {
				set := pair(lever)
				for i := range set {
					set[i].Jitter.Variation, set[i].Seed, set[i].Iterations = variation, seed<<8+uint64(i), iterations
				}
				r, err := fluid.Solve(set, levers[lever].law, iterations)
				if err != nil {
					t.Fatal(err)
				}
				for i := range set {
					for k := settled; k < iterations-settled; k++ { // when both jobs are there
						all++
						if r[i][k].Overlap() >= fluid.Together {
							overlapping++
							if r[i][k-1].Overlap() < fluid.Together {
								episodes++
							}
						}
					}
					time[i] += r[i][iterations-settled].Begin.Sub(r[i][settled].Begin)
				}
			}
			slower := max(time[0], time[1]) / units.Duration(seeds*(iterations-2*settled))
			long := ""
			switch {
			case episodes > 0:
				long = fmt.Sprintf(", for %.1f", float64(overlapping)/float64(episodes))
			case overlapping > 0:
				long = ", for ever"
			}
			row += fmt.Sprintf(" | %.0f %%%s; %.1f ms", 100*float64(overlapping)/float64(all), long, float64(slower)/float64(units.Millisecond))
		}
		rows = append(rows, row+" |")
	}
	return rows
}

// The tables of docs/explanation/jobs.md are what the model computes.
func TestTablesOfTheGuide(t *testing.T) {
	checkout.SkipSlowRace(t)
	text, err := os.ReadFile("../../docs/explanation/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]string{apartTable(t), jitterTable(t)} {
		if table := strings.Join(rows, "\n"); !strings.Contains(string(text), "\n\n"+table+"\n\n") {
			t.Errorf("docs/explanation/jobs.md lacks this table:\n%s", table)
		}
	}
}

// Slots do not drift over 1000 iterations with jitter of 3 %, and offsets without slots do.
func TestSlotsDoNotDrift(t *testing.T) {
	const iterations = 1000
	run := func(schedule func(i int) graph.Schedule) fluid.Result {
		// On links of their own: what jitter does to phases, and nothing else.
		n := fluid.Network{Links: []float64{1, 1}, Jobs: repeat(2, 141, 114), Sharing: fluid.Weighted}
		for i := range n.Jobs {
			j := &n.Jobs[i]
			j.Links, j.Jitter.Variation, j.Seed, j.Offset, j.Schedule = []int{i}, 0.03, uint64(i), units.Duration(i)*ms(130), schedule(i)
		}
		return solve(t, &n, iterations)
	}
	r := run(func(i int) graph.Schedule { return slots(i, 9) })
	for i := range r {
		s := slots(i, 9)
		var late [2]units.Duration // of the first and the last 200 iterations
		for k, it := range r[i][:iterations] {
			if k < 200 {
				late[0] += s.Late(it.Communicates) / 200
			} else if k >= iterations-200 {
				late[1] += s.Late(it.Communicates) / 200
			}
		}
		if late[0] > ms(3) || late[1] > ms(3) {
			t.Errorf("job %d is %v late at first, %v in the end", i, late[0], late[1])
		}
		// One slot for each iteration: none is skipped.
		if took, want := r[i][iterations-1].Communicates.Sub(r[i][0].Communicates), s.Period*(iterations-1); took < want-ms(30) || took > want+ms(30) {
			t.Errorf("job %d takes %v for 999 periods of %v, %v", i, took, s.Period, want)
		}
	}
	r = run(func(int) graph.Schedule { return graph.Schedule{} })
	apart := r.Differences(0, 1)
	if least, most := slices.Min(apart), slices.Max(apart); most-least < ms(50) {
		t.Errorf("without slots the phases stay %v to %v apart", least, most)
	}
}
