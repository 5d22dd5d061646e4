package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/csiglab/csiglab/nodes/capture"
)

// Show sets how Wireshark shows the frames of differences, with csiglab's dissector: of the
// first difference of each result of which it reports true.
func (r *Report) Show(ctx context.Context, which func(*Result) bool) error {
	program, err := exec.LookPath("tshark")
	if err != nil {
		return errors.New("tshark is not installed")
	}
	dir, err := os.MkdirTemp("", "csiglab-conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "csig.lua")
	if err := os.WriteFile(script, []byte(capture.Dissector), 0o600); err != nil {
		return err
	}
	// Frames of one dialect and the same TPIDs are read by one call.
	type batch struct {
		names  []string
		frames []Frame
		to     []*string
	}
	batches := map[string]*batch{}
	for i := range r.Results {
		x := &r.Results[i]
		if len(x.Wrong) == 0 || !which(x) {
			continue
		}
		options := "csig.dialect:" + x.Setup.Dialect
		for _, f := range []string{"compact", "wide"} {
			if spec, ok := x.Setup.Formats[f]; ok {
				options += "\ncsig.tpid_" + f + ":" + spec.TPID
			}
		}
		b := batches[options]
		if b == nil {
			b = new(batch)
			batches[options] = b
		}
		add := func(name string, f *Frame, to *string) {
			if f != nil {
				b.names, b.frames, b.to = append(b.names, name), append(b.frames, *f), append(b.to, to)
			}
		}
		d := &x.Wrong[0]
		add("want", d.Want, &d.WantShown)
		add("got", d.Got, &d.GotShown)
	}
	for options, b := range batches {
		var file bytes.Buffer
		if err := writeCapture(&file, "", b.names, b.frames); err != nil {
			return err
		}
		args := []string{"-X", "lua_script:" + script, "-r", "-", "-V", "-O", "vlan,ieee8021ad,macsec,csig"}
		for option := range strings.Lines(options) {
			args = append(args, "-o", strings.TrimSpace(option))
		}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdin = &file
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("tshark: %w", err)
		}
		shown := strings.Split("\n"+strings.TrimSpace(string(out)), "\nFrame ")[1:]
		if len(shown) != len(b.to) {
			return fmt.Errorf("tshark shows %d frames of %d", len(shown), len(b.to))
		}
		for i, text := range shown {
			_, text, _ = strings.Cut(text, "\n") // the frame's number and length
			*b.to[i] = strings.TrimRight(text, "\n")
		}
	}
	return nil
}
