// Package nics is which NIC of which server carries what, in fabrics whose servers have several.
package nics

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Section is the NICs of a run folder.
type Section struct {
	section.Base
	r *reading.Reading

	NICs []NICs // by variant
}

// NICs is how busy those of each server send in one variant: medians over the seeds.
type NICs struct {
	Variant string           `json:"variant"`
	Servers []string         `json:"servers"` // the first mostServers
	All     int              `json:"all"`     // servers
	Names   []string         `json:"nics"`    // which the servers have
	Use     []reading.Values `json:"use"`     // share of the time, by server and NIC; NaN for none
}

// mostServers is how many servers are drawn.
const mostServers = 128

// New implements section.New.
func New(r *reading.Reading) section.Section { return &Section{r: r} }

// Settle implements section.Section.
func (s *Section) Settle() error {
	for _, v := range s.r.Manifest.Variants {
		if n := s.of(v.Name); n != nil {
			s.NICs = append(s.NICs, *n)
		}
	}
	return nil
}

// of returns the NICs of a variant: nil unless its hosts are called like NICs of servers, "s0.r1", and
// some server has two.
func (s *Section) of(variant string) *NICs {
	n, last := &NICs{Variant: variant}, ""
	for i := range s.r.Ports {
		p := &s.r.Ports[i]
		at := slices.IndexFunc(p.Use, func(u reading.Use) bool { return u.Variant == variant })
		if !p.NIC || at < 0 {
			continue
		}
		server, nic, isNIC := strings.Cut(p.From, ".")
		if !isNIC {
			return nil
		}
		if server != last {
			n.All, last = n.All+1, server
		}
		if n.All > mostServers {
			continue
		}
		row, column := place(&n.Servers, server), place(&n.Names, nic)
		for len(n.Use) <= row {
			n.Use = append(n.Use, nil)
		}
		for len(n.Use[row]) <= column {
			n.Use[row] = append(n.Use[row], math.NaN())
		}
		n.Use[row][column] = p.Use[at].Utilisation
	}
	if len(n.Names) < 2 || len(n.Servers) == 0 {
		return nil
	}
	for row := range n.Use {
		for len(n.Use[row]) < len(n.Names) {
			n.Use[row] = append(n.Use[row], math.NaN())
		}
	}
	return n
}

// place returns the place of a name in a list, to which it is added if it is new.
func place(list *[]string, name string) int {
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return i
}

// carries is from which share of the busiest NIC's utilisation on a NIC carries traffic.
const carries = 0.1

// carrying returns how many NICs carry traffic, of the server that has most of them, and the
// greatest utilisation of a NIC.
func (n *NICs) carrying() (most int, greatest float64) {
	for _, row := range n.Use {
		for _, use := range row {
			if use > greatest {
				greatest = use
			}
		}
	}
	for _, row := range n.Use {
		count := 0
		for _, use := range row {
			if use > carries*greatest {
				count++
			}
		}
		most = max(most, count)
	}
	return most, greatest
}

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if len(s.NICs) == 0 {
		return nil
	}
	f := &chart.Figure{ID: "nics", Title: "Which NIC carries what", Columns: 2}
	f.Caption = "Rows are servers, columns their NICs; numbers are the share of the time in which the NIC sends, in per cent, in the median over the seeds."
	level := section.Quiet
	for i := range s.NICs {
		n := &s.NICs[i]
		if len(f.Panels) < phrases.MaxOfAKind {
			f.Panels = append(f.Panels, chart.Panel{Title: words.Clipped(n.Variant), Variant: n.Variant, Chart: n.matrix()})
		}
		if most, greatest := n.carrying(); greatest > 0 && most < len(n.Names) {
			level = section.Plain
		}
	}
	if n := &s.NICs[0]; n.All > len(n.Servers) {
		f.Caption += fmt.Sprintf(" These are the first %d of %d servers.", len(n.Servers), n.All)
	}
	f.Caption += phrases.LeftOut(len(s.NICs), len(f.Panels))
	f.Columns = min(len(f.Panels), 2)
	f.Legend = chart.ScaleKeys("0 %", func(from, to float64) string { return fmt.Sprintf("%.0f to %.0f %%", 100*from, 100*to) })
	return []section.Part{{ID: "nics", Title: "NICs of servers", Says: s.says(), Level: level, Blocks: []section.Block{f}}}
}

// says names how many NICs of a server carry traffic in the variant that is told of.
func (s *Section) says() string {
	n := &s.NICs[max(0, slices.IndexFunc(s.NICs, func(n NICs) bool { return n.Variant == s.r.Told }))]
	most, greatest := n.carrying()
	in := phrases.In(&s.r.Facts, words.Clipped(n.Variant))
	if greatest == 0 {
		return "No NIC sends anything" + in + "."
	}
	if most == len(n.Names) {
		return fmt.Sprintf("All %d NICs of a server carry traffic%s, the busiest for %s of the time.", most, in, words.Percent(greatest))
	}
	return fmt.Sprintf("Of the %d NICs of a server at most %d carry traffic%s, the busiest for %s of the time.", len(n.Names), most, in, words.Percent(greatest))
}

func (n *NICs) matrix() *chart.Matrix {
	m := &chart.Matrix{Name: "Utilisation of NICs, " + n.Variant, Corner: "server ↓, NIC →", Names: n.Servers, Columns: n.Names, Value: chart.Scaling{Name: "Utilisation", Unit: "%", Max: 100}}
	m.Cell = func(row, column int) chart.Cell {
		use := n.Use[row][column]
		if math.IsNaN(use) {
			return chart.Cell{Value: use}
		}
		return chart.Cell{Value: 100 * use, Paint: chart.Scale(chart.LevelOf(use)), Text: fmt.Sprintf("%.0f", 100*use), Tip: words.Percent(use) + " of the time"}
	}
	return m
}

// Numbers implements section.Section.
func (s *Section) Numbers() map[string]any {
	if len(s.NICs) == 0 {
		return nil
	}
	return map[string]any{"nics": s.NICs}
}
