package named

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/reports/words"
)

// queryNamed lists all named ports. Its quotation marks are those of a POSIX shell.
const queryNamed = `duckdb -c "SELECT variant, flow_name, type, port_name, locator, sum(samples) AS samples FROM 'signals.parquet' GROUP BY ALL ORDER BY samples DESC"`

const (
	fewRows    = 8    // of a table that stands open
	oftenNamed = 0.25 // share of the samples from which the port that they name is worth a look
)

// Parts implements section.Section.
func (s *Section) Parts() (parts []section.Part) {
	p := section.Part{ID: "bottlenecks", Title: "What CSIG named as the bottleneck"}
	p.Says, p.Level = s.says()
	if f := s.Figure("named", "Share of samples", "Ports that CSIG named as the bottleneck", "Share of the samples of all flows that name each port"); f != nil {
		for i := range f.Panels {
			f.Panels[i].Chart.(*chart.Lines).Y.Max = 100
		}
		if s.anySlowed() {
			f.Caption += " Counted are samples. Each names the worst port of its own path, so that ports are named now and then which nothing slows. A sentence of a slow link that hosts name counts something else: which ports are among the worst again and again."
		}
		p.Blocks = append(p.Blocks, f)
	}
	t := s.table()
	switch n := len(t.Rows); {
	case n > 0 && n <= fewRows:
		p.Blocks = append(p.Blocks, t)
		parts = append(parts, p)
	case p.Blocks != nil:
		parts = append(parts, p)
	}
	if len(t.Rows) > fewRows {
		t.Label = "Named ports of each flow"
		parts = append(parts, section.Part{ID: "named-ports", Title: t.Label, Says: "The share of samples that name each port, by flow and signal.", Blocks: []section.Block{t}})
	}
	if len(s.Locators) > 0 {
		l := &s.Locators[0]
		parts = append(parts, section.Part{ID: "locators", Title: "Shared locators", Blocks: []section.Block{s.locators()},
			Says: fmt.Sprintf("%d of %d switch ports share their locators with others.", l.Sharing, l.Ports)})
	}
	return parts
}

// anySlowed reports whether a line is of a port that a fault slowed.
func (s *Section) anySlowed() bool {
	return slices.ContainsFunc(series.Find(s.Charts, "named").Panels, func(p series.Panel) bool {
		return slices.ContainsFunc(p.Lines, func(l series.Line) bool { return l.Slowed })
	})
}

// says says which port the samples of a flow name most: of the slowest one if its samples are
// counted apart, or else of the flows with the most samples. Where samples name many ports in
// turn, nothing stands out.
func (s *Section) says() (text string, level section.Level) {
	var most *Named
	variant := -1
	for i := range s.Named {
		n := &s.Named[i]
		for v, share := range n.Shares {
			if share == nil || len(n.Ports) == 0 {
				continue
			}
			if slowest := n.Flow == s.r.Slowest; most == nil || slowest && most.Flow != s.r.Slowest || slowest == (most.Flow == s.r.Slowest) && share.Samples > most.Shares[variant].Samples {
				most, variant = n, v
			}
		}
	}
	if most == nil {
		return "", section.Quiet
	}
	share := most.Shares[variant].Share
	if share >= oftenNamed {
		level = section.Plain
	}
	who := "flow " + most.Flow
	if most.Flow == "" {
		who = words.Plural(most.Flows, "flow")
	}
	return fmt.Sprintf("%s of the %s samples of %s name %s%s.", words.Percent(share), most.Signal, who, phrases.Arrow(phrases.Shared(&s.r.Facts, most.Ports)), phrases.In(&s.r.Facts, s.r.Variants[variant].Name)), level
}

// table lists the ports that samples named.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "What CSIG named as the bottleneck", Columns: phrases.Columns("Flow", "Signal", "Port"),
		Note: "Shares of the samples in the measuring window, and their number; medians over the seeds. Ports with less than 1 % are left out."}
	sampled := make([]bool, len(s.r.Variants)) // with a sample of some flow
	for _, n := range s.Named {
		for i, share := range n.Shares {
			sampled[i] = sampled[i] || share != nil
		}
	}
	for i, v := range s.r.Variants {
		if sampled[i] {
			t.Columns = append(t.Columns, section.Column{Name: v.Name, Number: true, Variant: v.Name})
		}
	}
	for _, n := range s.Named {
		row := phrases.Cells(phrases.Group(n.Group), n.Signal, phrases.Named(n.Ports))
		for i, share := range n.Shares {
			text := ""
			switch {
			case !sampled[i]:
				continue
			case share == nil:
				text = words.None
			case share.Samples == 0:
				text = words.Percent(0)
			default:
				text = fmt.Sprintf("%s (%s)", words.Percent(share.Share), words.Number(math.Round(share.Samples)))
			}
			row = append(row, section.Cell{Text: text})
		}
		t.Rows = append(t.Rows, section.Row{Cells: row})
	}
	if len(t.Rows) > phrases.MaxRows {
		t.Query = queryNamed
	}
	phrases.Bound(t, "rows", "signals.parquet, by columns flow_name, type, locator and port_name,")
	return t
}

// maxLocators bounds the table of shared locators.
const maxLocators = 64

// locators lists the locators that several switch ports share.
func (s *Section) locators() *section.Table {
	t := &section.Table{Label: "Shared locators", Columns: phrases.Columns("Variant", "#Locator", "#Ports", "Switch ports")}
	var notes []string
	rows := 0
	for _, of := range s.Locators {
		variants := words.List(of.Variants)
		for _, l := range of.Locators {
			if rows++; rows <= maxLocators {
				t.Rows = append(t.Rows, section.Row{Cells: phrases.Cells(variants, fmt.Sprint(l.Locator%metrics.SecondFormat), fmt.Sprint(len(l.Ports)), words.List(l.Ports))})
			}
		}
		kind := "locators"
		if of.Format != "" {
			kind = of.Format + " locators"
		}
		note := fmt.Sprintf("%s: %d switch ports have %d %s; %d of the ports share theirs with others, and a tag does not say which of them wrote the signal", variants, of.Ports, of.Distinct, kind, of.Sharing)
		if of.Remedy != "" {
			note += ". Each port has a locator of its own with " + of.Remedy
		}
		notes = append(notes, note+".")
	}
	if rows > maxLocators {
		notes = append(notes, fmt.Sprintf("The first %d of %d shared locators are shown; the manifest has them all.", maxLocators, rows))
	}
	t.Note = strings.Join(notes, " ")
	return t
}
