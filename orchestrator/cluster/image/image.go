// Package image makes the container image that csiglab's pods run: csiglab, csig-host and
// csig-switch and nothing else, as the programs of one csiglab are linked statically. It
// pushes the image to a registry or saves it as an archive. Each program is a layer of its
// own, so that a registry that has csig-host and csig-switch is not sent them again.
package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Paths in the image, and the user that its programs run as.
const (
	Folder = "/bin"      // csiglab, csig-host and csig-switch
	Others = "/programs" // IDENTITY/csiglab and so on, of other csiglabs
	User   = "1000:1000"
)

// Labels of an image.
const (
	LabelVersion  = "org.opencontainers.image.version" // Programs.Version
	LabelIdentity = "io.csiglab.identity"              // Programs.Identity of the first
	LabelBuild    = "io.csiglab.build"                 // Programs.Build; only with modules
	LabelOthers   = "io.csiglab.others"                // identities below Others, sorted, with spaces between
)

// Errors about what the caller has given; test with errors.Is. All other errors are of a
// file, the registry or the network.
var (
	ErrReference = errors.New("image reference")
	ErrProgram   = errors.New("program cannot be in an image")
)

// Image is an image that has been built. Its bytes depend on the programs alone.
type Image struct {
	Reference string
	Digest    string // sha256:…
	Size      int64  // of its layers, compressed
}

// Options are how Push speaks to a registry. The zero value is TLS and no progress.
type Options struct {
	// Insecure permits HTTP without TLS. It is always permitted on the loopback address.
	Insecure bool
	// Progress receives how many of how many bytes of layers the registry has. Calls do not
	// overlap; may be nil.
	Progress func(done, total int64)
}

// Push builds an image of the first programs, with the others beside, and pushes it, with
// the credentials of the user's docker configuration. Layers that the registry has are not
// sent again. The error says in words what the registry refuses.
func Push(ctx context.Context, reference string, o Options, programs ...Programs) (*Image, error) {
	tag, err := parse(reference, o.Insecure)
	if err != nil {
		return nil, err
	}
	built, image, err := build(ctx, tag, programs)
	if err != nil {
		return nil, err
	}
	if err := push(ctx, tag, built, o); err != nil {
		return nil, fmt.Errorf("push %s: %w", reference, err)
	}
	return image, nil
}

// Save writes the image as an archive that containerd, docker and kind import.
func Save(ctx context.Context, reference string, w io.Writer, programs ...Programs) (*Image, error) {
	tag, err := parse(reference, false)
	if err != nil {
		return nil, err
	}
	built, image, err := build(ctx, tag, programs)
	if err != nil {
		return nil, err
	}
	if err := tarball.Write(tag, built, writer{ctx, w}); err != nil {
		return nil, fmt.Errorf("archive of %s: %w", reference, err)
	}
	return image, nil
}

// parse returns the tag that a reference names. A reference by digest names an image that
// exists, and one without a tag would be latest, which nodes pull again for each pod.
func parse(reference string, insecure bool) (name.Tag, error) {
	options := []name.Option{name.WeakValidation}
	if insecure {
		options = append(options, name.Insecure)
	}
	if strings.Contains(reference, "@") {
		return name.Tag{}, fmt.Errorf("%w %q: want HOST/NAME:TAG; a digest is what comes out", ErrReference, reference)
	}
	tag, err := name.NewTag(reference, options...)
	if err != nil || !strings.Contains(reference[strings.LastIndexByte(reference, '/')+1:], ":") {
		return name.Tag{}, fmt.Errorf("%w %q: want HOST/NAME:TAG in small letters, such as registry.example.com/csiglab:1", ErrReference, reference)
	}
	return tag, nil
}

// build makes the image.
func build(ctx context.Context, tag name.Tag, programs []Programs) (v1.Image, *Image, error) {
	if len(programs) == 0 {
		return nil, nil, fmt.Errorf("%w: none is given", ErrProgram)
	}
	layers, err := layersOf(ctx, programs)
	if err != nil {
		return nil, nil, err
	}
	var add []mutate.Addendum
	result := &Image{Reference: tag.String()}
	for _, l := range layers {
		add = append(add, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: "csiglab image: " + l.what}})
		result.Size += int64(len(l.compressed))
	}
	image, err := mutate.Append(empty.Image, add...)
	if err != nil {
		return nil, nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = runtime.GOARCH, runtime.GOOS
	file.Config = v1.Config{
		Entrypoint: []string{Folder + "/" + csiglab},
		User:       User,
		WorkingDir: "/work",
		Env:        []string{"PATH=" + Folder, "HOME=/work"},
		Labels:     labels(programs),
	}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, nil, err
	}
	digest, err := image.Digest()
	if err != nil {
		return nil, nil, err
	}
	result.Digest = digest.String()
	return image, result, nil
}

// labels returns the labels of an image of these programs.
func labels(programs []Programs) map[string]string {
	list := map[string]string{LabelVersion: programs[0].Version, LabelIdentity: programs[0].Identity}
	if b := programs[0].Build; b != "" {
		list[LabelBuild] = b
	}
	if others := identities(programs[1:]); len(others) > 0 {
		list[LabelOthers] = strings.Join(others, " ")
	}
	return list
}

// writer is a writer whose writes fail once ctx is done.
type writer struct {
	ctx context.Context
	w   io.Writer
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}
