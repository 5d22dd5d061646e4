package dashboards

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/nodes/host/congestion"
)

var update = flag.Bool("update", false, "write the files of the dashboards from their description")

// The files are what the description makes, and no file is left over.
func TestFiles(t *testing.T) {
	want := map[string]bool{}
	for _, b := range Boards() {
		text, err := b.JSON()
		if err != nil {
			t.Fatal(err)
		}
		file := b.UID + ".json"
		want[file] = true
		if *update {
			if err := os.WriteFile(file, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; go test ./dashboards -update writes it", err)
			continue
		}
		if diff := cmp.Diff(string(text), string(got)); diff != "" {
			t.Errorf("%s is not what the description makes; go test ./dashboards -update writes it:\n%s", file, diff)
		}
	}
	names, err := filepath.Glob("*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !want[name] {
			t.Errorf("%s: no dashboard has this file", name)
		}
	}
	if got := len(All()); !*update && got != len(want) {
		t.Errorf("%d dashboards are embedded, want %d", got, len(want))
	}
}

// board is what the tests read of a dashboard.
type board struct {
	ID            any
	UID, Title    string
	SchemaVersion int
	GraphTooltip  int
	Description   string
	Tags          []string
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Annotations struct {
		List []struct {
			Name, Expr string
			Datasource source
		}
	}
	Panels []panel
}

type source struct{ Type, UID string }

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               source
	Targets                  []struct {
		RefID      string
		Expr       string
		Format     string
		Interval   string
		Legend     string `json:"legendFormat"`
		Instant    bool
		Datasource source
	}
	FieldConfig     struct{ Defaults struct{ Unit string } }
	Transformations []struct {
		ID      string
		Options json.RawMessage
	}
	Options struct{ Content string }
	Panels  []panel
}

func boards(t *testing.T) (list []board) {
	t.Helper()
	for _, d := range All() {
		var b board
		if err := json.Unmarshal(d.JSON, &b); err != nil {
			t.Fatalf("%s: %v", d.File, err)
		}
		for i := 0; i < len(b.Panels); i++ { // those of closed rows too
			b.Panels = append(b.Panels, b.Panels[i].Panels...)
		}
		list = append(list, b)
	}
	return list
}

// core are the types of panel that each Grafana has.
var core = []string{"timeseries", "heatmap", "stat", "table", "bargauge", "state-timeline", "nodeGraph", "text", "row"}

// What Grafana asks of a dashboard, and what the issue does: core panels, stable ids, a
// data source and a run to choose, a description of each panel.
func TestSchema(t *testing.T) {
	uids := map[string]bool{}
	for _, b := range boards(t) {
		fail := func(format string, args ...any) { t.Errorf(b.UID+": "+format, args...) }
		if !strings.HasPrefix(b.UID, "csiglab-") || len(b.UID) > 40 || uids[b.UID] {
			fail("uid is not csiglab-…, unique and of at most 40 characters")
		}
		uids[b.UID] = true
		if b.ID != nil || b.SchemaVersion != 39 || b.GraphTooltip != 1 || !slices.Equal(b.Tags, []string{"csiglab"}) || b.Title == "" || b.Description == "" {
			fail("id %v, schemaVersion %d, graphTooltip %d, tags %q, title %q, description %q", b.ID, b.SchemaVersion, b.GraphTooltip, b.Tags, b.Title, b.Description)
		}
		variables := []string{}
		for _, v := range b.Templating.List {
			variables = append(variables, v.Name)
		}
		for _, name := range []string{"datasource", "run", "variant", "seed", "stretch"} {
			if !slices.Contains(variables, name) {
				fail("no variable %s", name)
			}
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range regexp.MustCompile(`\$\{?([a-z_]+)`).FindAllStringSubmatch(string(text), -1) {
			if name := use[1]; !slices.Contains(variables, name) && !slices.Contains([]string{"__range_ms", "__interval", "__interval_ms", "__auto_interval_window", "__value", "__data", "__url_time_range"}, name) {
				fail("$%s is not a variable", name)
			}
		}
		ids, cells := map[int]string{}, map[[2]int]string{}
		for _, p := range b.Panels {
			if ids[p.ID] != "" || p.ID == 0 {
				fail("panels %q and %q have the id %d", p.Title, ids[p.ID], p.ID)
			}
			ids[p.ID] = p.Title
			if !slices.Contains(core, p.Type) {
				fail("panel %q is of type %s, which is not core", p.Title, p.Type)
			}
			g := p.GridPos
			if g.X < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
				fail("panel %q lies outside of the grid: %+v", p.Title, g)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := cells[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: panels %q and %q overlap", b.UID, p.Title, other)
					}
					cells[[2]int{x, y}] = p.Title
				}
			}
			if p.Title == "" {
				fail("panel %d has no title", p.ID)
			}
			if p.Type == "row" || p.Type == "text" {
				continue
			}
			if !strings.HasSuffix(p.Description, ".") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				fail("panel %q: description %q, unit %q, %d targets", p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
			}
			sources := []source{p.Datasource}
			for _, target := range p.Targets {
				sources = append(sources, target.Datasource)
			}
			for _, s := range sources {
				if (s != source{"prometheus", "${datasource}"}) {
					fail("panel %q has the data source %v, which users cannot choose", p.Title, s)
				}
			}
		}
		for _, a := range b.Annotations.List {
			if (a.Datasource != source{"prometheus", "${datasource}"}) || a.Expr == "" {
				fail("annotations %+v", a)
			}
		}
	}
	if len(uids) != 6 {
		t.Errorf("%d dashboards, want 6", len(uids))
	}
}

