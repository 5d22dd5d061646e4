package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/cmd/cli/ui"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/compare"
	"github.com/csiglab/csiglab/reports/regression"
)

// uiPort is where csiglab ui listens unless the user names another port.
const uiPort = 8420

func uiCommand(a *command.App) *cobra.Command {
	var port uint16
	cmd := command.AsksEngine(&cobra.Command{
		Use:   "ui [DIR]",
		Short: "Show the runs of a folder in a browser on this machine",
		Long: "Show the runs of a folder in a browser on this machine until Ctrl-C: a list of the run folders in DIR, the folder\n" +
			"of runs if it is left out, with their results; the report of each, made from its numbers when it is asked for;\n" +
			"comparisons of two of them; and the runs that are under way. It listens at 127.0.0.1 alone, changes no folder\n" +
			"and loads nothing from elsewhere. It prints its address.",
		Example: "  csiglab ui\n  csiglab ui runs --port 0",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return command.Usage("want one folder at most, got %d: %q; see %s --help", len(args), args, cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := a.RunsFolder()
			if len(args) == 1 {
				folder = args[0]
			}
			return serveUI(cmd.Context(), a, folder, port)
		},
	})
	cmd.Flags().Uint16Var(&port, "port", uiPort, "listen at `PORT` of 127.0.0.1; 0 takes a free one")
	return cmd
}

// serveUI serves the page until ctx ends, which is no error.
func serveUI(ctx context.Context, a *command.App, folder string, port uint16) error {
	path, err := listedFolder(folder)
	if err != nil {
		return err
	}
	var c net.ListenConfig
	listener, err := c.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if errors.Is(err, syscall.EADDRINUSE) {
		return command.Infrastructure(fmt.Errorf("--port %d: the port is in use, perhaps by another csiglab ui; --port 0 takes a free one", port))
	}
	if err != nil {
		return command.Infrastructure(fmt.Errorf("--port %d: %w", port, cause.Of(err)))
	}
	defer listener.Close()
	server := ui.New(ui.Config{Folder: path, Reports: pageMaker{}, List: a.Work.List})
	if err := a.Print(fmt.Sprintf("http://%s/\n", listener.Addr())); err != nil {
		return err
	}
	return command.Infrastructure(server.Serve(ctx, listener))
}

// listedFolder returns the absolute name of a folder with run folders in it.
func listedFolder(folder string) (string, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return "", command.Infrastructure(err)
	}
	if path, err = filepath.EvalSymlinks(path); err == nil {
		_, err = os.ReadDir(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", command.Usage("%s: there is no such folder; csiglab run writes one", folder)
	case err != nil:
		return "", command.Usage("%s: %w", folder, cause.Of(err))
	}
	if _, err := os.Lstat(filepath.Join(path, runfolder.ManifestFile)); err == nil {
		return "", command.Usage("%s is a run's folder; name the folder that it is in, %s", folder, filepath.Dir(path))
	}
	return path, nil
}

// pageName is the command that csiglab ui starts for each page.
const pageName = "page-of-ui"

// pageMaker implements ui.Reports by a process for each page: its memory goes with it, it can
// be ended in the midst of a folder, and a folder that it cannot cope with ends it alone.
type pageMaker struct{}

// Report implements ui.Reports.
func (pageMaker) Report(ctx context.Context, folder string, w io.Writer) error {
	return makePage(ctx, w, folder)
}

// Compare implements ui.Reports.
func (pageMaker) Compare(ctx context.Context, a, b string, w io.Writer) error {
	return makePage(ctx, w, a, b)
}

// mostWords is how many bytes of an error of a page's process are shown.
const mostWords = 4096

// makePage writes the page of the folders.
func makePage(ctx context.Context, w io.Writer, folders ...string) error {
	cmd := perform.Self(ctx, append([]string{pageName, "--"}, folders...)...)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &words
	cmd.Cancel = func() error { return cmd.Process.Kill() } // it has nothing to remove
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	text := strings.TrimPrefix(strings.TrimSpace(words.String()), "csiglab: ")
	if exit.ExitCode() < 0 || text == "" {
		return fmt.Errorf("the process that made it ended: %v", exit)
	}
	return errors.New(text[:min(len(text), mostWords)])
}

// pageCommand prints the page of a run's or a verdict's folder, or of a comparison of two. Unlike
// csiglab report it changes nothing, and an incomplete folder is no error.
func pageCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use:    pageName,
		Hidden: true,
		Args:   cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var text bytes.Buffer
			var err error
			if len(args) == 2 {
				err = writeComparison(&text, args[0], args[1])
			} else {
				err = writePage(&text, args[0])
			}
			if err != nil {
				return command.FolderError(err)
			}
			return a.Print(text.String())
		},
	}
}

// writeComparison writes the page of a comparison of two runs' folders.
func writeComparison(w io.Writer, a, b string) error {
	pair, err := compare.Open([]string{a, b}, compare.NewDesign(measure.Meaning))
	if err != nil {
		return err
	}
	c, err := pair.Compare()
	if err != nil {
		return err
	}
	return pair.WriteHTML(w, c)
}

// mostVerdict is how many bytes a verdict has at most.
const mostVerdict = 64 << 20

// writePage writes the page of a run's or a verdict's folder.
func writePage(w io.Writer, folder string) error {
	f, err := runfolder.OpenKept(folder)
	if err == nil {
		var report *reports.Report
		if report, err = reports.Read(f, measure.Meaning); err != nil {
			return err
		}
		return report.WriteHTML(w)
	}
	if !errors.Is(err, runfolder.ErrForeign) {
		return err
	}
	data, wrong := own.ReadFile(filepath.Join(folder, verdict.FileName), mostVerdict)
	if errors.Is(wrong, fs.ErrNotExist) {
		return err
	}
	d := &verdict.Document{}
	if wrong == nil {
		wrong = json.Unmarshal(data, d)
	}
	if wrong != nil {
		return fmt.Errorf("%s: %w", verdict.FileName, wrong)
	}
	return regression.HTML(w, d)
}
