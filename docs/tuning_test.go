package docs_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/stress"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/programs/programstest"
)

var (
	updateTuning = flag.Bool("update", false, "run what docs/reference/tuning.md lacks, and write the page")
	anewTuning   = flag.Bool("anew", false, "with -update: run everything")
)

const (
	tuningPage = "reference/tuning.md"
	// mostTuningSeeds bounds the unseen seeds of an experiment, which are as many as it has itself.
	mostTuningSeeds = 3
	// sampleTime is the CPU time of a sample of the page's cells, by what all cells took before.
	sampleTime = 15 * time.Second
)

// costly are experiments with runs of ten seconds and more of CPU. They have one unseen seed here.
var costly = []string{"cluster-rotation", "collective", "flow-scheduling", "priorities", "table-1"}

// TestTuning holds that docs/reference/tuning.md is about the shipped experiments as they are, and that
// a sample of its cells comes out as it says.
func TestTuning(t *testing.T) {
	_, _, behind := checkout.Page(t, tuningPage)
	var sections []*tuningSection
	for _, name := range experiment.Names() {
		s := loadTuning(t, name)
		if *anewTuning || !s.take(behind) {
			if !*updateTuning {
				t.Fatalf("docs/%s is not about %s as it is: its values, its expectations or what was chosen have changed; run make tuning, which runs what has changed", tuningPage, name)
			}
			s.run(t)
		}
		sections = append(sections, s)
		if *updateTuning { // what has been run is kept when the next one fails
			checkout.Written(t, tuningPage, tuningText(sections)+behindSection(behind, name), true)
		}
	}
	checkout.Written(t, tuningPage, tuningText(sections), *updateTuning)
	if *updateTuning || checkout.Long(t) {
		return
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("the sample is drawn from seed %d", seed)
	type cell struct {
		s       *tuningSection
		setting string
	}
	var cells []cell
	for _, s := range sections {
		for setting := range s.cells {
			cells = append(cells, cell{s, setting})
		}
	}
	slices.SortFunc(cells, func(a, b cell) int { return cmp.Or(cmp.Compare(a.s.name, b.s.name), cmp.Compare(a.setting, b.setting)) })
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(cells), func(i, k int) { cells[i], cells[k] = cells[k], cells[i] })
	left := sampleTime
	for _, c := range cells {
		takes := c.s.took / time.Duration(len(c.s.cells))
		if takes > left || c.s.took == 0 {
			continue
		}
		left -= takes
		r, _ := c.s.stress(t, c.setting)
		if got := c.s.cell(r, c.setting); got != c.s.cells[c.setting] {
			t.Errorf("docs/%s: %s, %s: got %q, and the page says %q", tuningPage, c.s.name, c.setting, got, c.s.cells[c.setting])
		}
	}
}

// tuningSection is what the page says of an experiment.
type tuningSection struct {
	name    string
	set     *experiment.Set
	digest  string // of what decides about the runs
	took    time.Duration
	runs    int
	seeds   string
	cells   map[string]string // by setting
	figures map[string]string // by path of a value: that of its row as it is
}

// loadTuning returns the section of an experiment without cells.
func loadTuning(t *testing.T, name string) *tuningSection {
	t.Helper()
	set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := experiment.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"description", "robust", "published", "tuned", "sweep"} {
		delete(file, key)
	}
	content, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range set.Base.Tuned {
		content = fmt.Appendf(content, "%s %v\n", item.Path, item.Seeds)
	}
	return &tuningSection{name: name, set: set, digest: fmt.Sprintf("%x", sha256.Sum256(content))[:8], cells: map[string]string{}, figures: map[string]string{}}
}

// inVirtualTime reports whether the runs of the experiment can be repeated.
func (s *tuningSection) inVirtualTime() bool {
	return runtimes.Way{Clock: s.set.Base.Clock}.Has(runtimes.SideBySide)
}

// stress runs some settings of the experiment.
func (s *tuningSection) stress(t *testing.T, settings ...string) (r *stress.Result, took time.Duration) {
	t.Helper()
	bin := programstest.Built(t)
	n := min(mostTuningSeeds, len(s.set.Base.Seeds))
	if slices.Contains(costly, s.name) {
		n = 1
	}
	seeds := strconv.Itoa(n)
	cmd := exec.Command(filepath.Join(bin, "csiglab"), "stress", s.name, "--seeds", seeds, "--setting-seeds", seeds, "--json", "--out", t.TempDir())
	for _, setting := range settings {
		cmd.Args = append(cmd.Args, "--setting", setting)
	}
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = environment(bin), &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: a promise is broken
		t.Fatalf("%v: %v\n%s", cmd.Args, err, said.Bytes())
	}
	var results stress.Results
	if err := json.Unmarshal(out, &results); err != nil || len(results.Experiments) != 1 {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return results.Experiments[0], cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // of its runs too
}

