package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/conformance/own"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/reports/device"
	"github.com/spf13/cobra"
)

func conformanceCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Test a device that speaks CSIG: a switch, a NIC, or a program",
		Long: "Test a device that speaks CSIG against rules of the public texts, and against what csiglab has chosen where\n" +
			"these are silent.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(vectorsCommand(a), switchCommand(a), rulesCommand(a), deviceCommand(a))
	return cmd
}

// vectorsFlags are the flags of csiglab conformance vectors.
type vectorsFlags struct {
	outputs
	device, write string
	only          []string
}

func vectorsCommand(a *command.App) *cobra.Command {
	var f vectorsFlags
	cmd := &cobra.Command{
		Use:   "vectors",
		Short: "Give a device frames, and compare what leaves with what must leave",
		Long: "Give a device frames, and compare what leaves with what must leave, octet by octet. Without --device the\n" +
			"device is csiglab's own switch and host.\n\n" +
			"A program gets a request per line on standard input, in JSON: {\"vector\": ID, \"device\": its configuration,\n" +
			"\"frames\": what comes in}. It answers a line: {\"vector\": ID, \"frames\": [{\"port\": 3, \"frame\": \"02…\"}, …]},\n" +
			"or {\"vector\": ID, \"cannot\": \"why\"} for what it does not have, which is skipped. csiglab conformance device is\n" +
			"such a program.\n\n" +
			"Exit codes: 0 all rules held, 1 a rule failed, 3 the device did not answer.",
		Example: "  csiglab conformance vectors --device './myswitch --vectors' --junit junit.xml --page conformance.html\n" +
			"  csiglab conformance vectors --only CSIG-UPD --only CSIG-LAY-03\n" +
			"  csiglab conformance vectors --write vectors",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.write == "" {
				return testVectors(cmd.Context(), a, &f)
			}
			if f.device != "" || f.junit != "" || f.page != "" || f.only != nil {
				return command.Usage("--write tests nothing: it excludes the other flags")
			}
			return writeVectors(a, f.write)
		},
	}
	cmd.Flags().StringVar(&f.device, "device", "", "the `PROGRAM` under test with its arguments, as a shell reads them (default: csiglab's own machines)")
	f.outputs.flags(cmd)
	cmd.Flags().StringVar(&f.write, "write", "", "write the vectors into the new folder `DIR` instead, as JSON and pcapng, for other test benches")
	cmd.Flags().StringArrayVar(&f.only, "only", nil, "run the vectors of `RULES` alone: CSIG-UPD-01, all of CSIG-UPD, one vector, or standard or csiglab; may be repeated")
	return cmd
}

func testVectors(ctx context.Context, a *command.App, f *vectorsFlags) error {
	all, err := conformance.Vectors()
	if err != nil {
		return err
	}
	chosen, err := conformance.Select(all, f.only)
	if err != nil {
		return command.Usage("--only: %w; see csiglab conformance rules", err)
	}
	var d conformance.Device = own.Device{}
	name := "csiglab's own switch and host"
	if f.device != "" {
		if strings.TrimSpace(f.device) == "" {
			return command.Usage("--device is empty: name a program")
		}
		name = f.device
		if d, err = conformance.Start([]string{"sh", "-c", "exec " + f.device}); err != nil {
			return command.Infrastructure(fmt.Errorf("--device: %w", err))
		}
	}
	report, err := conformance.Run(ctx, name, d, chosen)
	if err := errors.Join(err, d.Close()); err != nil {
		return command.Infrastructure(errors.New("interrupted"))
	}
	return publish(ctx, a, report, &f.outputs)
}

// outputs are the files of a report.
type outputs struct{ junit, page string }

func (f *outputs) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.junit, "junit", "", "also write the results as JUnit XML into `FILE`")
	cmd.Flags().StringVar(&f.page, "page", "", "also write them as one HTML page into `FILE`")
}

// publish prints a report and writes its files. The error has the exit code.
func publish(ctx context.Context, a *command.App, report *conformance.Report, f *outputs) error {
	first, _ := report.Details()
	shown := map[*conformance.Result]bool{}
	for _, r := range first {
		shown[r] = true
	}
	if len(first) > 0 {
		if err := report.Show(ctx, func(r *conformance.Result) bool { return shown[r] }); err != nil {
			a.Say("note: frames are shown as octets alone: " + err.Error())
		}
	}
	if f.junit != "" {
		var b bytes.Buffer
		if err := device.JUnit(&b, report, time.Now()); err != nil {
			return err
		}
		if err := write(a, "--junit", f.junit, b.Bytes()); err != nil {
			return err
		}
	}
	if f.page != "" {
		var b bytes.Buffer
		if err := device.HTML(&b, report); err != nil {
			return err
		}
		if err := write(a, "--page", f.page, b.Bytes()); err != nil {
			return err
		}
	}
	if err := a.Print(device.Text(report)); err != nil {
		return err
	}
	switch {
	case report.Count(conformance.Failed) > 0:
		return &command.ExitError{Code: command.ExitFailed}
	case report.Count(conformance.Broken) > 0:
		return &command.ExitError{Code: command.ExitInfrastructure}
	}
	return nil
}

// writeVectors writes the files of vectors into a new folder.
func writeVectors(a *command.App, dir string) error {
	shipped, err := conformance.Shipped()
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return command.Usage("--write %s: %w", dir, cause.Of(err))
	}
	for _, name := range slices.Sorted(maps.Keys(shipped)) {
		if err := write(a, "--write", filepath.Join(dir, name), shipped[name]); err != nil {
			return err
		}
	}
	a.Say(fmt.Sprintf("%s: %s", dir, spelling.Plural(len(shipped), "file")))
	return nil
}

// write writes a whole file that a flag has named.
func write(a *command.App, flag, name string, data []byte) error {
	o := a.Output(name)
	o.Flag = flag
	_, err := o.Write(data)
	return o.End(err)
}

func rulesCommand(a *command.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "rules",
		Short:   "Print the rules with their sources",
		Example: "  csiglab conformance rules | grep CSIG-UPD",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.Result(asJSON, conformance.Rules, func() string {
				var b strings.Builder
				for _, r := range conformance.Rules {
					fmt.Fprintf(&b, "%s  %-8s  %s  (%v)\n", r.ID, r.Standing, r.Sentence, r.Source)
				}
				return b.String()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as JSON instead")
	return cmd
}

func deviceCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:   "device",
		Short: "Answer requests of csiglab conformance vectors with csiglab's own switch and host",
		Long: "Answer requests of csiglab conformance vectors, a line each, from standard input: an example of a program\n" +
			"for --device.",
		Example: "  csiglab conformance vectors --device 'csiglab conformance device'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := command.Interruptible(cmd.Context(), func() (struct{}, error) {
				return struct{}{}, conformance.Serve(cmd.Context(), own.Device{}, os.Stdin, a.Stdout)
			})
			if errors.Is(err, context.Canceled) {
				err = errors.New("interrupted")
			}
			return command.Infrastructure(err)
		},
	}
}
