package experiments

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/suites"
)

// suiteSectionName is the name of the section of the embedded suites.
const suiteSectionName = "suites"

// suiteSection returns the embedded suites as a section; their entries have no keys.
func suiteSection() experiment.Section {
	s := experiment.Section{Name: suiteSectionName}
	for _, name := range suites.Names() {
		suite, err := regress.FindSuite(name)
		if err != nil {
			panic("csiglab: " + err.Error()) // TestEmbeddedSuites reads them all
		}
		s.Entries = append(s.Entries, experiment.Entry{Name: name, Doc: suite.Description, Keys: []experiment.EntryKey{}})
	}
	return s
}

// algorithms stands for the sections of all algorithms.
const algorithms = "algorithms"

// tables are the arguments of list: the names of all sections, and algorithms. They are written
// down, as the sections take longer to read than most commands run.
var tables = []string{"experiments", suiteSectionName, algorithms, "cc", "lb", "aqm", "routing", "signals", "topologies", "workloads", "jobs", metricTableName}

// table is something that list can print.
type table struct {
	name       string
	algorithms bool
	entries    any // for JSON: a list
	names      []string
	text       func() string
	only       func(name string) table // the entry of that name alone
}

// allTables returns everything that list can print.
func allTables() (all []table) {
	for _, s := range append([]experiment.Section{experiment.Library(), suiteSection()}, experiment.Catalogue(experiment.StandardTables())...) {
		all = append(all, sectionTable(s))
	}
	return append(all, metricTable(listedMetrics()))
}

func sectionTable(s experiment.Section) table {
	t := table{name: s.Name, algorithms: s.Algorithms, entries: s.Entries, text: func() string { return sectionText(&s) }}
	for _, e := range s.Entries {
		t.names = append(t.names, e.Name)
	}
	t.only = func(name string) table {
		s.Entries = []experiment.Entry{s.Entries[slices.Index(t.names, name)]}
		return sectionTable(s)
	}
	return t
}

func metricTable(metrics []listedMetric) table {
	t := table{name: metricTableName, entries: metrics, text: func() string { return metricsText(metrics) }}
	for _, m := range metrics {
		t.names = append(t.names, m.Name)
	}
	t.only = func(name string) table { return metricTable([]listedMetric{metrics[slices.Index(t.names, name)]}) }
	return t
}

// mostKnown is how many names a message lists.
const mostKnown = 40

