package containerlab

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"

	"github.com/csiglab/csiglab/nodes/emu/process"
)

// Binaries are the paths of the programs that the images hold: static, for Linux.
type Binaries struct {
	Switch, Host string
}

// Images are references to images that the engine has.
type Images struct {
	Switch, Host string
}

// EnsureImages returns the images of a switch and of a host. It makes those
// that the engine does not have. Their tags are the first 12 hexadecimal digits
// of the SHA-256 of the Dockerfile followed by the binary, as in the Makefile:
// the same content is the same image. Nothing is pulled.
func (e *Engine) EnsureImages(ctx context.Context, b Binaries) (Images, error) {
	host, err := e.ensureImage(ctx, "csig-host", b.Host)
	if err != nil {
		return Images{}, err
	}
	sw, err := e.ensureImage(ctx, "csig-switch", b.Switch)
	return Images{Switch: sw, Host: host}, err
}

// dockerfile returns the Dockerfile of an image that holds one static program, and a link to it
// in the place of a shell, which says that there is none: nodes/switch/Dockerfile and
// nodes/host/Dockerfile, which a binary cannot embed from here.
func dockerfile(program string) []byte {
	return fmt.Appendf(nil, "FROM scratch\nCOPY %[1]s /%[1]s\nCOPY bin /bin\nENTRYPOINT [\"/%[1]s\"]\n", program)
}

// Tags returns the images that EnsureImages would return. It makes none.
func Tags(b Binaries) (Images, error) {
	host, _, err := tag("csig-host", b.Host)
	if err != nil {
		return Images{}, err
	}
	sw, _, err := tag("csig-switch", b.Switch)
	return Images{Switch: sw, Host: host}, err
}

// tag returns the tag of a program's image, and the program.
func tag(program, path string) (tag string, binary []byte, err error) {
	if binary, err = os.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("image of %s: %w", program, err)
	}
	if err := checkStatic(binary); err != nil {
		return "", nil, fmt.Errorf("image of %s: %s: %w", program, path, err)
	}
	hash := sha256.New()
	hash.Write(dockerfile(program))
	hash.Write(binary)
	return fmt.Sprintf("csiglab/%s:%x", program, hash.Sum(nil)[:6]), binary, nil
}

func (e *Engine) ensureImage(ctx context.Context, program, path string) (string, error) {
	tag, binary, err := tag(program, path)
	if err != nil {
		return "", err
	}
	switch err := e.CheckImage(ctx, tag); {
	case err == nil:
		return tag, nil
	case !errors.Is(err, ErrNoImage):
		return "", err
	}
	if err := e.makeImage(ctx, tag, program, binary); err != nil {
		return "", fmt.Errorf("make image %s: %w", tag, e.explain(err))
	}
	return tag, nil
}

// ErrNoImage is wrapped when the engine does not have an image.
var ErrNoImage = errors.New("the engine has no such image, and none is pulled")

// CheckImage returns an error that wraps ErrNoImage if the engine does not have an
// image.
func (e *Engine) CheckImage(ctx context.Context, image string) error {
	ctx, cancel := e.ask(ctx)
	defer cancel()
	_, err := e.docker.ImageInspect(ctx, image)
	switch {
	case errdefs.IsNotFound(err):
		return fmt.Errorf("%s: %w", image, ErrNoImage)
	case err != nil:
		return fmt.Errorf("image %s: %w", image, e.explain(err))
	}
	return nil
}

// checkStatic refuses a program that would not start in an empty image.
func checkStatic(binary []byte) error {
	program, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("not a program for Linux: %w", err)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("needs a dynamic linker; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// archive returns a tar of one program and the link to it.
func archive(program string, content []byte) *bytes.Buffer {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := w.WriteHeader(&tar.Header{Name: program, Mode: 0o755, Size: int64(len(content))})
	_, written := w.Write(content)
	linked := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + process.Shell, Linkname: "/" + program, Mode: 0o777})
	if err := errors.Join(err, written, linked, w.Close()); err != nil {
		panic("containerlab: a tar in memory: " + err.Error())
	}
	return &out
}

// makeImage makes the image that dockerfile describes. It imports the image instead of
// building it: a build makes an image for each step, and the unnamed ones would remain
// if csiglab is killed meanwhile.
func (e *Engine) makeImage(ctx context.Context, tag, program string, binary []byte) error {
	ctx, cancel := e.bound(ctx, requestTime)
	defer cancel()
	answer, err := e.docker.ImageImport(ctx, image.ImportSource{Source: archive(program, binary), SourceName: "-"}, tag,
		image.ImportOptions{Changes: []string{fmt.Sprintf(`ENTRYPOINT ["/%s"]`, program)}})
	if err != nil {
		return err
	}
	defer answer.Close()
	// It is done when the answer ends; a failure is in the answer.
	for d := json.NewDecoder(answer); ; {
		var line struct {
			Error string `json:"error"`
		}
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the engine's answer: %w", err)
		}
		if line.Error != "" {
			return errors.New(line.Error)
		}
	}
}