// run fills the section.
func (s *tuningSection) run(t *testing.T) {
	t.Helper()
	if !s.inVirtualTime() {
		return
	}
	r, took := s.stress(t, experiment.SeedsSetting, experiment.TunedSetting)
	s.seeds = seedsText(r.Settings[0].Seeds)
	s.took, s.runs = took.Round(time.Second)+time.Second, r.Runs
	s.cells[experiment.SeedsSetting] = s.cell(r, experiment.SeedsSetting)
	for _, item := range s.set.Base.Tuned {
		figure := -1
		for _, by := range experiment.TunedFactors {
			setting := item.Setting(by)
			if figure < 0 {
				figure = s.figureOf(r, setting)
			}
			s.cells[setting] = s.cell(r, setting)
		}
		if figure >= 0 {
			s.figures[item.Path] = fmt.Sprintf("%d: %s", figure+1, number(r.Rows[figure].Cells[0].Figure))
		}
	}
}

func number(v *float64) string { return spelling.Number(*v, true) }

// cellOf returns an expectation under a setting.
func cellOf(r *stress.Result, row int, setting string) *stress.Cell {
	i := slices.IndexFunc(r.Rows[row].Cells, func(c stress.Cell) bool { return c.Setting == setting })
	return &r.Rows[row].Cells[i]
}

// figureOf returns the expectation whose figure stands for a setting: the first one that the setting
// changes, and that compares variants if one does; -1: none has a figure. Counts have none of interest.
func (s *tuningSection) figureOf(r *stress.Result, setting string) int {
	figure, most := -1, 0
	for i, e := range s.set.Expressions().Expect {
		if c := cellOf(r, i, setting); !strings.Contains(e.Text, "==") && c.Figure != nil && min(2, len(e.Variants())) > most {
			figure, most = i, min(2, len(e.Variants()))
		}
	}
	return figure
}

// cell says how many expectations hold of those that a setting changes, and which do not; for a value
// also its figure.
func (s *tuningSection) cell(r *stress.Result, setting string) string {
	held, all := 0, 0
	var not []string
	for i := range r.Rows {
		switch c := cellOf(r, i, setting); c.Verdict {
		case stress.Held:
			held, all = held+1, all+1
		case stress.Failed:
			all++
			not = append(not, strconv.Itoa(i+1))
		case stress.DoesNotApply:
		default: // of all runs alike
			reason := c.Reason[strings.LastIndex(c.Reason, ": ")+1:]
			return fmt.Sprintf("%s: %s", c.Verdict, strings.TrimSpace(strings.ReplaceAll(reason, "|", "/")))
		}
	}
	if all == 0 {
		return "no number"
	}
	text := fmt.Sprintf("%d of %d", held, all)
	if figure := s.figureOf(r, setting); figure >= 0 && setting != experiment.SeedsSetting {
		text += fmt.Sprintf("; %d: %s", figure+1, number(cellOf(r, figure, setting).Figure))
	}
	if len(not) > 0 {
		text += "; **not " + strings.Join(not, ", ") + "**"
	}
	return text
}

// values returns the values of a path, each once.
func (s *tuningSection) values(path string) string {
	var texts []string
	for i := range s.set.Variants {
		for _, o := range s.set.Variants[i].Given(path) {
			if !slices.Contains(texts, o.Value) {
				texts = append(texts, o.Value)
			}
		}
	}
	return strings.Join(texts, ", ")
}

// text returns the section.
func (s *tuningSection) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n", s.name)
	tuned := s.set.Base.Tuned
	switch {
	case len(tuned) == 0:
		b.WriteString("Nothing was chosen. ")
	case !s.inVirtualTime():
		b.WriteString("Not run: no two of its runs are alike. ")
	}
	if s.runs > 0 {
		fmt.Fprintf(&b, "As it is: %s (seeds %s; %s, %v of CPU time). ", s.cells[experiment.SeedsSetting], s.seeds, spelling.Plural(s.runs, "run"), s.took)
	}
	fmt.Fprintf(&b, "Digest %s.\n", s.digest)
	if len(tuned) > 0 {
		b.WriteString("\n| value | chosen on seeds | for | figure | x0.5 | x2 |\n|---|---|---|---|---|---|\n")
	}
	for _, item := range tuned {
		figure := cmp.Or(s.figures[item.Path], "-")
		fmt.Fprintf(&b, "| `%s: %s` | %s | %s | %s |", item.Path, s.values(item.Path), seedsText(item.Seeds), strings.ReplaceAll(item.Why, "|", "/"), figure)
		for _, by := range experiment.TunedFactors {
			fmt.Fprintf(&b, " %s |", cmp.Or(s.cells[item.Setting(by)], "-"))
		}
		b.WriteByte('\n')
	}
	var mentioned []int
	for _, text := range slices.Concat(slices.Collect(maps.Values(s.cells)), slices.Collect(maps.Values(s.figures))) {
		for _, m := range mention.FindAllStringSubmatch(text, -1) {
			for n := range strings.SplitSeq(cmp.Or(m[1], m[2]), ", ") {
				i, _ := strconv.Atoi(n) // digits
				mentioned = append(mentioned, i)
			}
		}
	}
	slices.Sort(mentioned)
	for i, n := range slices.Compact(mentioned) {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %d: `%s`\n", n, strings.Join(strings.Fields(s.set.Base.Expect[n-1]), " "))
	}
	return b.String()
}

