// Package image makes the container image that csiglab's pods run: csiglab, csig-host and
// csig-switch and nothing else, as the programs of one csiglab are linked statically. It
// pushes the image to a registry or saves it as an archive.
package image

import (
	"context"
	"io"
)

// Paths in the image.
const (
	Folder = "/bin"      // csiglab, csig-host and csig-switch
	Others = "/programs" // IDENTITY/csiglab and so on, of other csiglabs (trial.Identity)
	User   = "1000:1000"
)

// Programs are the programs of one csiglab, as files of this machine.
type Programs struct {
	Identity              string // of csiglab (trial.FileIdentity)
	Csiglab, Host, Switch string
}

// Image is an image that has been built. Its bytes depend on the programs alone.
type Image struct {
	Reference string
	Digest    string // sha256:…
	Size      int64  // of its layers, compressed
}

// Push builds an image of the first programs, with the others beside, and pushes it, with
// the credentials of the user's docker configuration.
func Push(ctx context.Context, reference string, insecure bool, programs ...Programs) (*Image, error) {
	panic("not built yet")
}

// Save writes the image as an archive that containerd, docker and kind import.
func Save(ctx context.Context, reference string, w io.Writer, programs ...Programs) (*Image, error) {
	panic("not built yet")
}
