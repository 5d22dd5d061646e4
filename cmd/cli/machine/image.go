package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

func imageCommand(a *command.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Make the container image of this csiglab, for pods of a cluster",
		Long: "Make the container image of this csiglab, for pods of a Kubernetes cluster: csiglab, csiglab-cluster, csig-host\n" +
			"and csig-switch, and nothing else. The same programs make the same image, to the digest. docs/how-to/cluster.md has the rest.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(imagePushCommand(a), imageSaveCommand(a))
	return cmd
}

// programFlag adds --program.
func programFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArray("program", nil, "add the csiglab of `PATH`, with csig-host and csig-switch beside it, for comparisons with it (repeatable)")
}

func imagePushCommand(a *command.App) *cobra.Command {
	var insecure bool
	cmd := command.Needs(&cobra.Command{
		Use:   "push REF",
		Short: "Push the image to a registry",
		Long: "Push the image to a registry, with the credentials that docker login or a credential helper has stored.\n" +
			"Layers that the registry has are not sent again. The digest that it prints names the image for ever.",
		Example: "  csiglab image push registry.example.com/team/csiglab:1",
		Args:    command.One("an image reference"),
	}, programs.Cluster)
	others := programFlag(cmd)
	cmd.Flags().BoolVar(&insecure, "insecure", false, "permit a registry without TLS; credentials and programs pass in the clear")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		bar := &pushProgress{w: a.Stderr, bar: command.NewBar(a.Stderr)}
		pushed, err := a.Linked.Cluster.Push(cmd.Context(), command.ImageRequest{Reference: args[0], Version: command.Version(), Others: *others}, insecure, bar.update)
		bar.close()
		if err != nil {
			return imageError(err)
		}
		return a.Print(fmt.Sprintf("pushed  %s, %.1f MB\ndigest  %s\n", pushed.Reference, float64(pushed.Size)/1e6, pushed.Digest))
	}
	return cmd
}

func imageSaveCommand(a *command.App) *cobra.Command {
	var name string
	cmd := command.Needs(&cobra.Command{
		Use:   "save FILE.tar",
		Short: "Write the image as an archive, to import where there is no registry",
		Long: "Write the image as an archive, to import where there is no registry: ctr --namespace k8s.io images import FILE.tar\n" +
			"on each node, kind load image-archive FILE.tar, or docker load --input FILE.tar. FILE - is standard output.",
		Example: "  csiglab image save csiglab.tar\n  csiglab image save - | ctr --namespace k8s.io images import -",
		Args:    command.One("a file to write"),
	}, programs.Cluster)
	others := programFlag(cmd)
	cmd.Flags().StringVar(&name, "name", "", "`REF` of the image in the archive (default: localhost/csiglab:VERSION)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if name == "" {
			name = "localhost/csiglab:" + strings.Map(tagRune, command.Version())
		}
		saved, err := saveImage(cmd.Context(), a, args[0], command.ImageRequest{Reference: name, Version: command.Version(), Others: *others})
		if err != nil {
			return imageError(err)
		}
		if args[0] == command.StdoutName {
			return nil
		}
		return a.Print(fmt.Sprintf("wrote   %s, %.1f MB\nimage   %s\ndigest  %s\n", args[0], float64(saved.Size)/1e6, saved.Reference, saved.Digest))
	}
	return cmd
}

// tagRune turns a rune of a version into one that a tag may have.
func tagRune(r rune) rune {
	if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '-'
}

// saveImage writes an archive as a whole: what fails or is interrupted leaves nothing.
func saveImage(ctx context.Context, a *command.App, name string, r command.ImageRequest) (*command.Image, error) {
	if name == command.StdoutName {
		return a.Linked.Cluster.Save(ctx, r, a.Stdout)
	}
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, command.Usage("%s: it is no regular file", name)
	}
	file, err := own.Create(name, 0o644)
	if err != nil {
		return nil, command.Usage("%s: %w", name, cause.Of(err))
	}
	defer file.Discard()
	saved, err := a.Linked.Cluster.Save(ctx, r, file)
	if err == nil {
		err = file.Commit()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cause.Of(err))
	}
	return saved, nil
}

// imageError gives an error of an image its exit code.
func imageError(err error) error {
	var exit *command.ExitError
	switch {
	case errors.As(err, &exit):
		return err
	case errors.Is(err, context.Canceled):
		return command.Infrastructure(errors.New("interrupted; the registry may have some layers, and no image"))
	case errors.Is(err, failure.ErrConfiguration):
		return command.Misuse(err)
	}
	return command.Infrastructure(err)
}

// pushProgress shows how much of an image the registry has: a bar on a terminal, elsewhere
// a line for each quarter.
type pushProgress struct {
	w        io.Writer
	bar      *progressbar.ProgressBar // nil without a terminal
	quarters int64
}

func (p *pushProgress) update(done, total int64) {
	if total == 0 {
		return
	}
	text := fmt.Sprintf("%.1f of %.1f MB", float64(done)/1e6, float64(total)/1e6)
	if p.bar != nil {
		p.bar.Describe(text)
		p.bar.Set(int(command.BarSteps * done / total)) // a bar that cannot be drawn is no error
		return
	}
	if q := 4 * done / total; q > p.quarters {
		p.quarters = q
		fmt.Fprintln(p.w, text)
	}
}

func (p *pushProgress) close() {
	if p.bar != nil {
		p.bar.Finish() // as above
	}
}