// seedsText returns seeds as ranges.
func seedsText(seeds []uint64) string {
	switch n := len(seeds); {
	case n == 0:
		return "none"
	case n > 2 && seeds[n-1]-seeds[0] == uint64(n-1):
		return fmt.Sprintf("%d..%d", seeds[0], seeds[n-1])
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
}

var (
	tuningHead = regexp.MustCompile(`(?:As it is: (.*?) \(seeds (.*?); (\d+) runs?, (\S+) of CPU time\)\. )?Digest ([0-9a-f]{8})\.\n`)
	mention    = regexp.MustCompile(`\*\*not ([0-9, ]+)\*\*|\b([0-9]+): [-0-9]`) // of an expectation
)

// take fills the section with what the page says of the experiment, and reports whether that is about
// the experiment as it is.
func (s *tuningSection) take(page string) bool {
	_, text, found := strings.Cut(page, "\n## "+s.name+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	m := tuningHead.FindStringSubmatch(text)
	if !found || m == nil || m[5] != s.digest || (s.inVirtualTime() && len(s.set.Base.Expect) > 0) == (m[1] == "") {
		return false
	}
	if m[1] != "" {
		s.cells[experiment.SeedsSetting] = m[1]
		s.seeds = m[2]
		s.runs, _ = strconv.Atoi(m[3]) // digits
		s.took, _ = time.ParseDuration(m[4])
	}
	for _, item := range s.set.Base.Tuned {
		_, row, found := strings.Cut(text, fmt.Sprintf("\n| `%s: %s` | ", item.Path, s.values(item.Path)))
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(row, " | ")
		if !found || len(cells) != 5 {
			return false
		}
		if s.runs == 0 {
			continue
		}
		s.figures[item.Path] = cells[2]
		for i, by := range experiment.TunedFactors {
			s.cells[item.Setting(by)] = strings.TrimSuffix(cells[3+i], " |")
		}
	}
	return true
}

// behindSection returns the sections of a page behind that of an experiment in the order of names.
func behindSection(page, name string) string {
	var b strings.Builder
	for _, section := range strings.Split(page, "\n## ")[1:] {
		if head, _, _ := strings.Cut(section, "\n"); head > name {
			b.WriteString("\n## " + section)
		}
	}
	return b.String()
}

// tuningText returns what is written behind the head of the page.
func tuningText(sections []*tuningSection) string {
	values, broken, cells, some := 0, 0, 0, 0
	var b strings.Builder
	for _, s := range sections {
		b.WriteString(s.text())
		for _, item := range s.set.Base.Tuned {
			values++
			breaks := false
			for _, by := range experiment.TunedFactors {
				if text := s.cells[item.Setting(by)]; strings.Contains(text, " of ") {
					cells++
					if strings.Contains(text, "**not") {
						some, breaks = some+1, true
					}
				}
			}
			if breaks {
				broken++
			}
		}
	}
	return fmt.Sprintf("\nOf %d values in %s, %d break an expectation when they are halved or doubled: %d of %d changes that could be run do.\n%s", values, spelling.Plural(len(sections), "experiment"), broken, some, cells, b.String())
}

// A page that is about another value, other expectations or fewer values is stale.
func TestStaleTuning(t *testing.T) {
	_, _, page := checkout.Page(t, tuningPage)
	for _, c := range []struct{ what, old, new string }{
		{"another value", "`hosts.cc.fru: 0.5`", "`hosts.cc.fru: 0.25`"},
		{"another digest", "Digest " + loadTuning(t, "swift-fru").digest, "Digest 00000000"},
		{"no row", "\n| `hosts.cc.fru", "\n| `hosts.cc"},
		{"no section", "\n## swift-fru\n", "\n## swift\n"},
		{"not run", "As it is: 2 of 2 (seeds 101..103; 57", ""},
	} {
		if !loadTuning(t, "swift-fru").take(page) {
			t.Fatal("the page itself is stale")
		}
		if text := strings.Replace(page, c.old, c.new, 1); loadTuning(t, "swift-fru").take(text) || text == page {
			t.Errorf("%s: not noticed", c.what)
		}
	}
}
