package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/suites"
)

// suiteSectionName is the name of the section of the embedded suites.
const suiteSectionName = "suites"

// suiteSection returns the embedded suites as a section; their entries have no keys.
func suiteSection() experiment.Section {
	s := experiment.Section{Name: suiteSectionName}
	for _, name := range suites.Names() {
		suite, err := readSuite(name)
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
var tables = []string{"experiments", suiteSectionName, algorithms, "cc", "lb", "aqm", "routing", "signals", "topologies", "workloads", "jobs"}

// sections returns everything that list can print.
func sections() []experiment.Section {
	return append([]experiment.Section{experiment.Library(), suiteSection()}, experiment.Catalogue(experiment.StandardTables())...)
}

func (a *app) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [" + strings.Join(tables, "|") + "]",
		Short: "List the built-in experiments and suites, and what an experiment may use: algorithms, topologies and workloads",
		Long: "List the experiments and suites that are built in, and the algorithms, topologies and workloads that an experiment\n" +
			"may use, with their keys. algorithms stands for congestion control (cc), load balancing (lb), marking (aqm) and\n" +
			"the choice of paths in switches (routing).",
		Example:   "  csiglab list experiments\n  csiglab list topologies\n  csiglab list cc --json",
		Args:      atMostOne("a table"),
		ValidArgs: tables,
		RunE: func(_ *cobra.Command, args []string) error {
			chosen := sections()
			if len(args) > 0 {
				chosen = slices.DeleteFunc(chosen, func(s experiment.Section) bool { return s.Name != args[0] && (args[0] != algorithms || !s.Algorithms) })
				if len(chosen) == 0 {
					return usage("unknown table %q%s; want one of %s", args[0], didYouMean(args[0], tables), strings.Join(tables, ", "))
				}
			}
			if asJSON {
				byName := map[string][]experiment.Entry{}
				for _, s := range chosen {
					byName[s.Name] = s.Entries
				}
				return a.printJSON(byName)
			}
			return a.print(listText(chosen))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON on standard output and nothing else there")
	return cmd
}

// listText returns the sections as text: a line for each entry, and below it one
// for each of its keys.
func listText(sections []experiment.Section) string {
	var text bytes.Buffer
	for i, s := range sections {
		if i > 0 {
			text.WriteByte('\n')
		}
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
			continue
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
	}
	return text.String()
}