// named returns the entries of a name, of the tables that have one.
func named(chosen []table, name string) (list []table, err error) {
	var names []string
	for _, t := range chosen {
		names = append(names, t.names...)
		entry := name
		if t.name == metricTableName && !slices.Contains(t.names, name) {
			entry = measure.FormOf(name)
		}
		if slices.Contains(t.names, entry) {
			list = append(list, t.only(entry))
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	for _, t := range allTables() {
		if slices.Contains(t.names, name) {
			return nil, command.Usage("there is no %q here; csiglab list %s %s", name, t.name, name)
		}
	}
	hint := command.DidYouMean(name, names)
	if hint == "" && len(names) <= mostKnown {
		hint = "; known: " + strings.Join(names, " ")
	}
	return nil, command.Usage("there is no %q%s", name, hint)
}

func listCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [" + strings.Join(tables, "|") + "] [NAME]",
		Short: "List the built-in experiments and suites, and what an experiment may use: algorithms, topologies, workloads and metrics",
		Long: "List the experiments and suites that are built in, and the algorithms, topologies and workloads that an experiment\n" +
			"may use, with their keys. algorithms stands for congestion control (cc), load balancing (lb), marking (aqm) and\n" +
			"the choice of paths in switches (routing). metrics are those that runs have, with unit, the better direction, what\n" +
			"an experiment needs to have them, and what they are. NAME is one entry alone, such as an algorithm.",
		Example: "  csiglab list experiments\n  csiglab list topologies\n  csiglab list cc swift\n  csiglab list cc --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return command.Usage("want a table and a name, got %d: %q; see %s --help", len(args), args, cmd.CommandPath())
			}
			return nil
		},
		ValidArgs: tables,
		RunE: func(_ *cobra.Command, args []string) error {
			chosen := allTables()
			if len(args) > 0 {
				chosen = slices.DeleteFunc(chosen, func(t table) bool { return t.name != args[0] && (args[0] != algorithms || !t.algorithms) })
				if len(chosen) == 0 {
					return command.Usage("unknown table %q%s; want one of %s", args[0], command.DidYouMean(args[0], tables), strings.Join(tables, ", "))
				}
			}
			if len(args) > 1 {
				var err error
				if chosen, err = named(chosen, args[1]); err != nil {
					return err
				}
			}
			if asJSON {
				byName := map[string]any{}
				for _, t := range chosen {
					byName[t.name] = t.entries
				}
				return a.PrintJSON(byName)
			}
			var texts []string
			for _, t := range chosen {
				texts = append(texts, t.text())
			}
			return a.Print(strings.Join(texts, "\n"))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

// sectionText returns a section as text: a line for each entry, and below it one for each of
// its keys.
func sectionText(s *experiment.Section) string {
	var text bytes.Buffer
	switch {
	case s.Path == "":
		command := "run"
		if s.Name == suiteSectionName {
			command = "regress"
		}
		fmt.Fprintf(&text, "%s: built in; csiglab %s NAME\n\n", s.Name, command)
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, e := range s.Entries {
			fmt.Fprintf(t, "  %s\t%s\n", e.Name, e.Doc)
		}
		t.Flush() //nolint:errcheck // a buffer takes everything
		return text.String()
	case s.Default != "":
		fmt.Fprintf(&text, "%s: values of %s, by default %s\n", s.Name, s.Path, s.Default)
	default:
		fmt.Fprintf(&text, "%s: keys of %s, of which it has one\n", s.Name, s.Path)
	}
	for _, e := range s.Entries {
		fmt.Fprintf(&text, "\n  %s: %s\n", e.Name, e.Doc)
		if e.Module != "" {
			fmt.Fprintf(&text, "    of module %s\n", e.Module)
		}
		t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, k := range e.Keys {
			fallback := k.Default
			if k.Required {
				fallback = "required"
			}
			fmt.Fprintf(t, "    %s\t%s\t%s\t%s\t%s\n", cmp.Or(k.Path, "(value)"), k.Type, cmp.Or(fallback, "-"), cmp.Or(k.Range, "-"), k.Doc)
		}
		t.Flush() //nolint:errcheck // a buffer takes everything
	}
	return text.String()
}

// metricTableName is the name of the table of the metrics of runs.
const metricTableName = "metrics"

// listedMetric is an entry of the catalogue of metrics.
type listedMetric struct {
	Name       string   `json:"name"`           // with <placeholders>
	Unit       string   `json:"unit,omitempty"` // empty: a bare number
	Better     string   `json:"better,omitempty"`
	Needs      []string `json:"needs,omitempty"` // what an experiment must have
	Statistics []string `json:"statistics,omitempty"`
	Doc        string   `json:"doc"`
	group      string
}

// markdownLink is a link of Markdown with its text.
var markdownLink = lazy.Regexp(`\[([^]]+)\]\([^)]+\)`)

func listedMetrics() (all []listedMetric) {
	group := ""
	for _, g := range measure.Catalogue {
		group = cmp.Or(g.Title, group)
		for _, m := range g.Entries {
			all = append(all, listedMetric{m.Form, m.FormUnit(), m.Better.String(), m.Needed(), m.Statistics(), markdownLink().ReplaceAllString(m.Doc, "$1"), group})
		}
	}
	return all
}

// metricsText returns a line for each metric with the first sentence of its description.
func metricsText(metrics []listedMetric) string {
	var text bytes.Buffer
	text.WriteString("metrics: of each run, for expect and derived; with unit, better direction and what the experiment must have\n")
	group, t := "", tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, m := range metrics {
		if m.group != group {
			t.Flush() //nolint:errcheck // a buffer takes everything
			group = m.group
			fmt.Fprintf(&text, "\n  %s:\n", group)
		}
		first, _, _ := strings.Cut(m.Doc, ". ")
		fmt.Fprintf(t, "    %s\t%s\t%s\t%s\t%s\n", m.Name, cmp.Or(m.Unit, "-"), cmp.Or(m.Better, "-"), cmp.Or(strings.Join(m.Needs, ", "), "-"), first)
	}
	t.Flush() //nolint:errcheck // a buffer takes everything
	return text.String()
}
