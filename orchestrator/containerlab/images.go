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
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
)

// Binaries are the paths of the programs that the images hold: static, for Linux.
type Binaries struct {
	Switch, Host string
}

// Images are references to images that the engine has.
type Images struct {
	Switch, Host string
}

// EnsureImages returns the images of a switch and of a host, and builds those
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

// dockerfile returns the Dockerfile of an image that holds one static program:
// nodes/switch/Dockerfile and nodes/host/Dockerfile, which a binary cannot embed
// from here.
func dockerfile(program string) []byte {
	return fmt.Appendf(nil, "FROM scratch\nCOPY %[1]s /%[1]s\nENTRYPOINT [\"/%[1]s\"]\n", program)
}

// Tags returns the images that EnsureImages would, which need not exist.
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
	if _, err := e.docker.ImageInspect(ctx, tag); err == nil {
		return tag, nil
	} else if !errdefs.IsNotFound(err) {
		return "", fmt.Errorf("image %s: %w", tag, err)
	}
	if err := e.buildImage(ctx, tag, archive(map[string][]byte{"Dockerfile": dockerfile(program), program: binary})); err != nil {
		return "", fmt.Errorf("build image %s: %w", tag, err)
	}
	return tag, nil
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

// archive returns a tar of programs and their Dockerfile; it depends on the
// content alone.
func archive(files map[string][]byte) *bytes.Buffer {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files { // the order does not reach the image
		header := &tar.Header{Name: filepath.Base(name), Mode: 0o755, Size: int64(len(content))}
		if err := errors.Join(w.WriteHeader(header), second(w.Write(content))); err != nil {
			panic("containerlab: a tar in memory: " + err.Error())
		}
	}
	if err := w.Close(); err != nil {
		panic("containerlab: a tar in memory: " + err.Error())
	}
	return &out
}

func second(_ int, err error) error { return err }

// buildImage builds an image of an archive with a Dockerfile.
func (e *Engine) buildImage(ctx context.Context, tag string, files io.Reader) error {
	response, err := e.docker.ImageBuild(ctx, files, build.ImageBuildOptions{
		Tags: []string{tag}, Remove: true, ForceRemove: true, NoCache: true, NetworkMode: "none",
	})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// The build ends when its output does; a failure is in the output.
	for d := json.NewDecoder(response.Body); ; {
		var line struct {
			Error string `json:"error"`
		}
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the build's output: %w", err)
		}
		if line.Error != "" {
			return errors.New(line.Error)
		}
	}
}