// Each query parses, and names only families and labels of the table in package exposition.
func TestQueriesNameFamilies(t *testing.T) {
	used := map[string]bool{}
	check := func(where, text string) {
		expr := plain.Replace(text)
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
		if err != nil {
			t.Errorf("%s: %s: %v", where, text, err)
			return
		}
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if s, ok := node.(*parser.VectorSelector); ok {
				family, err := familyOf(s)
				if err != nil {
					t.Errorf("%s: %s: %v", where, text, err)
				}
				used[family] = true
			}
			return nil
		})
		// A stretched run counts in its own seconds. The number of observations in a bucket is no rate.
		if strings.Contains(expr, "rate(csig") || strings.Contains(text, "offset $__interval") && !strings.Contains(text, "* $stretch") && !strings.Contains(text, "* $other_stretch") && !strings.Contains(text, "_bucket") {
			t.Errorf("%s: %s: a rate is not multiplied by the stretch", where, text)
		}
		// Grafana's $__range is 0s where less than half a second is shown.
		if strings.Contains(text, "$__range]") || strings.Contains(text, "$__rate_interval") {
			t.Errorf("%s: %s: whole seconds", where, text)
		}
	}
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			for _, target := range p.Targets {
				check(b.UID+": "+p.Title, target.Expr)
			}
		}
		for _, a := range b.Annotations.List {
			check(b.UID+": "+a.Name, a.Expr)
		}
	}
	for _, f := range exposition.Families {
		if !used[f.Name] && !slices.Contains(unused, f.Name) {
			t.Errorf("no panel shows %s", f.Name)
		}
	}
}

// unused are the families without a panel.
var unused = []string{
	exposition.PortPackets,                       // bytes say as much
	exposition.PortQueue,                         // the peak matters
	exposition.FlowRate,                          // of a lab it is that of the windows between which one is scraped
	exposition.NodeSent, exposition.NodeReceived, // for counting by hand: their difference has frames under way too
}

// plain stands for a choice of the variables, so that a query can be parsed.
var plain = strings.NewReplacer("${__range_ms}ms", "60s", "$__interval_ms", "4000", "$__interval", "4s", "$stretch", "1000", "$other_stretch", "1000")

// familyOf returns the family that a selector names, and refuses labels that it does not
// have.
func familyOf(s *parser.VectorSelector) (string, error) {
	for i := range exposition.Families {
		f := &exposition.Families[i]
		labels := slices.Concat(exposition.CommonLabels, f.Labels)
		switch suffix := strings.TrimPrefix(s.Name, f.Name); {
		case s.Name == f.Name && f.Type == exposition.Histogram, suffix == s.Name:
			continue
		case s.Name == f.Name:
		case f.Type == exposition.Histogram && suffix == "_bucket":
			labels = append(labels, "le")
		case f.Type == exposition.Histogram && (suffix == "_sum" || suffix == "_count"):
		default:
			continue
		}
		for _, m := range s.LabelMatchers {
			if m.Name != "__name__" && !slices.Contains(labels, m.Name) {
				return f.Name, fmt.Errorf("%s has no label %s", s.Name, m.Name)
			}
		}
		return f.Name, nil
	}
	return "", fmt.Errorf("%s is not in the table of families", s.Name)
}

// An action of a congestion control has the same colour in each panel, and no other action of it has that.
func TestActionsHaveColours(t *testing.T) {
	for _, a := range congestion.Table {
		of := map[string]string{}
		for _, action := range a.ActionNames() {
			i := slices.IndexFunc(actionColours, func(m LineColour) bool { return m.Names == "^"+action+"$" })
			switch {
			case i < 0:
				t.Errorf("action %s of %s has no colour", action, a.Name)
			case of[actionColours[i].Colour] != "" && a.Name != "csig-share" && a.Name != "mltcp": // of which the actions are those of what they wrap
				t.Errorf("actions %s and %s of %s have the same colour", action, of[actionColours[i].Colour], a.Name)
			default:
				of[actionColours[i].Colour] = action
			}
		}
	}
}
