package batch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/csiglab/csiglab/internal/cause"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/programs"
)

// payload is what a Job's ConfigMap has, as compressed JSON.
type payload struct {
	Schema   int      `json:"schema"`
	Programs []string `json:"programs"` // trial.FileIdentity of those that trials run
	Names    []string `json:"names"`    // of all files and folders that trials read
	Files    []file   `json:"files"`
	Trials   []item   `json:"trials"` // by index
	Store    Results  `json:"store,omitzero"`
}

// payloadSchema is the version of payload.
const payloadSchema = 1

// payloadFile is the key of the ConfigMap.
const payloadFile = "trials.json.gz"

// file is a file that trials read.
type file struct {
	Name string `json:"name"` // absolute, on the user's machine
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"` // of a file that is no text
}

// item is a trial of a payload.
type item struct {
	Trial   trial.Trial `json:"trial"`
	Program int         `json:"program"`         // of payload.Programs
	Given   bool        `json:"given,omitempty"` // the experiment is one of Files; otherwise the program has it
}

// parcel is the trials of a Job with their payload.
type parcel struct {
	requests []*request
	data     []byte
	needs    needs
	all      *contents
}

// contents is what payloads are made from.
type contents struct {
	store    Results
	programs map[string]string // file identities, by Trial.Program
	needs    map[string]needs  // by inputKey
	files    map[string][]file // by the name of a file or folder
}

// pack looks at the trials' inputs and returns parcels that Jobs can have.
func (r *Runner) pack(ctx context.Context, requests []*request) ([]*parcel, error) {
	all := &contents{store: r.Results.public(), programs: map[string]string{}, files: map[string][]file{}}
	for _, q := range requests {
		if _, ok := all.programs[q.trial.Program]; ok {
			continue
		}
		name := q.trial.Program
		if name == "" {
			self, err := programs.Core()
			if err != nil {
				return nil, failure.Infrastructure(err)
			}
			name = self
		}
		identity, err := trial.FileIdentity(name)
		if err != nil {
			return nil, failure.Infrastructure(err)
		}
		all.programs[q.trial.Program] = identity
	}
	var err error
	if all.needs, err = look(ctx, requests); err != nil {
		return nil, err
	}
	for _, n := range all.needs {
		for _, name := range n.reads {
			if _, ok := all.files[name]; ok {
				continue
			}
			if all.files[name], err = readFiles(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return all.split(requests)
}

// split makes one parcel, or several of about equal size.
func (all *contents) split(requests []*request) ([]*parcel, error) {
	p, err := all.parcel(requests)
	if err != nil {
		return nil, err
	}
	if len(p.data) <= mostPayload {
		return []*parcel{p}, nil
	}
	if len(requests) == 1 {
		return nil, failure.Configuration(fmt.Errorf("experiment %s: its text and files take %d KiB compressed, and a ConfigMap, which takes them to the pods, has room for %d KiB",
			requests[0].trial.Experiment, len(p.data)>>10, mostPayload>>10))
	}
	first, err := all.split(requests[:len(requests)/2])
	if err != nil {
		return nil, err
	}
	second, err := all.split(requests[len(requests)/2:])
	return append(first, second...), err
}

// parcel packs trials.
func (all *contents) parcel(requests []*request) (*parcel, error) {
	p := &parcel{requests: requests, all: all}
	load := payload{Schema: payloadSchema, Store: all.store}
	program := map[string]int{}
	for _, q := range requests {
		t := q.trial
		i, ok := program[t.Program]
		if !ok {
			i = len(load.Programs)
			program[t.Program] = i
			load.Programs = append(load.Programs, all.programs[t.Program])
		}
		n := all.needs[inputKey(t)]
		p.needs = p.needs.with(n)
		for _, name := range n.reads {
			if !slices.Contains(load.Names, name) {
				load.Names = append(load.Names, name)
				load.Files = append(load.Files, all.files[name]...)
			}
		}
		t.Program = "" // a place on the user's machine
		load.Trials = append(load.Trials, item{t, i, n.given})
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		err = json.NewEncoder(z).Encode(&load)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	p.data = packed.Bytes()
	return p, nil
}

// of returns a parcel of some of the trials.
func (p *parcel) of(requests []*request) (*parcel, error) { return p.all.parcel(requests) }

// mostFile is the most bytes of a file that trials read. More cannot be compressed to what
// a ConfigMap has.
const mostFile = 256 << 20

// readFiles returns a file, or the files of a folder.
func readFiles(ctx context.Context, name string) (list []file, err error) {
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := own.ReadFile(path, mostFile)
		if err != nil {
			return fmt.Errorf("%s: %w", path, cause.Of(err))
		}
		f := file{Name: path}
		if utf8.Valid(data) {
			f.Text = string(data)
		} else {
			f.Data = data
		}
		list = append(list, f)
		return nil
	})
	switch {
	case err == nil:
		return list, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, failure.Configuration(fmt.Errorf("experiment: %w", err))
}

// readPayload reads the payload of a pod.
func readPayload(name string) (*payload, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	load := &payload{}
	if err := json.NewDecoder(io.LimitReader(z, 4<<30)).Decode(load); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if load.Schema != payloadSchema {
		return nil, fmt.Errorf("%s: it is of schema %d, and this csiglab reads %d; the image has another csiglab than the one that made the Job", name, load.Schema, payloadSchema)
	}
	return load, nil
}

// materialize writes the files below a folder, with their whole names.
func (load *payload) materialize(root string) error {
	for _, f := range load.Files {
		data := f.Data
		if f.Text != "" {
			data = []byte(f.Text)
		}
		name := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		// An experiment names files by relative names, which are right below root too, or by
		// absolute ones, which are not.
		if f.Text != "" {
			data = []byte(load.relocate(f.Text, root))
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// relocate puts root before the absolute names of files and folders in a text.
func (load *payload) relocate(text, root string) string {
	for _, name := range load.Names {
		var b strings.Builder
		for {
			i := strings.Index(text, name)
			if i < 0 {
				break
			}
			end := i + len(name)
			whole := (i == 0 || !inName(text[i-1])) && (end == len(text) || !inName(text[end]))
			b.WriteString(text[:i])
			if whole {
				b.WriteString(root)
			}
			b.WriteString(name)
			text = text[end:]
		}
		text = b.String() + text
	}
	return text
}

// inName reports whether a byte beside a name makes it another name.
func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-./+~", c) >= 0 || c >= utf8.RuneSelf
}
