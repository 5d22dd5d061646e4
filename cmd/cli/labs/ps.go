package labs

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/choose"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Entry is a run in the output of ps --json.
type Entry struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Runtime    string     `json:"runtime"`
	Clock      string     `json:"clock"`
	State      runs.State `json:"state"`
	Nodes      int        `json:"nodes"`
	Processes  int        `json:"processes"`
	Containers int        `json:"containers"`
	Started    time.Time  `json:"started"`
	Folder     string     `json:"folder"`
	PID        int        `json:"pid"`                 // of the csiglab that runs it
	DiskBytes  int64      `json:"diskBytes"`           // of the files in Folder
	DiskLimit  int64      `json:"diskLimit,omitempty"` // of a lab: the most that its windows take of them
}

func psCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "ps",
		Short: "List labs and runs that are under way, and those that left something behind",
		Long: "List labs and runs that are under way, and those that left something behind.\n" +
			"STATE: running; held, a lab that is up; dead, its csiglab is gone and csiglab clean removes the rest;\n" +
			"foreign, of another csiglab on the same Docker engine, which csiglab clean leaves alone.\n" +
			"DISK: what the run's folder takes; of a lab also the most that its windows may take (telemetry.disk).",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := choose.Labs(cmd.Context(), a)
			if err != nil {
				return err
			}
			entries := []Entry{}
			for _, r := range list {
				entries = append(entries, Entry{
					ID: r.ID, Name: r.Name, Runtime: r.Runtime, Clock: r.Clock, State: r.State, Nodes: len(r.Nodes),
					Processes: len(r.Processes), Containers: r.Containers, Started: r.Started, Folder: r.Folder, PID: r.PID,
					DiskBytes: diskBytes(r.Folder), DiskLimit: r.DiskLimit,
				})
			}
			if asJSON {
				return a.PrintJSON(entries)
			}
			var text strings.Builder
			t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "RUN\tEXPERIMENT\tRUNTIME\tCLOCK\tSTATE\tNODES\tSTARTED\tDISK\tFOLDER")
			started := runs.StartTimes(list)
			for i, e := range entries {
				clock, nodes := e.Clock, strconv.Itoa(e.Nodes)
				if e.State == runs.Foreign && e.Nodes == 0 { // only the other csiglab knows
					clock, nodes = cmp.Or(clock, "-"), "-"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
					e.ID, e.Name, e.Runtime, clock, e.State, nodes, started[i], disk(&e), e.Folder)
			}
			t.Flush() // cannot fail: text in memory
			return a.Print(text.String())
		},
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a list in JSON")
	return cmd
}

// diskBytes returns the size of the files in a folder; 0 if it is not there.
func diskBytes(folder string) (bytes int64) {
	filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read is not counted
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// disk is the column DISK.
func disk(e *Entry) string {
	text := megabytes(e.DiskBytes)
	if e.DiskLimit > 0 && e.State == runs.Held {
		text += " of " + megabytes(e.DiskLimit)
	}
	return text
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
